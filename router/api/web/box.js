// The box as it is: sockets with their cores, NICs and GPUs; which worker polls which queue.
import {h, svg, table} from "./dom.js";
import {bytes, linkWords, loadClass, packetRate, percent, portLoad} from "./format.js";

const kPad = 12, kTitle = 30, kPort = 148, kQueue = 15, kGap = 5;
const kWorker = 116, kWorkerHeight = 36, kCell = 46, kCellHeight = 24;

const text = (x, y, words, kind, anchor = "start") =>
  svg("text", {x, y, class: kind, "text-anchor": anchor}, words);
const cut = (words, most) => words.length > most ? words.slice(0, most - 1) + "…" : words;

// A port, a NIC without one, or a GPU, on the left of its socket; `queues` are its dots.
function leftOf(port) {
  const load = portLoad(port);
  const link = linkWords(port);
  return {name: port.name, line: `${link}, ${port.driver}`, queues: port.queues.rx,
          down: !port.link.up, share: load, load: load === null ? "" : percent(load),
          title: `port ${port.name}, ${port.device}, ${port.driver}, ${link}: in ` +
                 `${packetRate(port.rx.pps)}, out ${packetRate(port.tx.pps)}`};
}

const height = (thing) => Math.max(40, 12 + kQueue * (thing.queues ?? 0));

function leftThings(socket, first, {ports, topology}) {
  const known = (place) => topology.sockets.some((s) => s.id === place);
  const here = (place) => place === socket || (first && !known(place));
  const used = (nic) => ports.some((p) => p.device === nic.pci || p.device === nic.interface);
  return [
    ...ports.filter((p) => here(p.socket)).map(leftOf),
    ...topology.nics.filter((n) => here(n.socket) && !used(n)).map((n) => (
      {name: n.interface || n.pci, line: cut(n.name || "NIC", 22), spare: true,
       title: `${n.name} ${n.pci}, not used`})),
    ...topology.gpus.filter((g) => here(g.socket)).map((g) => (
      {name: "GPU", line: cut(g.name || g.pci, 22), spare: true, title: `${g.name} ${g.pci}`})),
  ];
}

function drawThing(thing, x, y, places) {
  const tall = height(thing);
  const queues = [...Array(thing.queues ?? 0).keys()].map((queue) => {
    const at = {x: x + kPort, y: y + 14 + kQueue * queue};
    places.set(`${thing.name}:${queue}`, at);
    return [svg("circle", {cx: at.x, cy: at.y, r: 3.5, class: "queue"}),
            text(at.x - 8, at.y + 4, `q${queue}`, "small", "end")];
  });
  const kind = `thing ${thing.spare ? "spare" : thing.down ? "down" : loadClass(thing.share ?? 0)}`;
  return svg("g", {}, svg("title", {}, thing.title),
    svg("rect", {x, y, width: kPort, height: tall, rx: 5, class: kind}),
    text(x + 8, y + 17, cut(`${thing.name} ${thing.load ?? ""}`, 15), "name"),
    text(x + 8, y + 32, cut(thing.line, 19), "small"), queues.flat());
}

const cpusOf = (core) => [core.cpu, ...core.siblings];

// A worker's core, in a column beside the ports.
function drawWorker(worker, x, y, places) {
  places.set(worker.cpu, {x, y: y + kWorkerHeight / 2});
  const load = percent(worker.load_percent), rate = packetRate(worker.pps);
  const title = `core ${worker.cpu}: worker ${worker.id}, load ${load}, ${rate}`;
  return svg("g", {}, svg("title", {}, title),
    svg("rect", {x, y, width: kWorker, height: kWorkerHeight, rx: 4,
                 class: `core ${loadClass(worker.load_percent)}`}),
    text(x + 8, y + 15, `core ${worker.cpu}`, "name"),
    text(x + kWorker - 8, y + 15, load, "", "end"), text(x + 8, y + 29, rate, "small"));
}

function drawCore(core, x, y, controlCpu) {
  const control = cpusOf(core).includes(controlCpu);
  const title = `core ${cpusOf(core).join(", ")}: ${control ? "control" : "no worker"}`;
  return svg("g", {}, svg("title", {}, title),
    svg("rect", {x, y, width: kCell, height: kCellHeight, rx: 4,
                 class: `core ${control ? "control" : "spare"}`}),
    text(x + kCell / 2, y + 16, control ? "control" : String(core.cpu), "small", "middle"));
}

// Those without a worker: beside the workers where there is room, else below.
function drawCores(cores, at, width, below, state) {
  const beside = at.x + width - kPad - below.x >= 3 * (kCell + kGap);
  const x = beside ? below.x : at.x + kPad, y = beside ? at.y + kTitle + kPad : below.y;
  const columns = Math.max(1, Math.floor((at.x + width - kPad - x + kGap) / (kCell + kGap)));
  const down = (rows) => y + rows * (kCellHeight + kGap);
  const parts = cores.map((core, i) => drawCore(
    core, x + i % columns * (kCell + kGap), down(Math.floor(i / columns)), state.controlCpu));
  return {parts, end: cores.length ? down(Math.ceil(cores.length / columns)) : 0};
}

