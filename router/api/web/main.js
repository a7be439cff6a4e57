// The page: asks each second, and shows the view that is chosen.
import {get} from "./api.js";
import {box} from "./box.js";
import {h, show} from "./dom.js";
import {drops} from "./drops.js";
import {bitRate, clockTime, packetRate} from "./format.js";
import {gap, history, remember} from "./history.js";
import {plan} from "./plan.js";
import {rates} from "./rates.js";
import {routesView} from "./routes.js";
import {watchView} from "./watch.js";

const kEvery_ms = 1000, kPlanEvery_ms = 30000;

// `draw` is called with each answer; what has forms is made once and stays.
const kViews = [
  {id: "box", title: "Box", draw: box},
  {id: "rates", title: "Rates", draw: rates},
  {id: "drops", title: "Drops", draw: drops},
  {id: "routes", title: "Routes", once: routesView},
  {id: "trace", title: "Trace", once: watchView},
  {id: "plan", title: "Plan", draw: plan},
];
const kNouns = ["summary", "ports", "workers", "drops", "punt"];

const element = (id) => document.getElementById(id);
const state = {answers: null, at: 0, planAt: 0, paused: false, view: kViews[0], made: new Map()};

async function ask() {
  const answers = {};
  const lists = await Promise.all(kNouns.map((noun) => get(`/v1/${noun}`)));
  kNouns.forEach((noun, i) => { answers[noun] = lists[i]; });
  const before = state.answers;
  const old = performance.now() - state.planAt > kPlanEvery_ms;
  answers.plan = before?.plan;
  if (!before || old || before.summary.pid !== answers.summary.pid) {
    answers.plan = await get("/v1/plan");
    state.planAt = performance.now();
  }
  return answers;
}

function drawHead({summary}) {
  const {rates: r} = summary;
  const missed = history().at(-1)?.missed_pps ?? 0;
  show(element("router"), `${summary.version}, up ${clockTime(summary.uptime_s)}, ` +
       `${summary.ports_up} of ${summary.ports} ports up, ${summary.workers} worker` +
       `${summary.workers === 1 ? "" : "s"}`);
  const pair = (name, value, bad) =>
    h("div", {}, h("dt", {}, name), h("dd", {class: bad ? "bad" : null}, value));
  show(element("totals"), pair("in", `${packetRate(r.rx_pps)} ${bitRate(r.rx_bps)}`),
       pair("out", `${packetRate(r.tx_pps)} ${bitRate(r.tx_bps)}`),
       pair("to Linux", packetRate(r.punt_pps)),
       pair("dropped", packetRate(r.drop_pps), r.drop_pps > 0),
       pair("missed", packetRate(missed), missed > 0));
  element("warnings").hidden = summary.warnings.length === 0;
  show(element("warnings"), ...summary.warnings.map((line) => h("li", {}, line)));
}

function drawView() {
  const {view, answers, made} = state;
  const main = element("view");
  if (view.once) {
    if (!made.has(view.id)) made.set(view.id, view.once());
    if (main.firstChild !== made.get(view.id)) main.replaceChildren(made.get(view.id));
  } else if (answers) {
    const style = getComputedStyle(main);
    const width = main.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    show(main, ...view.draw(answers, Math.floor(width)));
  }
}

function tell(trouble) {
  const banner = element("banner");
  banner.hidden = trouble === "";
  document.body.classList.toggle("old", trouble !== "");
  const age_s = Math.round((performance.now() - state.at) / 1000);
  const age = state.answers ? `What is shown is ${age_s} s old. ` : "";
  if (trouble) show(banner, `hectod does not answer: ${trouble}. ${age}Trying again.`);
}

async function turn() {
  try {
    if (!state.paused) {
      state.answers = await ask();
      state.at = performance.now();
      remember(state.at, state.answers);
      tell("");
      drawHead(state.answers);
      drawView();
    }
  } catch (error) {
    gap(performance.now());
    tell(error.message);
  }
  setTimeout(turn, kEvery_ms);
}

function choose(id) {
  state.view = kViews.find((view) => view.id === id) ?? kViews[0];
  for (const tab of element("tabs").querySelectorAll("[role=tab]")) {
    const chosen = tab.id === `tab-${state.view.id}`;
    tab.setAttribute("aria-selected", chosen);
    tab.tabIndex = chosen ? 0 : -1;
  }
  element("view").setAttribute("aria-labelledby", `tab-${state.view.id}`);
  if (!state.view.once) element("view").replaceChildren();
  drawView();
}

function step(event) {
  const by = {ArrowRight: 1, ArrowLeft: -1}[event.key];
  if (!by) return;
  const next = kViews[(kViews.indexOf(state.view) + by + kViews.length) % kViews.length];
  location.hash = next.id;
  choose(next.id);
  element(`tab-${next.id}`).focus();
}

function begin() {
  const pause = h("button", {id: "pause", type: "button", "aria-pressed": "false", onclick: () => {
    state.paused = !state.paused;
    pause.setAttribute("aria-pressed", state.paused);
    pause.textContent = state.paused ? "Go on" : "Pause";
  }}, "Pause");
  element("tabs").append(...kViews.map((view) => h("button", {
    id: `tab-${view.id}`, role: "tab", type: "button", "aria-controls": "view",
    onclick: () => { location.hash = view.id; }}, view.title)));
  element("tabs").addEventListener("keydown", step);
  element("tabs").after(pause);
  element("view").setAttribute("role", "tabpanel");
  addEventListener("hashchange", () => choose(location.hash.slice(1)));
  addEventListener("resize", drawView);
  choose(location.hash.slice(1));
  turn();
}

begin();
