"""The web page in a real browser: Chromium without a window, led by its driver."""

import contextlib
import ctypes
import http.server
import os
import threading
import time
import urllib.error
import urllib.request

import pytest

from conftest import make_pair
from lab import SLOWER, wait_for

pytest.importorskip("selenium", reason="python3-selenium is not installed")
from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
pytestmark = pytest.mark.skipif(not (os.path.exists(CHROMIUM) and os.path.exists(DRIVER)),
                                reason="chromium or chromium-driver is not installed")

PORT, FOREIGN = 8099, 8098
URL = f"http://127.0.0.1:{PORT}"
TOKEN = "0123456789abcdef0123456789abcdef"
SHOTS = os.environ.get("HECTO_SCREENSHOTS")  # a folder: pictures of what the tests saw


@contextlib.contextmanager
def inside(namespace):
    """This thread, and what it starts, in the network of that namespace."""
    setns = ctypes.CDLL(None, use_errno=True).setns
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace.name}", os.O_RDONLY)
    assert setns(there, 0) == 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        assert setns(before, 0) == 0, os.strerror(ctypes.get_errno())
        os.close(there)
        os.close(before)


class Page:
    def __init__(self, driver, bed):
        self.driver, self.bed = driver, bed

    def open(self, view="box", size=(1280, 900), dark=False):
        self.driver.set_window_size(*size)
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": scheme})
        self.driver.get(f"{URL}/#{view}")
        self.shows("worker", "#router")
        return self

    def text(self, selector="main"):
        return self.driver.find_element(By.CSS_SELECTOR, selector).get_property("innerText")

    def shows(self, words, selector="main", timeout=20):
        wait_for(lambda: words in self.text(selector), timeout, f"{selector} shows {words!r}", 0.2)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def rows(self, caption):
        """The table of that caption: a dictionary by column's title for each row."""
        return self.script("""
          const table = [...document.querySelectorAll("table")]
            .find((t) => t.caption.textContent === arguments[0]);
          const titles = [...table.tHead.rows[0].cells].map((c) => c.textContent);
          return [...table.tBodies[0].rows].map((row) => Object.fromEntries(
            [...row.cells].map((cell, i) => [titles[i], cell.textContent])));""", caption)

    def fill(self, form, **fields):
        for name, text in fields.items():
            field = self.find(f'form[aria-label="{form}"] [name="{name}"]')
            field.clear()
            field.send_keys(text)
        self.find(f'form[aria-label="{form}"] button').click()

    def fits(self):
        wide = self.script("return document.documentElement.scrollWidth - innerWidth")
        return wide <= 0

    def shot(self, name):
        if SHOTS:
            tall = self.script("return document.documentElement.scrollHeight")
            size = self.driver.get_window_size()
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                "width": size["width"], "height": max(tall, size["height"]),
                "deviceScaleFactor": 1, "mobile": False})
            time.sleep(1.2)
            self.driver.save_screenshot(f"{SHOTS}/{name}.png")
            self.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})

    def clean(self):
        """No error and no violation of the policy was told on the console."""
        bad = [entry for entry in self.driver.get_log("browser") if entry["level"] == "SEVERE"]
        assert not bad, bad


def chromium(lab):
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for switch in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--disable-background-networking", f"--user-data-dir={lab.folder}/chromium"):
        options.add_argument(switch)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(DRIVER), options=options)


@pytest.fixture
def page(lab):
    token = lab.folder / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    bed = make_pair(lab, start=False)
    bed.router.start({**bed.config, "api": {
        "socket": str(bed.router.socket), "http": f"127.0.0.1:{PORT}",
        "http_token_file": str(token)}})
    bed.a.ping("10.2.0.1", count=1, ok=False)
    bed.a.ping("10.2.0.1", count=1)
    with inside(bed.router.space):
        driver = chromium(lab)
        try:
            driver.execute_cdp_cmd("Browser.setDownloadBehavior",
                                   {"behavior": "allow", "downloadPath": str(lab.folder)})
            yield Page(driver, bed)
        finally:
            driver.quit()


def test_every_view_loads_without_a_complaint(page):
    pinging = page.bed.a.start("ping -n -i 0.01 -s 972 10.2.0.1")
    page.bed.router.cli("route", "add", "blackhole", "10.9.0.0/16")
    page.bed.a.ping("10.9.0.1", ok=False, count=3, timeout=1)
    words = {"box": "Workers", "rates": "Ports", "drops": "blackhole", "routes": "Search",
             "trace": "Start", "plan": "Predicted and measured"}
    for view, word in words.items():
        page.open(view).shows(word)
        if view == "rates":
            time.sleep(12 if SHOTS else 3)
        page.shot(view)
    pinging.terminate()
    pinging.wait()
    page.clean()


