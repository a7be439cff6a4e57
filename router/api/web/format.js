// Numbers as `hecto show` prints them: "1,204", "12.4 Mpps", "96.2 Gb/s", "71%".

function scaled(value, step, unit, prefixes) {
  if (!Number.isFinite(value)) return "-";
  let at = 0;
  for (; at + 1 < prefixes.length; ++at) {
    const shown = at === 0 ? Math.round(Math.abs(value)) : Math.round(Math.abs(value) * 10) / 10;
    if (shown < step) break;
    value /= step;
  }
  return `${at === 0 ? Math.round(value) : value.toFixed(1)} ${prefixes[at]}${unit}`;
}

export const count = (value) => Number(value).toLocaleString("en-US");
export const packetRate = (pps) => scaled(pps, 1000, "pps", ["", "k", "M", "G", "T"]);
export const bitRate = (bps) => scaled(bps, 1000, "b/s", ["", "k", "M", "G", "T", "P"]);
export const bytes = (value) => scaled(value, 1024, "B", ["", "Ki", "Mi", "Gi", "Ti", "Pi"]);

export function percent(value) {
  if (value > 0 && value < 1) return "<1%";
  if (value > 99 && value < 100) return "99%";
  return `${Math.round(value)}%`;
}

function linkSpeed(mbps) {
  return mbps >= 1000 && mbps % 1000 === 0 ? `${mbps / 1000} Gb/s` : bitRate(mbps * 1e6);
}

export const linkWords = ({link}) =>
  !link.up ? "down" : link.speed_mbps ? linkSpeed(link.speed_mbps) : "up";

export function clockTime(seconds) {
  const two = (number) => String(Math.floor(number)).padStart(2, "0");
  const time = `${two(seconds / 3600 % 24)}:${two(seconds / 60 % 60)}:${two(seconds % 60)}`;
  return seconds < 86400 ? time : `${Math.floor(seconds / 86400)}d ${time}`;
}

// Colour by load; the figure stands beside it wherever it is used.
export const loadClass = (share) =>
  `load-${share >= 90 ? 4 : share >= 70 ? 3 : share >= 40 ? 2 : share >= 5 ? 1 : 0}`;

// Of the fuller direction, as the wire counts: with FCS, preamble and gap. Null: not known.
export function portLoad(port) {
  const speed = port.link.speed_mbps;
  if (!speed) return null;
  const wire = (way) => way.bps + way.pps * 24 * 8;
  return 100 * Math.max(wire(port.rx), wire(port.tx)) / (speed * 1e6);
}
