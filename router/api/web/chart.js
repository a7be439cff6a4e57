// Lines over time as SVG; the last values stand in words beside it.
import {h, svg} from "./dom.js";

const kHeight = 150, kLeft = 78, kBottom = 20, kTop = 10;

const kLeast = 10;  // of the scale: its middle is a whole number, too

// 1, 2 or 5 times a power of ten, at or above the value.
function roundUp(value) {
  if (!(value > kLeast)) return kLeast;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function path(points, key, x, y) {
  let line = "", pen = "M";
  for (const point of points) {
    if (point[key] === null) {
      pen = "M";
      continue;
    }
    line += `${pen}${x(point.at).toFixed(1)} ${y(point[key]).toFixed(1)}`;
    pen = "L";
  }
  return line;
}

// Series: {key, name, kind: class of the line}; `text` says a value.
export function chart(title, points, series, text, width, span_s = 300) {
  const now = points.length ? points.at(-1).at : 0;
  const most = roundUp(Math.max(0, ...points.flatMap((p) => series.map((s) => p[s.key] ?? 0))));
  const right = width - 6, bottom = kHeight - kBottom;
  const x = (at) => right - (now - at) / 1000 / span_s * (right - kLeft);
  const y = (value) => bottom - value / most * (bottom - kTop);
  const lines = [0, 0.5, 1].map((share) => [
    svg("line", {class: "grid", x1: kLeft, x2: right, y1: y(share * most), y2: y(share * most)}),
    svg("text", {x: kLeft - 6, y: y(share * most) + 4, "text-anchor": "end"}, text(share * most))]);
  const times = [0, 0.5, 1].map((share) => svg(
    "text", {x: right - share * (right - kLeft), y: kHeight - 4,
             "text-anchor": share === 0 ? "end" : share === 1 ? "start" : "middle"},
    share === 0 ? "now" : `-${share * span_s / 60} min`));
  const values = series.map((s) => `${s.name} ${text(points.at(-1)?.[s.key] ?? NaN)}`);
  return h("figure", {class: "chart"},
    h("figcaption", {}, h("b", {}, title), series.map((s, i) =>
      h("span", {class: `key ${s.kind}`}, values[i]))),
    svg("svg", {viewBox: `0 0 ${width} ${kHeight}`, width, height: kHeight, role: "img",
                "aria-label": `${title}, the last minutes; now ${values.join(", ")}`},
        lines.flat(), times,
        series.map((s) => svg("path", {class: `line ${s.kind}`, d: path(points, s.key, x, y)}))));
}
