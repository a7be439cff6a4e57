"""hecto top on a real terminal (a pty): sizes, keys, and how it leaves."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import time

import pytest

from lab import HECTO, SLOWER, wait_for

TAKE, GIVE_BACK = "\x1b[?1049h", "\x1b[?1049l"
SGR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    """hecto top at the other end of a pty, and the last screen that it drew."""

    def __init__(self, lab, socket, *words, columns=80, rows=24, **environment):
        self.near, far = pty.openpty()
        self.resize(columns, rows)
        self.modes = termios.tcgetattr(far)
        self.bytes = ""
        env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", **environment}
        self.process = subprocess.Popen(
            [HECTO, "--socket", socket, "top", *words], stdin=far, stdout=far,
            stderr=subprocess.PIPE, text=True, env=env, cwd=lab.folder, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.far = far
        lab.cleanups.append(self.close)

    def resize(self, columns, rows):
        fcntl.ioctl(self.near, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.near, keys.encode())

    def read(self):
        while select.select([self.near], [], [], 0)[0]:
            self.bytes += os.read(self.near, 65536).decode(errors="replace")
        return self.bytes

    def screen(self):
        """The lines of the last whole picture."""
        pictures = re.findall(r"\x1b\[H(.*?)\x1b\[J", self.read(), re.S)
        if not pictures:
            return []
        plain = SGR.sub("", pictures[-1]).replace("\x1b[2K", "")
        return re.split("\r+\n", plain)  # the terminal makes \\r\\n of \\n

    def text(self):
        return "\n".join(self.screen())

    def shows(self, words, timeout=10):
        wait_for(lambda: words in self.text(), timeout, f"the screen shows {words!r}")

    def ended(self, code):
        """It ended so, and the terminal is as it was."""
        deadline = time.monotonic() + 5 * SLOWER
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()  # what is not read would stop it
            time.sleep(0.02)
        assert self.process.poll() == code, self.text()
        rest = self.read()
        assert rest.rindex(GIVE_BACK) > rest.rindex(TAKE), "the other screen is left"
        assert "\x1b[?25h" in rest[rest.rindex(TAKE):], "the cursor is back"
        assert termios.tcgetattr(self.far) == self.modes, "keys are echoed again, line by line"

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.near)
        os.close(self.far)


@pytest.mark.parametrize("columns, rows", [(80, 24), (40, 24), (40, 8), (200, 50)])
def test_the_screen_holds_at_any_size(pair, columns, rows):
    top = Terminal(pair.lab, pair.router.socket, columns=columns, rows=rows)
    top.shows("hecto top")
    top.shows("\nport  ")
    lines = top.screen()
    assert len(lines) == rows
    assert max(map(len, lines)) <= columns, lines
    assert any(line.startswith("a0 ") or line.startswith("b0 ") or "more" in line
               for line in lines), lines
    top.press("q")
    top.ended(0)


def test_it_shows_the_drops_that_grow(pair):
    top = Terminal(pair.lab, pair.router.socket, columns=100, rows=40)
    top.shows("drops: none grow")
    pair.router.cli("route", "add", "blackhole", "10.9.0.0/16")
    lost = pair.a.start("ping -n -i 0.05 10.9.0.1")
    wait_for(lambda: re.search(r"\nblackhole +\d+ pps ", top.text()), 10, "what and how fast")
    lost.terminate()
    lost.wait()
    top.shows("drops: none grow")
    assert pair.router.dropped("blackhole") > 0, "it only grows no more"


def test_rates_add_up_to_the_packets(pair):
    """Between two pictures nothing is counted twice, and nothing left out."""
    pair.a.ping("10.2.0.1", count=1)
    output = pair.lab.folder / "top"
    with open(output, "w") as file:
        top = subprocess.Popen([HECTO, "--socket", pair.router.socket, "top", "--interval", "1"],
                               stdout=file)
        pair.lab.cleanups.append(top.kill)
        wait_for(lambda: output.read_text().count("hecto top") == 2, 10, "it looks")
        pair.a.ping("10.2.0.1", "-i", "0.01", "-s", "972", count=300)
        seen = output.read_text().count("hecto top")
        wait_for(lambda: output.read_text().count("hecto top") == seen + 2, 10, "it has seen all")
        top.terminate()
        top.wait()
    rates = re.findall(r"^a0 +(?:up|\d+ Gb/s) +(\d+) pps +([\d.]+) (k?)b/s",
                       output.read_text(), re.M)
    packets = sum(int(pps) for pps, _, _ in rates)
    octets = sum(float(bps) * (1000 if kilo else 1) for _, bps, kilo in rates) / 8
    assert 295 <= packets <= 320, rates  # ARP and ND are among them
    assert 0.95 < octets / (300 * 1014) < 1.05, rates


def test_keys_choose_what_is_seen(pair):
    top = Terminal(pair.lab, pair.router.socket)
    top.shows("\nport  ")
    top.press("2")
    wait_for(lambda: "\ncore  " in top.text() and "\nport  " not in top.text(), 5, "workers alone")
    top.press("?")
    top.shows("any key leaves it")
    top.press("x")
    top.press("+")
    top.shows("every 2 s")
    top.press(" ")
    top.shows("hecto top PAUSED")
    clock = top.screen()[0]
    time.sleep(2.5)
    assert top.screen()[0] == clock
    top.press(" 0")
    wait_for(lambda: "PAUSED" not in top.text() and "\nport  " in top.text(), 5, "it goes on")


def test_a_shorter_interval_counts_at_once(pair):
    top = Terminal(pair.lab, pair.router.socket, "--interval", "3600")
    top.shows("every 3600 s")
    clock = top.screen()[0]
    time.sleep(1.5)
    top.press("-------")  # 60, 30, 10, 5, 2, 1, 0.5
    top.shows("every 0.5 s")
    wait_for(lambda: top.screen()[0].split("every")[0] != clock.split("every")[0], 5, "news")


def test_it_follows_the_size(pair):
    top = Terminal(pair.lab, pair.router.socket, "--interval", "60")
    top.shows("\nport  ")
    for columns, rows in ((40, 12), (132, 43), (7, 3), (80, 24)):
        top.resize(columns, rows)
        os.kill(top.process.pid, signal.SIGWINCH)
        wait_for(lambda: len(top.screen()) == rows, 5, f"{rows} rows")
        assert max(map(len, top.screen())) <= columns


@pytest.mark.parametrize("ending", ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_signals_leave_the_terminal_as_it_was(pair, ending):
    top = Terminal(pair.lab, pair.router.socket)
    top.shows("hecto top")
    number = getattr(signal, ending)
    if ending == "SIGINT":
        top.press("\x03")
    else:
        os.kill(top.process.pid, number)
    top.ended(-number)


def test_it_stops_and_goes_on(pair):
    top = Terminal(pair.lab, pair.router.socket)
    top.shows("hecto top")
    os.kill(top.process.pid, signal.SIGTSTP)
    wait_for(lambda: top.read().endswith(GIVE_BACK), 5, "the shell has its screen")
    wait_for(lambda: termios.tcgetattr(top.far) == top.modes, 5, "and its keys")
    os.kill(top.process.pid, signal.SIGCONT)
    wait_for(lambda: not top.read().endswith(GIVE_BACK), 5, "it goes on")
    top.press("q")
    top.ended(0)


def test_a_router_that_goes_and_comes_back(pair):
    top = Terminal(pair.lab, pair.router.socket)
    top.shows("\nport  ")
    pair.router.check_balance()
    pair.router.stop()
    top.shows(" s, trying again: ")
    assert top.screen()[1].startswith("! OLD by "), top.text()
    assert "a0 " in top.text(), "what was known stays, marked as old"
    pair.router.launch()
    pair.router.wait_ready()
    wait_for(lambda: "OLD" not in top.text() and "a0 " in top.text(), 10, "news")
    pid = pair.router.get("/v1/summary")["pid"]
    os.kill(pid, signal.SIGSTOP)  # it takes connections, and answers none
    try:
        top.shows("! OLD by ")
        top.press("q")
        top.ended(0)
    finally:
        os.kill(pid, signal.SIGCONT)


def test_colour_only_where_it_is_wanted(pair):
    plain = Terminal(pair.lab, pair.router.socket, NO_COLOR="1")
    plain.shows("\nport  ")
    assert not SGR.search(plain.read())
    colored = Terminal(pair.lab, pair.router.socket)
    colored.shows("\nport  ")
    assert SGR.search(colored.read())


def test_without_a_screen_one_picture_behind_the_other(pair):
    words = [HECTO, "--socket", pair.router.socket, "top"]
    once = subprocess.run([*words, "--once"], capture_output=True, text=True, timeout=20)
    assert once.returncode == 0 and not once.stderr
    assert "\x1b" not in once.stdout
    assert [line for line in once.stdout.splitlines() if line.startswith("a0 ")], once.stdout
    piped = subprocess.run(["sh", "-c", '"$@" --interval 0.2 | head -40', "sh", *words],
                           capture_output=True, text=True, timeout=20)
    assert piped.stdout.count("hecto top") > 1 and "\x1b" not in piped.stdout
    dumb = Terminal(pair.lab, pair.router.socket, "--interval", "0.2", TERM="dumb")
    wait_for(lambda: dumb.read().count("hecto top") > 1, 10, "two pictures")
    assert "\x1b" not in dumb.read()


def test_without_a_screen_it_tells_when_the_router_goes(pair):
    process = subprocess.Popen([HECTO, "--socket", pair.router.socket, "top", "--interval", "0.2"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    pair.lab.cleanups.append(process.kill)
    time.sleep(0.5)
    pair.router.check_balance()
    pair.router.stop()
    patience = threading.Timer(60, process.kill)  # a top that says nothing ends the test
    patience.daemon = True
    patience.start()
    assert process.stderr.readline().endswith("; trying again\n")
    pair.router.launch()
    pair.router.wait_ready()
    lines = [process.stderr.readline()]
    while lines[-1] and ("again" not in lines[-1] or "trying" in lines[-1]):  # while it starts
        lines.append(process.stderr.readline())
    assert lines[-1] == "hecto: the router answers again\n"
    process.terminate()
    process.wait()
    gone = subprocess.run([HECTO, "--socket", pair.lab.folder / "none", "top", "--once"],
                          capture_output=True, text=True, timeout=20)
    assert gone.returncode == 1 and gone.stderr.startswith("hecto: ")
    wrong = subprocess.run([HECTO, "top", "--json"], capture_output=True, text=True, timeout=20)
    assert wrong.returncode == 2 and "--watch" in wrong.stderr