def test_values_are_those_of_the_api(page):
    page.bed.router.cli("route", "add", "blackhole", "10.9.0.0/16")
    page.bed.a.ping("10.9.0.1", ok=False, count=7, timeout=1)
    (wanted,) = [d for d in page.bed.router.get("/v1/drops")["drops"] if d["reason"] == "blackhole"]
    page.open("drops").shows("blackhole")
    (row,) = [row for row in page.rows("Drops") if row["reason"] == "blackhole"]
    assert row["packets"] == str(wanted["packets"]) == "7"
    for words in (wanted["description"], wanted["advice"]):
        assert words in row["what it means, what to do"], row
    page.open("box").shows("Workers")
    worker = page.bed.router.get("/v1/workers")["workers"][0]
    (row,) = page.rows("Workers")
    assert row["core"] == str(worker["cpu"])
    assert row["queues"] == " ".join(f"{q['port']}:{q['queue']}" for q in worker["queues"])
    plan = page.bed.router.get("/v1/plan")
    cores = sum(len(socket["cores"]) for socket in plan["topology"]["sockets"])
    assert page.script('return document.querySelectorAll(".box rect.core").length') == cores
    arrows = [element.get_attribute("textContent")
              for element in page.driver.find_elements(By.CSS_SELECTOR, ".box path.arrow")]
    assert sorted(arrows) == [f"{port} queue 0 → core {worker['cpu']}" for port in ("a0", "b0")]
    page.open("plan").shows(plan["text"].splitlines()[0])
    point = next(p for p in plan["capacity"]["points"]
                 if (p["experiment"], p["traffic"]) == ("forward_local", "ipv4"))
    assert point["bottleneck"] in page.text()
    page.clean()


TWO_SOCKETS = """
  const way = {pps: 18e6, bps: 9e9, missed: 0, no_mbuf: 0};
  const worker = (id, cpu, socket) => ({id, cpu, socket, queues: [{port: "wan0", queue: id}],
    pps: 9e6, load_percent: 95, cycles_per_packet: 58.1, burst_fill: null, waiting_percent: null,
    remote_queues: 0});
  const core = (cpu) => ({cpu, siblings: [cpu + 4]});
  const answers = {
    plan: {placement: {control_cpu: 0}, topology: {cpu_model: "", l3_bytes: 0, nics: [],
      sockets: [{id: 0, memory_bytes: null, cores: [core(0), core(1)]},
                {id: 1, memory_bytes: null, cores: [core(2), core(3)]}],
      gpus: [{pci: "0000:99:00.0", name: "H100", socket: 1}]}},
    ports: {ports: [{name: "wan0", device: "", driver: "net_ice", socket: 1, queues: {rx: 2},
                     link: {up: true, speed_mbps: 100000}, rx: way, tx: way}]},
    workers: {workers: [worker(0, 1, 0), worker(1, 6, 1)]}};
  const done = arguments[0], drawn = document.createElement("div");
  import("/box.js").then(({box}) => {
    drawn.append(...box(answers, 1200));
    const arrows = [...drawn.querySelectorAll("path.arrow")];
    done({arrows: arrows.map((a) => [a.textContent, a.classList.contains("crossing")]),
          hot: drawn.querySelectorAll("rect.core.load-4").length,
          cores: drawn.querySelectorAll("rect.core").length, words: drawn.textContent});
  });"""


def test_what_crosses_sockets_is_red(page):
    """The drawing of a box that is not at hand: its second worker on a core's second thread."""
    page.open("box")
    drawn = page.driver.execute_async_script(TWO_SOCKETS)
    assert drawn["arrows"] == [["wan0 queue 0 → core 1: crosses sockets", True],
                               ["wan0 queue 1 → core 6", False]]
    assert drawn["hot"] == 2 and drawn["cores"] == 4, "each core once"
    assert "H100" in drawn["words"] and "socket 1" in drawn["words"]


def test_routes_are_searched(page):
    page.open("routes").fill("Search routes", what="10.2.0.1")
    page.shows("is forwarded")
    (hop,) = page.rows("Next hop")
    answer = page.bed.router.explain("10.2.0.1")["next_hop"]["members"][0]
    assert hop["port"] == "b0" and answer["neighbor"]["mac"] in hop["neighbor"]
    page.shot("routes-address")
    page.fill("Search routes", what="10.77.0.1")
    page.shows("goes to Linux: no_route")
    page.fill("Search routes", what="10.0.0.0/8")
    page.shows("10.1.0.0/24")
    assert any(row["prefix"] == "10.2.0.0/24" for row in page.rows("Routes"))
    page.clean()
    page.fill("Search routes", what="<b>nonsense")
    page.shows("is no address")
    assert not page.driver.find_elements(By.CSS_SELECTOR, "main p b")


