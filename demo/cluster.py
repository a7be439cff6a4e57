#!/usr/bin/python3
"""A cluster on one machine: two spines, four leaves, FRR beside each hectod, hosts behind the leaves, traffic.

Draws it with the rates of the last second. On a terminal keys drain a spine, kill one, pull a link, and put all back;
`a`, or no terminal, plays these one after the other, tells what each cost, and ends. It takes everything away that it
made, also when it is killed. docs/cluster.md
"""

import argparse
import atexit
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tty
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fabric import DAEMONS, FRR, PREFIX, ROOT, Cluster, Trouble, inside, sh, wait_for  # noqa: E402
from picture import picture, table  # noqa: E402

LOCK = "/run/hecto-cluster.lock"
PACKETS_S = 2000       # of all flows: what one machine carries on two cores beside six daemons
FLOWS = 48
MOST_PACKETS_S = 100.0  # of one flow: a silence is known to 10 ms
KEYS = "d drain a spine   k kill a spine   l pull a link   u undo   a all of it   q quit"
TITLES = ("event", "sent", "lost", "longest silence", "flows", "moved", "that lost", "until routes are as they should")
FLOW = re.compile(r" (spine\d+) rx IPv4 (\S+) > (\S+) UDP (\d+) > 7000")

# Takes away what is left when the demonstration is killed: its standard input ends with us, however we end.
GUARD = """cat >/dev/null
end() { for space in SPACES; do ip netns pids $space 2>/dev/null | xargs -r kill $1 2>/dev/null; done; }
end -TERM
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  left=; for space in SPACES; do left="$left$(ip netns pids $space 2>/dev/null)"; done
  [ -n "$left" ] || break
  sleep 0.25
done
end -KILL
for space in SPACES; do ip netns del $space 2>/dev/null; rm -rf /var/run/frr/$space; done
rm -rf FOLDER
"""


def say(text=""):
    print(text, flush=True)


def milliseconds(seconds):
    return f"{seconds * 1000:,.0f} ms"


def left_overs():
    spaces = Path("/run/netns")
    if not spaces.is_dir():
        return []
    return sorted(s.name for s in spaces.iterdir()
                  if re.fullmatch(rf"{PREFIX}((spine|leaf)\d+(-wires)?|host\d+)", s.name))


def clean(spaces):
    subprocess.run(["sh", "-c", GUARD.replace("SPACES", " ".join(spaces)).replace("rm -rf FOLDER", "")],
                   stdin=subprocess.DEVNULL, check=False)


