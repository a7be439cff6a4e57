// Drops: each reason, what it means, what to do about it.
import {h, table} from "./dom.js";
import {count, packetRate} from "./format.js";

const over = (drop) => drop.kind === "punt_limited" ? " (over the rate for Linux)" : "";

const row = (drop) => [
  h("b", {class: drop.pps > 0 ? "bad" : null}, drop.reason), packetRate(drop.pps),
  count(drop.packets), drop.stage,
  [h("p", {}, `${drop.description}${over(drop)}.`), h("p", {class: "advice"}, drop.advice ?? ""),
   drop.example ? h("p", {class: "quiet"}, `e.g. ${drop.example}`) : null]];

export function drops({drops}) {
  const t = drops.totals;
  const before = t.missed + t.no_mbuf;
  return [
    table("Drops", [{title: "reason"}, {title: "rate", number: true},
                    {title: "packets", number: true}, {title: "stage"},
                    {title: "what it means, what to do"}], drops.drops.map(row)),
    before > 0 ? h("p", {class: "bad"},
      `${count(t.missed)} packets were missed by NICs (no free descriptor: the workers were too ` +
      "slow), " +
      `${count(t.no_mbuf)} found no buffer (the pool was empty), before a worker saw them.`) : null,
    h("p", {class: "quiet"}, `received ${count(t.received)} + from Linux ${count(t.injected)}` +
      `${t.fragments ? ` + cut for tunnels ${count(t.fragments)}` : ""}` +
      `${t.copies ? ` + copies for mirrors ${count(t.copies)}` : ""} = transmitted ` +
      `${count(t.transmitted)} + punted ${count(t.punted)} + dropped ${count(t.dropped)}` +
      `${t.in_flight ? ` + in flight ${count(t.in_flight)}` : ""}`),
    t.unaccounted !== 0 ? h("p", {class: "bad"},
      `The sum does not fit by ${count(t.unaccounted)}: a fault of the router, report it.`) : null,
    table("Punted to Linux", [{title: "reason"}, {title: "rate", number: true},
                              {title: "packets", number: true}, {title: "limit", number: true},
                              {title: "what it means"}],
          drops.punts.map((p) => [p.reason, packetRate(p.pps), count(p.packets),
                                  packetRate(p.limit_pps), p.description])),
  ];
}
