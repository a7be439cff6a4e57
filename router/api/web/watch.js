// Trace and capture: with the token of api.http_token_file, which stays in this page's memory.
import {get, hasToken, piece, post, remove, setToken} from "./api.js";
import {field, h, show} from "./dom.js";
import {bytes, count} from "./format.js";

const kFilters = [["to", "to", "address or prefix"], ["from", "from", "address or prefix"],
                  ["port", "port", "as wan0"], ["interface", "interface", "as wan0.100"],
                  ["protocol", "protocol", "tcp, udp, icmp …"],
                  ["transport_port", "TCP/UDP port", "443"]];
const kWhere = ["rx", "tx", "inner", "outer", "drop"];
const kPause_ms = 300;

const pause = () => new Promise((done) => setTimeout(done, kPause_ms));
const fields = () => kFilters.map(([name, title, example]) =>
  field(name, title, example, {inputmode: name === "transport_port" ? "numeric" : null}));

function filter(form) {
  const out = {};
  for (const [name] of kFilters) {
    const text = form.elements[name].value.trim();
    if (text) out[name] = name === "transport_port" ? Number(text) : text;
  }
  out.count = Number(form.elements.count.value);
  return out;
}

function traced(trace) {
  const good = trace.outcome === "transmit";
  return h("article", {class: "trace"},
    h("h3", {}, trace.packet),
    h("ol", {}, trace.steps.map((step) => h("li", {}, h("b", {}, step.stage), " ", step.text,
      step.cycles === null ? null : h("span", {class: "quiet"}, ` ${step.cycles} cycles`)))),
    h("p", {class: `verdict ${good ? "good" : "bad"}`}, trace.verdict));
}

// Until all came, or another trace or Stop ended it.
async function follow(form, result, stop) {
  const {id, count: wanted} = await post("/v1/trace", filter(form));
  const seen = [];
  for (let done = false; !done && !stop.now;) {
    const answer = await get(`/v1/trace?id=${id}&after=${seen.at(-1)?.number ?? 0}`);
    seen.push(...answer.traces);
    done = answer.done;
    show(result, h("p", {class: "quiet"}, `${seen.length} of ${wanted} packets` +
                   `${done ? "" : "; waiting for more …"}`), ...seen.map(traced));
    if (!done) await pause();
  }
  if (stop.now) await remove(`/v1/trace?id=${id}`);
}

function download(pieces, id) {
  const link = h("a", {href: URL.createObjectURL(new Blob(pieces, {type: "application/x-pcapng"})),
                       download: `hecto-${id}.pcapng`}, `hecto-${id}.pcapng`);
  link.click();
  return link;
}

async function capture(form, result, stop) {
  const where = kWhere.filter((name) => form.elements[name].checked);
  const {id} = await post("/v1/capture", {...filter(form), where});
  const pieces = [];
  let size = 0, stopped = false;
  for (let next; (next = await piece(`/v1/capture?id=${id}`)) !== null;) {
    pieces.push(next);
    size += next.byteLength;
    show(result, h("p", {class: "quiet"}, `${bytes(size)} …`));
    if (stop.now && !stopped) {
      stopped = true;
      await post(`/v1/capture/stop?id=${id}`);
    }
  }
  const {captured, lost} = await remove(`/v1/capture?id=${id}`);
  show(result, h("p", {}, `${count(captured)} packets, ${count(lost)} lost for want of room: `),
       h("p", {id: "file"}));
  result.querySelector("#file").replaceChildren(download(pieces, id));
}

// A form that works until it is done or stopped.
function tool(title, work, more, packets) {
  const result = h("div", {"aria-live": "polite", class: "result"});
  const stop = {now: false};
  const end = h("button", {type: "button", disabled: true,
                           onclick: () => { stop.now = true; }}, "Stop");
  const begin = h("button", {}, "Start");
  const run = async (event) => {
    event.preventDefault();
    stop.now = false;
    begin.disabled = true;
    end.disabled = false;
    try {
      await work(event.target, result, stop);
    } catch (error) {
      show(result, h("p", {class: "bad"}, error.message));
    }
    begin.disabled = false;
    end.disabled = true;
  };
  return h("section", {"aria-label": title},
    h("h2", {}, title),
    h("form", {onsubmit: run, "aria-label": title}, fields(), more,
      h("label", {}, "packets", h("input", {name: "count", type: "number", min: 1, max: packets[1],
                                            value: packets[0], required: true})),
      begin, end), result);
}

export function watchView() {
  const state = h("p", {class: "quiet"});
  const say = () => show(state, hasToken()
    ? "With a token. It is forgotten when this page is closed or loaded again."
    : "Who looks on needs the role operate: the token of api.http_token_file.");
  say();
  const use = (event) => {
    event.preventDefault();
    setToken(event.target.elements.token.value);
    event.target.reset();
    say();
  };
  const places = h("fieldset", {}, h("legend", {}, "where"), kWhere.map((name) =>
    h("label", {class: "check"},
      h("input", {type: "checkbox", name, checked: name === "rx" || name === "tx"}), name)));
  return h("div", {},
    h("form", {onsubmit: use, "aria-label": "Token"},
      h("label", {}, "Token", h("input", {name: "token", type: "password", autocomplete: "off"})),
      h("button", {}, "Use")),
    state,
    tool("Trace", follow, null, [10, 1000]),
    tool("Capture", capture, places, [1000, 100000]));
}
