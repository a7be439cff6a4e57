// What the router did in the last minutes, kept in this page alone.

const kKept = 300;  // samples: five minutes
const points = [];

const sum = (ports, way, key) => ports.reduce((all, port) => all + port[way][key], 0);
const lostBefore = (ports) => sum(ports, "rx", "missed") + sum(ports, "rx", "no_mbuf");

let last = null;  // counters, and when

function rates(now, then) {
  const seconds = (now.at - then.at) / 1000;
  const rate = {};
  for (const key of Object.keys(now.counters))
    rate[key] = Math.max(0, now.counters[key] - then.counters[key]) / seconds;
  return {at: now.at, rx_pps: rate.rx_packets, tx_pps: rate.tx_packets, rx_bps: rate.rx_bytes * 8,
          tx_bps: rate.tx_bytes * 8, drop_pps: rate.dropped, missed_pps: rate.missed};
}

// One answer more. Of another run of the router counters start anew.
export function remember(at, {summary, ports, drops}) {
  const list = ports.ports;
  const now = {at, pid: summary.pid, counters: {
    rx_packets: sum(list, "rx", "packets"), tx_packets: sum(list, "tx", "packets"),
    rx_bytes: sum(list, "rx", "bytes"), tx_bytes: sum(list, "tx", "bytes"),
    dropped: drops.totals.dropped, missed: lostBefore(list)}};
  if (last && last.pid === now.pid && now.at > last.at) points.push(rates(now, last));
  last = now;
  if (points.length > kKept) points.shift();
}

// The router did not answer: the line of a chart breaks here.
export function gap(at) {
  if (points.length > 0 && points.at(-1).rx_pps !== null)
    points.push({at, rx_pps: null, tx_pps: null, rx_bps: null, tx_bps: null, drop_pps: null,
                 missed_pps: null});
  last = null;
}

export const history = () => points;