class Demo:
    def __init__(self, cluster, each, screen):
        self.cluster, self.screen = cluster, screen
        self.flows = each * cluster.leaves * (cluster.leaves - 1)
        self.each, self.rate = each, min(MOST_PACKETS_S, PACKETS_S / self.flows)
        self.heard = {"sent": 0, "lost": 0, "flows": {}}  # since the last act began
        self.last = [None] * cluster.leaves
        self.told, self.rows, self.is_ = [], [], {}
        self.drained, self.dead, self.pulled = set(), set(), set()
        self.next_draw = 0.0

    # --- what is seen

    def listen(self):
        """Adds what the hosts have heard since the last time."""
        now = self.cluster.hear()
        for key in ("sent", "lost"):
            self.heard[key] += now[key]
        for name, flow in now["flows"].items():
            old = self.heard["flows"].setdefault(name, {"lost": 0, "gap_s": 0.0})
            old["lost"] += flow["lost"]
            old["gap_s"] = max(old["gap_s"], flow["gap_s"])
        for i in range(self.cluster.leaves):
            mine = [f for name, f in now["flows"].items() if name.endswith(f">{i + 1}")]
            self.last[i] = {"heard": sum(f["received"] for f in mine), "lost": sum(f["lost"] for f in mine)}

    def state(self):
        c = self.cluster
        ports = {r.name: r.ports() for r in c.routers}

        def how(router):
            if router.name in self.dead or not router.runs():
                return "dead"
            return "drained" if router.name in self.drained else "up"
        links = {}
        for leaf in c.routers[c.spines:]:
            for spine in c.routers[:c.spines]:
                port = ports[leaf.name].get(spine.name)
                if port and spine.name in ports and ports[spine.name]:
                    links[leaf.name, spine.name] = {"up": port["link"]["up"],
                                                    "pps": port["rx"]["pps"] + port["tx"]["pps"]}
        routers = [{"name": r.name, "is": how(r),
                    "pps": sum(p["tx"]["pps"] for p in ports[r.name].values()) if ports[r.name] else None}
                   for r in c.routers]
        return {"spines": routers[:c.spines], "leaves": routers[c.spines:], "links": links, "hosts": self.last}

    def tick(self, seconds=0.0):
        """Time passes; on a terminal the picture is drawn each second."""
        until = time.monotonic() + seconds
        while True:
            now = time.monotonic()
            if self.screen and now >= self.next_draw:
                self.listen()
                self.next_draw = now + 1
                text = picture(self.state()) + "\n\n" + "\n".join(self.told[-8:]) + "\n\n"
                if self.rows:
                    text += table(self.rows[-6:], TITLES) + "\n\n"
                say("\x1b[H" + "".join(line + "\x1b[K\n" for line in (text + KEYS).splitlines()) + "\x1b[J")
            if now >= until:
                return
            time.sleep(min(0.05, until - now))

    def tell(self, line):
        self.told.append(line)
        if not self.screen:
            say(line)

    def ways(self):
        """Flow -> the spine that it comes by: 0.6 s of packets, as leaves receive them."""
        texts = []

        def listen(leaf):
            texts.append(leaf.hecto("capture", "--where", "rx", "--seconds", "0.6", "--snaplen", "64", "--text")[1])
        threads = [threading.Thread(target=listen, args=(leaf,)) for leaf in self.cluster.routers[self.cluster.spines:]]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():
                self.tick(0.05)
        return {match.groups()[1:]: match[1] for text in texts for match in FLOW.finditer(text)}

    # --- what is done

    def measure(self, event, change, without=()):
        """One act: its row of the table."""
        before = self.ways()
        self.listen()
        self.heard = {"sent": 0, "lost": 0, "flows": {}}
        started = time.monotonic()
        change()
        routes = None
        while time.monotonic() - started < 30:
            if self.cluster.converged(without) if not self.pulled else self.rerouted():
                routes = time.monotonic() - started
                break
            self.tick(0.05)
        self.tick(1.5)  # what was lost shows by what comes behind it
        self.listen()
        heard, after = self.heard, self.ways()
        moved = sum(after.get(flow) != way for flow, way in before.items())
        flows = heard["flows"].values()
        row = (event, heard["sent"], heard["lost"], milliseconds(max((f["gap_s"] for f in flows), default=0)),
               len(before), moved, sum(f["lost"] > 0 for f in flows), "never" if routes is None else
               milliseconds(routes))
        self.rows.append(row)
        return row

    def rerouted(self):
        """With a link pulled its leaf has one way less to the others, and they to it."""
        leaf, spine = sorted(self.pulled)[0]
        others = [r for r in self.cluster.routers[self.cluster.spines:] if r.name != leaf]
        want = self.cluster.spines - len({s for l, s in self.pulled if l == leaf})
        mine = self.cluster.hosts[self.cluster[leaf].number - 1].address
        return all(o.next_hops(mine) == want and
                   self.cluster[leaf].next_hops(self.cluster.hosts[o.number - 1].address) == want for o in others)

    def drain(self, name):
        self.tell(f"$ hecto drain                                  on {name}")
        self.drained.add(name)
        answer = []
        thread = threading.Thread(target=lambda: answer.append(self.cluster[name].hecto("drain", "--timeout", "20")))
        self.measure(f"drain {name}", lambda: thread.start(), without=self.drained | self.dead)
        while thread.is_alive():
            self.tick(0.05)
        self.tell("  " + answer[0][1].strip().replace("\n", "\n  "))
        if answer[0][0] != 0:
            self.drained.discard(name)

    def undrain(self, name):
        self.tell(f"$ hecto undrain                                on {name}")

        def change():
            self.tell("  " + self.cluster[name].hecto("undrain")[1].strip())
            self.drained.discard(name)
        self.measure(f"undrain {name}", change, without=self.dead | (self.drained - {name}))

    def pull(self, leaf, spine):
        self.tell(f"$ ip link set eth{self.cluster[spine].number} down                      at {leaf}: the link to {spine}")
        self.pulled.add((leaf, spine))
        self.measure(f"pull {leaf}-{spine}", lambda: self.cluster.take_link(leaf, spine, False))

    def plug(self, leaf, spine):
        self.tell(f"$ ip link set eth{self.cluster[spine].number} up                        at {leaf}")

        def change():
            self.cluster.take_link(leaf, spine, True)
            self.pulled.discard((leaf, spine))
        self.measure(f"plug {leaf}-{spine}", change, without=self.dead | self.drained)

    def kill(self, name):
        self.tell(f"$ kill -9 hectod {' '.join(DAEMONS)}        on {name}: its links stay up, only BFD can know")
        self.dead.add(name)
        self.measure(f"kill {name}", lambda: self.cluster[name].kill(), without=self.dead | self.drained)

    def restart(self, name):
        self.tell(f"{name} starts again")

        def change():
            self.cluster[name].restart()
            self.dead.discard(name)
        self.measure(f"restart {name}", change, without=(self.dead | self.drained) - {name})

    def act(self):
        last = f"spine{self.cluster.spines}"
        self.tick(2)
        self.drain(last)
        self.undrain(last)
        self.pull("leaf1", "spine1")
        self.plug("leaf1", "spine1")
        self.kill("spine1")
        self.restart("spine1")

    def press(self, key):
        """What a key does; False ends."""
        up = [s.name for s in self.cluster.routers[:self.cluster.spines] if s.name not in self.dead | self.drained]
        if key in ("q", "\x03"):
            return False
        if key == "a":
            self.undo()
            self.act()
        elif key in "dkl" and (len(up) < 2 or (key == "l" and self.pulled)):
            self.tell("that would be the last way: u first")
        elif key == "d":
            self.drain(up[-1])
        elif key == "k":
            self.kill(up[0])
        elif key == "l":
            self.pull("leaf1", up[0])
        elif key == "u":
            self.undo()
        return True

    def undo(self):
        for leaf, spine in sorted(self.pulled):
            self.plug(leaf, spine)
        for name in sorted(self.dead):
            self.restart(name)
        for name in sorted(self.drained):
            self.undrain(name)

    def on_terminal(self):
        before = termios.tcgetattr(0)
        tty.setcbreak(0)
        say("\x1b[2J")
        try:
            while True:
                self.tick(0.05)
                if select.select([0], [], [], 0)[0] and not self.press(os.read(0, 1).decode(errors="replace")):
                    return
        finally:
            termios.tcsetattr(0, termios.TCSADRAIN, before)

    def summary(self):
        """What it all cost, and whether each router accounts for every packet."""
        for host in self.cluster.hosts:
            host.talker.terminate()
            host.talker.wait()
        time.sleep(0.5)
        say()
        if self.rows:
            say(table(self.rows, TITLES))
        bad = []
        for router in self.cluster.routers:
            if router.name not in self.dead and router.runs():
                try:
                    wait_for(router.balance, 5, "the balance")
                except Trouble:
                    bad.append(router.name)
        say("received + injected = transmitted + punted + dropped on each router" if not bad
            else f"packets unaccounted for on {', '.join(bad)}")
        return not bad


