// Rates: what passes, over the last minutes and by port.
import {chart} from "./chart.js";
import {h, table} from "./dom.js";
import {bitRate, count, linkWords, loadClass, packetRate, percent, portLoad} from "./format.js";
import {history} from "./history.js";

const both = (unit) => [{key: `rx_${unit}`, name: "in", kind: "in"},
                        {key: `tx_${unit}`, name: "out", kind: "out"}];

const load = (share) =>
  share === null ? "-" : h("span", {class: `pill ${loadClass(share)}`}, percent(share));

const portRow = (port) => [
  port.name,
  port.link.up ? linkWords(port) : h("b", {class: "bad"}, linkWords(port)),
  packetRate(port.rx.pps), bitRate(port.rx.bps), packetRate(port.tx.pps), bitRate(port.tx.bps),
  load(portLoad(port)), count(port.rx.missed + port.rx.no_mbuf)];

export function rates({ports, punt}, width) {
  const points = history();
  const beside = width > 1100 ? 3 : width > 700 ? 2 : 1;
  const wide = Math.floor((width - 24 * (beside - 1)) / beside);
  const passing = punt.classes.filter((c) => c.pps + c.drop_pps > 0);
  return [
    h("section", {class: "charts"},
      chart("Bits", points, both("bps"), bitRate, wide),
      chart("Packets", points, both("pps"), packetRate, wide),
      chart("Losses", points, [{key: "drop_pps", name: "dropped", kind: "lost"},
                               {key: "missed_pps", name: "missed", kind: "missed"}],
            packetRate, wide)),
    table("Ports", [{title: "port"}, {title: "link"}, {title: "packets in", number: true},
                    {title: "bits in", number: true}, {title: "packets out", number: true},
                    {title: "bits out", number: true}, {title: "load", number: true},
                    {title: "missed", number: true}], ports.ports.map(portRow)),
    table("To Linux now", [{title: "class"}, {title: "passed", number: true},
                           {title: "dropped", number: true}, {title: "limit", number: true},
                           {title: "what"}],
          passing.map((c) => [c.class, packetRate(c.pps), packetRate(c.drop_pps),
                              packetRate(c.limit_pps), c.description]), "nothing"),
  ];
}