function drawSocket(socket, at, width, first, state, places) {
  const things = leftThings(socket.id, first, state), parts = [];
  const workersAt = at.x + kPad + kPort + Math.max(40, Math.min(100, width * 0.12));
  let left = at.y + kTitle + kPad, right = left;
  for (const thing of things) {
    parts.push(drawThing(thing, at.x + kPad, left, places));
    left += height(thing) + kGap * 2;
  }
  for (const worker of state.workers.filter((w) => w.socket === socket.id)) {
    parts.push(drawWorker(worker, workersAt, right, places));
    right += kWorkerHeight + kGap;
  }
  const works = (core) => state.workers.some((w) => cpusOf(core).includes(w.cpu));
  const free = socket.cores.filter((core) => !works(core));
  const below = {x: workersAt + kWorker + kPad * 2, y: Math.max(left, right) + kGap};
  const cores = drawCores(free, at, width, below, state);
  const facts = [`socket ${socket.id}`, `${socket.cores.length} cores`,
                 state.topology.l3_bytes ? `L3 ${bytes(state.topology.l3_bytes)}` : "",
                 socket.memory_bytes ? bytes(socket.memory_bytes) : ""].filter(Boolean);
  const tall = Math.max(left, right, cores.end) + kPad - at.y;
  const panel = svg("rect", {x: at.x, y: at.y, width, height: tall, rx: 8, class: "socket"});
  const title = text(at.x + kPad, at.y + 20, facts.join(" · "), "title");
  return {tall, parts: [panel, title, ...parts, ...cores.parts]};
}

// From the queue to the worker's near side; to one on the left from the port's other side.
function arrow(queue, worker, crosses, words) {
  const leftward = worker.x + kWorker < queue.x - kPort;
  const from = leftward ? queue.x - kPort - 2 : queue.x + 4;
  const to = leftward ? worker.x + kWorker + 3 : worker.x - 3;
  const bend = (leftward ? -1 : 1) * Math.max(24, Math.abs(to - from) / 2);
  return svg("path", {class: crosses ? "arrow crossing" : "arrow",
                      "marker-end": `url(#${crosses ? "red" : "tip"})`,
                      d: `M${from} ${queue.y}C${from + bend} ${queue.y} ` +
                         `${to - bend} ${worker.y} ${to} ${worker.y}`},
             svg("title", {}, words));
}

function arrows({workers, ports}, places) {
  return workers.flatMap((worker) => worker.queues.map((queue) => {
    const from = places.get(`${queue.port}:${queue.queue}`), to = places.get(worker.cpu);
    const port = ports.find((p) => p.name === queue.port);
    if (!from || !to || !port) return null;
    const crosses = port.socket !== null && port.socket >= 0 && port.socket !== worker.socket;
    return arrow(from, to, crosses, `${queue.port} queue ${queue.queue} → core ${worker.cpu}` +
                 `${crosses ? ": crosses sockets" : ""}`);
  })).filter(Boolean);
}

const tip = (id) => svg(
  "marker",
  {id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto"},
  svg("path", {d: "M0 0L8 4L0 8z", class: `tip ${id}`}));

function drawing(state, width) {
  const {sockets} = state.topology;
  const beside = width >= 900 && sockets.length > 1;
  const each = beside ? (width - kPad) / 2 : width;
  const places = new Map(), parts = [];
  let x = 0, y = 0, tallest = 0;
  sockets.forEach((socket, i) => {
    const drawn = drawSocket(socket, {x, y}, each, i === 0, state, places);
    parts.push(...drawn.parts);
    tallest = Math.max(tallest, drawn.tall);
    x += each + kPad;
    if (!beside || i % 2 === 1 || i + 1 === sockets.length) {
      x = 0;
      y += tallest + kPad;
      tallest = 0;
    }
  });
  const all = Math.max(y - kPad, 1);
  return svg("svg", {viewBox: `0 0 ${width} ${all}`, width, height: all, role: "img", class: "box",
                     "aria-label": "Sockets, cores, ports and queues; the table has the same"},
             svg("defs", {}, tip("tip"), tip("red")), parts, arrows(state, places));
}

const digit = (number) => number === null ? "-" : number.toFixed(1);

const workerRow = (w) => [
  String(w.cpu), String(w.socket), w.queues.map((q) => `${q.port}:${q.queue}`).join(" "),
  h("span", {class: `pill ${loadClass(w.load_percent)}`}, percent(w.load_percent)),
  (w.pps / 1e6).toFixed(1), digit(w.cycles_per_packet), digit(w.burst_fill),
  h("span", {class: w.waiting_percent > 10 ? "bad" : null},
    w.waiting_percent === null ? "-" : percent(w.waiting_percent)), String(w.remote_queues)];

export function box({plan, ports, workers}, width) {
  const state = {ports: ports.ports, workers: workers.workers, topology: plan.topology,
                 controlCpu: plan.placement.control_cpu};
  const legend = ["idle", "5% and more", "40%", "70%", "90%"];
  return [
    h("p", {class: "quiet"}, plan.topology.cpu_model),
    drawing(state, width),
    h("p", {class: "legend"}, "load: ",
      legend.map((words, i) => h("span", {class: `pill load-${i}`}, words)),
      h("span", {class: "bad"}, " red arrows cross sockets")),
    table("Workers", [{title: "core", number: true}, {title: "socket", number: true},
                      {title: "queues"},
                      {title: "load", number: true}, {title: "Mpps", number: true},
                      {title: "cycles/packet", number: true}, {title: "burst", number: true},
                      {title: "waits", number: true},
                      {title: "queues of other sockets", number: true}],
          state.workers.map(workerRow)),
  ];
}