def prepare(arguments):
    """What is missing here, in a line; None: all is there."""
    if os.geteuid() != 0:
        return "needs root, for network namespaces: sudo make run-cluster"
    missing = [str(FRR / d) for d in DAEMONS if not (FRR / d).exists()]
    if missing or not shutil.which("vtysh"):
        return f"needs FRR ({missing[0] if missing else 'vtysh'} is not there): apt install frr"
    for program in ("router/hectod", "router/cli/hecto"):
        if not (arguments.build / program).exists():
            return f"{arguments.build / program} is not there: make build"
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--spines", type=int, default=2, choices=range(2, 17), metavar="N", help="2 to 16 (default 2)")
    parser.add_argument("--leaves", type=int, metavar="N",
                        help="2 to 32 (default 4, on one CPU 2)")
    parser.add_argument("--flows", type=int, help="from each host to each other (default: 48 in all)")
    parser.add_argument("--act", action="store_true", help="plays it at once, on a terminal, too")
    parser.add_argument("--clean", action="store_true", help="takes away what a run left that was killed with its guard")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    leaves = arguments.leaves if arguments.leaves is not None else 4 if (os.cpu_count() or 1) > 1 else 2
    if not 2 <= leaves <= 32:
        parser.error(f"--leaves {leaves}: use 2 to 32")
    if arguments.flows is None:
        arguments.flows = max(2, FLOWS // (leaves * (leaves - 1)))
    if not 1 <= arguments.flows <= 1000:
        parser.error(f"--flows {arguments.flows}: use 1 to 1000")
    problem = prepare(arguments)
    if problem:
        say(f"make run-cluster: {problem}")
        return 1
    lock = open(LOCK, "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        say("make run-cluster: another one runs (it holds " + LOCK + ")")
        return 1
    left = left_overs()
    if arguments.clean:
        clean(left)
        say(f"taken away: {' '.join(left)}" if left else "nothing was left")
        return 0
    if left:
        say(f"make run-cluster: {len(left)} namespaces of a run that was killed are there ({left[0]}, …): "
            "demo/cluster.py --clean takes them away")
        return 1
    return play(arguments, leaves)


def play(arguments, leaves):
    folder = Path(tempfile.mkdtemp(prefix="hecto-cluster-"))
    cluster = Cluster(arguments.build, folder, arguments.spines, leaves)
    guard = subprocess.Popen(["sh", "-c", GUARD.replace("SPACES", '"' + '" "'.join(cluster.spaces()) + '"')
                              .replace("FOLDER", str(folder))], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)

    def close():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if guard.poll() is None:
            cluster.close()
            guard.stdin.close()
            guard.wait()
        shutil.rmtree(folder, ignore_errors=True)
    atexit.register(close)

    def leave(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    terminal = sys.stdout.isatty() and sys.stdin.isatty()
    demo, good = Demo(cluster, arguments.flows, terminal and not arguments.act), True
    try:
        say(f"{arguments.spines} spines, {leaves} leaves, {leaves} hosts: {arguments.spines + leaves} hectod, each "
            "with zebra, bgpd and bfdd …")
        started = time.monotonic()
        cluster.make_wires()
        cluster.start()
        cluster.wait_converged()
        say(f"BGP has every route by every spine after {time.monotonic() - started:.1f} s; look inside with\n"
            f"  {arguments.build}/router/cli/hecto --socket {folder}/leaf1/api.sock show routes\n"
            f"  vtysh -N {cluster['leaf1'].linux} -c 'show bgp summary'\n")
        cluster.talk(arguments.flows, demo.rate)
        if demo.screen:
            demo.on_terminal()
        else:
            demo.tick(2)
            demo.listen()
            demo.act()
            demo.listen()
            say("\n" + picture(demo.state()))
        good = demo.summary()
    except KeyboardInterrupt:
        say("\nends")
    except Trouble as trouble:
        say(f"make run-cluster: {trouble}")
        return 1
    finally:
        close()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
