// Routes: what becomes of packets to an address, and why; or the routes inside a prefix.
import {get} from "./api.js";
import {field, h, show, table} from "./dom.js";
import {count} from "./format.js";

const hops = (route) => route.next_hops.length === 0 ? route.type : route.next_hops.map((hop) =>
  h("div", {class: hop.dead ? "bad" : null},
    `${hop.gateway ?? "on-link"} on ${hop.interface ?? "-"}` +
    `${route.next_hops.length > 1 ? ` x${hop.weight}` : ""}${hop.dead ? " (dead)" : ""}`));

const routeColumns = [{title: "prefix"}, {title: "via"}, {title: "from"},
                      {title: "metric", number: true}];
const routeRow = (route) => [
  h(route.selected ? "b" : "span", {}, route.prefix), hops(route),
  [route.origin, route.protocol].join(" "), String(route.metric)];

function member(m) {
  const neighbor = m.neighbor ? `${m.neighbor.mac ?? "no MAC"} (${m.neighbor.state})` : "-";
  const rewrite = m.rewrite ? `${m.rewrite.source} → ${m.rewrite.destination}` +
    `${m.rewrite.vlan === null ? "" : `, VLAN ${m.rewrite.outer_vlan ? `${m.rewrite.outer_vlan}.` : ""}${m.rewrite.vlan}`}` : m.reason ?? "-";
  return [m.gateway ?? "on-link", m.interface ?? "-", m.port ?? "-", neighbor, rewrite];
}

function explanation(answer) {
  const good = answer.verdict === "forward";
  const words = {forward: "is forwarded", punt: "goes to Linux", drop: "is dropped"};
  return [
    h("p", {class: `verdict ${good ? "good" : "bad"}`},
      `A packet to ${answer.address} ${words[answer.verdict] ?? answer.verdict}` +
      `${answer.reason ? `: ${answer.reason}, at ${answer.stage}` : ""}` +
      `${answer.spi ? `, protected by the SA ${answer.spi}` : ""}.`),
    h("ul", {}, answer.why.map((line) => h("li", {}, line))),
    table("Next hop", [{title: "gateway"}, {title: "interface"}, {title: "port"},
                       {title: "neighbor"}, {title: "leaves with"}],
          (answer.next_hop?.members ?? []).map(member)),
    table("Routes that hold it, the best first", [...routeColumns, {title: "why"}],
          answer.candidates.map((route) => [...routeRow(route), route.why])),
  ];
}

function walk(answer) {
  return [
    table("Routes", routeColumns, answer.routes.map(routeRow)),
    answer.next ? h("p", {class: "quiet"}, `The first ${count(answer.routes.length)}; ` +
      "there are more: ask for a longer prefix.") : null,
    h("p", {class: "quiet"}, `${count(answer.counts.total)} routes in all: IPv4 ` +
      `${count(answer.counts.ipv4)}, IPv6 ${count(answer.counts.ipv6)}.`),
  ];
}

function question(form) {
  const fields = Object.fromEntries([...new FormData(form)].filter(([, text]) => text.trim() !== "")
    .map(([name, text]) => [name, text.trim()]));
  const {what, ...more} = fields;
  if (!what) return "/v1/routes?limit=100";
  return "/v1/routes?" + new URLSearchParams(what.includes("/") ? {prefix: what}
                                                                : {address: what, ...more});
}

export function routesView() {
  const result = h("div", {"aria-live": "polite"});
  const search = async (event) => {
    event.preventDefault();
    const path = question(event.target);
    try {
      const answer = await get(path);
      show(result, ...(answer.address ? explanation(answer) : walk(answer)));
    } catch (error) {
      show(result, h("p", {class: "bad"}, error.message));
    }
  };
  return h("div", {},
    h("form", {onsubmit: search, "aria-label": "Search routes"},
      field("what", "Address or prefix", "203.0.113.9 or 10.0.0.0/8"),
      field("from", "from", "sender, of an address"),
      field("interface", "comes in by", "interface"),
      h("button", {}, "Search")),
    result);
}
