// Elements without a framework. Text is always text, never markup: nothing that the router tells
// can become a script.

const kSvg = "http://www.w3.org/2000/svg";

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export const h = (tag, attributes = {}, ...children) =>
  filled(document.createElement(tag), attributes, children);

export const svg = (tag, attributes = {}, ...children) =>
  filled(document.createElementNS(kSvg, tag), attributes, children);

export const field = (name, title, example, more = {}) => h("label", {}, title, h(
  "input", {name, placeholder: example, autocomplete: "off", spellcheck: "false", ...more}));

// Columns: {title, number: right-aligned}; rows: lists of text or elements. `empty`: where there
// are none.
export function table(caption, columns, rows, empty = "none") {
  if (rows.length === 0) return h("p", {class: "quiet"}, `${caption}: ${empty}`);
  const kind = (column) => column.number ? "number" : null;
  const head = columns.map((c) => h("th", {scope: "col", class: kind(c)}, c.title));
  const cells = (row) => row.map((cell, i) =>
    h("td", {class: kind(columns[i]), "data-title": columns[i].title}, cell));
  return h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, head)),
           h("tbody", {}, rows.map((row) => h("tr", {}, cells(row)))));
}

// Replaced only where it differs, so that a selection or the focus in what stays is not lost.
export function show(element, ...children) {
  const next = h("div", {}, ...children);
  if (next.innerHTML !== element.innerHTML) element.replaceChildren(...next.childNodes);
}
