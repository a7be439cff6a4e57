// Plan: what the model says that the box carries, beside what it does now.
import {h, table} from "./dom.js";
import {packetRate, percent} from "./format.js";

const kBusyEnough = 10;  // per cent of load from which on a worker's speed can be told

// The mean frame now, with FCS as the model counts it; 0: nothing passes.
function meanFrame(ports) {
  const sum = (key) => ports.reduce((all, port) => all + port.rx[key], 0);
  return sum("pps") > 0 ? sum("bps") / 8 / sum("pps") + 4 : 0;
}

// The point of the model of the nearest size.
function nearest(points, frame) {
  const forward = points.filter((p) => p.experiment === "forward_local" && p.traffic === "ipv4");
  const far = (point) => Math.abs(point.frame_bytes - frame);
  return forward.reduce((best, p) => best === null || far(p) < far(best) ? p : best, null);
}

function measured(ports, workers, point, frame) {
  const now = ports.reduce((all, port) => all + port.rx.pps, 0);
  const busy = workers.filter((w) => w.load_percent >= kBusyEnough);
  const all = busy.reduce((sum, w) => sum + w.pps / w.load_percent * 100, 0);
  const whole = busy.length > 0 ? all / busy.length * workers.length : null;
  const predicted = point.mpps * 1e6;
  return table("Predicted and measured", [{title: "what"}, {title: "packets", number: true},
                                          {title: "of the predicted", number: true}], [
    [`the model: ${point.size} bytes, IPv4, without crossing sockets; stopped by ` +
     `${point.bottleneck}`,
     packetRate(predicted), "100%"],
    [frame > 0 ? `now: frames of ${Math.round(frame)} bytes` : "now: nothing passes",
     packetRate(now), percent(100 * now / predicted)],
    [`the workers at full load, told from those that are loaded ${kBusyEnough}% and more`,
     whole === null ? "-" : packetRate(whole),
     whole === null ? "-" : percent(100 * whole / predicted)],
  ]);
}

const items = (lines) => lines.map((line) => h("li", {}, line));

export function plan({plan, ports, workers}) {
  const frame = meanFrame(ports.ports);
  const point = nearest(plan.capacity?.points ?? [], frame || 64);
  return [
    plan.warnings.length ? h("ul", {class: "warnings"}, items(plan.warnings)) : null,
    point ? measured(ports.ports, workers.workers, point, frame)
          : h("p", {class: "quiet"}, "The router tells no capacity."),
    table("What the model says, IPv4", [{title: "frame"}, {title: "packets", number: true},
                                        {title: "Gb/s of the wire", number: true},
                                        {title: "stopped by"}],
          (plan.capacity?.points ?? [])
            .filter((p) => p.experiment === "forward_local" && p.traffic === "ipv4")
            .map((p) => [p.size, packetRate(p.mpps * 1e6), p.gbps.toFixed(1), p.bottleneck])),
    h("ul", {}, items(plan.capacity?.advice ?? [])),
    h("h2", {}, "Who polls what"),
    h("pre", {tabindex: 0, "aria-label": "Who polls what"}, plan.text),
  ];
}