def test_a_trace_and_a_capture_need_the_token(page):
    page.open("trace").fill("Trace", to="10.2.0.1")
    page.shows("needs the role operate")
    page.fill("Token", token="wrong-" + TOKEN)
    page.fill("Trace", to="10.2.0.1")
    page.shows("the token is not that of")
    page.fill("Token", token=TOKEN)
    page.fill("Trace", to="10.2.0.1", count="2")
    page.shows("waiting for more")
    page.bed.a.ping("10.2.0.1", count=2)
    page.shows("2 of 2 packets")
    steps = page.driver.find_elements(By.CSS_SELECTOR, "article.trace:first-of-type li b")
    assert [step.text for step in steps][:2] == ["receive", "classify"], [s.text for s in steps]
    page.shows("transmitted on b0")
    page.shot("trace-done")
    page.fill("Capture", to="10.2.0.1", count="4")
    page.shows("B …")
    page.bed.a.ping("10.2.0.1", count=4)
    page.shows("4 packets, 0 lost", timeout=30)
    files = wait_for(lambda: list(page.bed.lab.folder.glob("hecto-*.pcapng")), 10, "the file")
    assert files[0].read_bytes()[:4] == b"\x0a\x0d\x0d\x0a", "pcapng begins so"
    kept = page.script("return [localStorage.length, sessionStorage.length, document.cookie]")
    assert kept == [0, 0, ""]
    page.driver.refresh()
    page.shows("Who looks on needs the role operate")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_readable_on_a_phone(page, dark):
    page.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
        "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True})
    for view, word in {"box": "Workers", "rates": "Ports", "drops": "received", "routes": "Search",
                       "trace": "Capture", "plan": "Predicted"}.items():
        page.driver.get(f"{URL}/#{view}")
        page.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        page.shows(word)
        assert page.fits(), view
        if SHOTS:
            time.sleep(2)
            page.driver.save_screenshot(f"{SHOTS}/phone-{view}-{'dark' if dark else 'light'}.png")
    back = page.script("return getComputedStyle(document.body).backgroundColor")
    brightness = sum(int(part) for part in back.strip("rgb()").split(","))
    assert (brightness < 200) == dark, back
    page.clean()


def test_the_keyboard_is_enough(page):
    page.open("box").shows("Workers")
    page.find("#tab-box").send_keys(Keys.ARROW_RIGHT)
    page.shows("Packets")
    assert page.driver.switch_to.active_element.get_attribute("id") == "tab-rates"
    page.driver.switch_to.active_element.send_keys(Keys.ARROW_LEFT, Keys.ARROW_LEFT)
    page.shows("Who polls what")
    assert page.find("#tab-plan").get_attribute("aria-selected") == "true"
    # Each control and each picture has a name for who does not see it.
    for view in ("box", "rates", "trace", "routes"):
        page.open(view)
        page.shows("Workers" if view == "box" else "Packets" if view == "rates" else "Token"
                   if view == "trace" else "Search")
        nameless = page.script("""
          return [...document.querySelectorAll("button, input, svg[role=img]")]
            .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length))
            .map((e) => e.outerHTML);""")
        assert nameless == [], view


def test_it_says_when_hectod_is_away_and_goes_on(page):
    page.open("box").shows("Workers")
    page.bed.router.check_balance()
    page.bed.router.stop()
    page.shows("hectod does not answer", "#banner")
    page.shows("s old", "#banner")
    assert "old" in page.find("body").get_attribute("class").split()
    page.shot("away")
    page.bed.router.launch()
    page.bed.router.wait_ready()
    wait_for(lambda: not page.find("#banner").is_displayed(), 20 * SLOWER, "it goes on")
    page.shows("Workers")


def test_a_page_of_another_origin_gets_nothing(page):
    class Foreign(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<!DOCTYPE html><title>foreign</title><iframe></iframe>")

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", FOREIGN), Foreign)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        page.driver.get(f"http://127.0.0.1:{FOREIGN}/")
        for mode in ("cors", "no-cors"):
            got = page.driver.execute_async_script("""
              const [url, mode, done] = arguments;
              fetch(url, {mode})
                .then((a) => done(`${a.type} ${a.status}`), () => done("refused"));""",
                f"{URL}/v1/summary", mode)
            assert got in ("refused", "opaque 0"), (mode, got)
        framed = page.driver.execute_async_script("""
          const [url, done] = arguments;
          const frame = document.querySelector("iframe");
          frame.onload = () => { try { done(frame.contentDocument ? "read" : "shut"); }
                                 catch { done("shut"); } };
          frame.src = url;""", URL)
        assert framed == "shut"
        told = str(page.driver.get_log("browser"))
        assert "frame-ancestors" in told or "403" in told, told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_the_browser_keeps_what_is_the_same(lab):
    """ETag: the second time nothing but the head is sent. Without a browser."""
    bed = make_pair(lab, start=False)
    bed.router.start({**bed.config, "api": {
        "socket": str(bed.router.socket), "http": f"127.0.0.1:{PORT}"}})
    with inside(bed.router.space):
        with urllib.request.urlopen(URL, timeout=10) as answer:
            etag, policy = answer.headers["ETag"], answer.headers["Content-Security-Policy"]
            assert b"<title>hecto</title>" in answer.read()
        assert policy.startswith("default-src 'self'")
        again = urllib.request.Request(URL, headers={"If-None-Match": etag})
        with pytest.raises(urllib.error.HTTPError) as same:
            urllib.request.urlopen(again, timeout=10)
        assert same.value.code == 304 and same.value.read() == b""
