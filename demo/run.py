#!/usr/bin/python3
"""The demonstration: two hosts, hectod between them, a full table, traffic.

    host a ── a0 ┌────────┐ b0 ── host b         hosts: network namespaces hecto-demo-a, -b
                 │ hectod │                      wires: veth pairs
                 └───┬────┘                      table: loaded with `ip -batch`, as a daemon would
             namespace hecto-demo: Linux's view of the router

On a terminal it goes on until Ctrl-C; without one it ends by itself after half a minute. It takes
everything away that it made. Without root packets are replayed in memory instead.
"""

import argparse
import atexit
import gzip
import ipaddress
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from api import Api  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
A, B, WIRES, LINUX = "hecto-demo-a", "hecto-demo-b", "hecto-demo-wires", "hecto-demo"
HUGEPAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
WANTED_PAGES = 512  # 1 GiB
NEXT_HOPS = 8       # on each side


def sh(command, check=True, **more):
    words = command.split() if isinstance(command, str) else [str(word) for word in command]
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace", **more)
    if check and run.returncode != 0:
        raise RuntimeError(f"{' '.join(words)}: {run.stdout.strip()[-300:]}")
    return run.stdout


def inside(space, command):
    words = command.split() if isinstance(command, str) else [str(word) for word in command]
    return ["nsenter", f"--net=/run/netns/{space}", "--", *words]


def say(text=""):
    print(text, flush=True)


# Cleans up when the demonstration is killed: its standard input ends with us, however we end.
GUARD = """cat >/dev/null
for space in {spaces}; do ip netns pids $space 2>/dev/null | xargs -r kill 2>/dev/null; done
for i in 1 2 3 4 5 6 7 8 9 10; do
  [ -n "$(ip netns pids {wires} 2>/dev/null)" ] || break
  sleep 0.5
done
for space in {spaces}; do ip netns del $space 2>/dev/null; done
[ -z "{pages}" ] || echo {pages} > {file}
rm -rf {folder}
"""


def synthetic_prefixes():
    """As many as the Internet's table has, most of them /24 and /48; the same in every run."""
    dice = random.Random(2010)
    found = set()
    while len(found) < 950_000:
        length = dice.choices((24, 23, 22, 21, 20, 19, 16), (60, 10, 12, 5, 5, 4, 4))[0]
        address = dice.randrange(11 << 24, 224 << 24) >> (32 - length) << (32 - length)
        if address >> 24 != 127:
            found.add(f"{ipaddress.IPv4Address(address)}/{length}")
    while len(found) < 1_150_000:
        length = dice.choices((48, 44, 40, 36, 32), (60, 10, 10, 5, 15))[0]
        address = (0x20 << 120 | dice.getrandbits(117)) >> (128 - length) << (128 - length)
        found.add(f"{ipaddress.IPv6Address(address)}/{length}")
    return sorted(found)


class Demo:
    def __init__(self, build):
        self.build = build
        self.folder = Path(tempfile.mkdtemp(prefix="hecto-demo-"))
        self.processes = []
        self.pages_before = None
        self.hectod = self.guard = None
        self.closed = False
        self.api = Api(self.folder / "api.sock")

    def start(self, space, command, **more):
        more.setdefault("stdout", subprocess.DEVNULL)
        more.setdefault("stderr", subprocess.DEVNULL)
        process = subprocess.Popen(inside(space, command), start_new_session=True, **more)
        self.processes.append(process)
        return process

    # --- up

    def reserve_hugepages(self):
        """When the machine has room: what is free stays, what is missing is added and given back."""
        try:
            before = int(HUGEPAGES.read_text())
            free = int((HUGEPAGES.parent / "free_hugepages").read_text())
            available = int(re.search(r"MemAvailable: +(\d+)",
                                      Path("/proc/meminfo").read_text())[1]) // 1024
            if free >= WANTED_PAGES or available < 4 * 2 * WANTED_PAGES:
                return
            self.pages_before = before
            HUGEPAGES.write_text(str(before + WANTED_PAGES - free))
        except (OSError, TypeError, ValueError):
            self.pages_before = None

    def set_guard(self):
        script = GUARD.format(
            spaces=f"{WIRES} {A} {B} {LINUX}", wires=WIRES, file=HUGEPAGES, folder=self.folder,
            pages="" if self.pages_before is None else self.pages_before)
        self.guard = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      start_new_session=True)

    def make_hosts(self):
        for space in (A, B, WIRES):
            sh(["ip", "netns", "add", space])
            sh(inside(space, "ip link set lo up"))
        for number, (space, wire) in enumerate(((A, "wire-a"), (B, "wire-b")), 1):
            sh(["ip", "link", "add", "eth0", "netns", space, "type", "veth", "peer", "name", wire,
                "netns", WIRES])
            # The veth would leave checksums to hardware that is not there.
            sh(inside(space, "ethtool -K eth0 tx off"), check=False)
            sh(inside(WIRES, f"ip link set {wire} up"))
            sh(inside(space, "ip link set eth0 up"))
            sh(inside(space, f"ip address add 10.{number}.0.1/16 dev eth0"))
            sh(inside(space, f"ip address add fd00:{number}::1/64 dev eth0 nodad"))
            for i in range(2, NEXT_HOPS + 1):
                sh(inside(space, f"ip address add 10.{number}.0.{i}/16 dev eth0"))
                # Deprecated: answered, but never chosen as a source.
                sh(inside(space, f"ip address add fd00:{number}::{i:x}/64 dev eth0 nodad "
                                 "preferred_lft 0"))
            sh(inside(space, f"ip route add default via 10.{number}.255.254"))
            sh(inside(space, f"ip -6 route add default via fd00:{number}::ffff"))

    def start_router(self):
        ports = {name: {"device": wire, "addresses": [f"10.{n}.255.254/16", f"fd00:{n}::ffff/64"]}
                 for n, name, wire in ((1, "a0", "wire-a"), (2, "b0", "wire-b"))}
        file = self.folder / "hecto.yaml"
        file.write_text(json.dumps({"ports": ports, "linux": {"namespace": LINUX},
                                    "api": {"socket": str(self.folder / "api.sock")}}))
        log = open(self.folder / "log", "w")
        self.hectod = self.start(WIRES, [self.build / "router" / "hectod", file], stdout=log,
                                 stderr=log)
        for _ in range(200):
            if self.hectod.poll() is not None:
                raise RuntimeError("hectod ended:\n" + (self.folder / "log").read_text()[-3000:])
            if self.api.get("/v1/summary"):
                return
            time.sleep(0.1)
        raise RuntimeError("hectod did not answer within 20 s")

    def prefixes(self):
        data = Path(os.environ.get("HECTO_DATA", ROOT.parent / "shared" / "data"))
        table = data / "full-table.prefixes.txt.gz"
        if table.exists():
            with gzip.open(table, "rt") as lines:
                return "the real table", [line.strip() for line in lines if line.strip()]
        return "a synthetic table", synthetic_prefixes()

    def load_table(self):
        name, prefixes = self.prefixes()
        files = {4: self.folder / "v4", 6: self.folder / "v6"}
        streams = {family: open(file, "w") for family, file in files.items()}
        for i, prefix in enumerate(prefixes):
            side, host = 1 + i % 2, 1 + (i // 2) % NEXT_HOPS
            if ":" in prefix:
                streams[6].write(f"route add {prefix} via fd00:{side}::{host:x}\n")
            else:
                streams[4].write(f"route add {prefix} via 10.{side}.0.{host}\n")
        for stream in streams.values():
            stream.close()
        say(f"loading {name}, {len(prefixes):,} prefixes, through Linux (ip -batch) …")
        started = time.monotonic()
        # Prefixes that Linux refuses (in its own subnets, say) are no reason to stop.
        loads = [self.start(LINUX, ["ip", *(["-6"] if family == 6 else []), "-force", "-batch",
                                    file]) for family, file in files.items()]
        for load in loads:
            load.wait()
        while True:
            counts = self.api.get("/v1/routes?limit=1")["counts"]
            time.sleep(0.3)
            if self.api.get("/v1/routes?limit=1")["counts"]["total"] == counts["total"]:
                break
        say(f"{counts['ipv4']:,} IPv4 and {counts['ipv6']:,} IPv6 routes after "
            f"{time.monotonic() - started:.1f} s\n")

    # --- traffic

    def look_around(self):
        for title, command in (
                ("ping", "ping -n -c 3 -i 0.2 10.2.0.1"), ("ping", "ping -n -c 3 -i 0.2 fd00:2::1"),
                ("traceroute", "traceroute -n -q 1 -w 2 -m 5 10.2.0.1"),
                ("traceroute", "traceroute -n -q 1 -w 2 -m 5 fd00:2::1")):
            out = sh(inside(A, command), check=False)
            say(f"host a$ {command}")
            lines = [line for line in out.strip().splitlines() if line]
            say("\n".join("  " + line for line in (lines[1:] if title != "ping" else lines[-2:])))
        say()

    def iperf_rounds(self):
        """TCP and UDP, both families, one after the other, for ever."""
        self.start(B, "iperf3 -s")
        time.sleep(0.5)
        while True:
            for family, far in ((4, "10.2.0.1"), (6, "fd00:2::1")):
                for words in ([], ["-u", "-b", "100M", "-l", "1200"]):
                    title = f"iperf3 {'UDP' if words else 'TCP'} IPv{family}"
                    yield title, self.start(A, ["timeout", "12", "iperf3", "-J", "-c", far, "-t", "5",
                                                "--connect-timeout", "3000", *words],
                                            stdout=subprocess.PIPE, text=True)

    @staticmethod
    def iperf_result(title, process):
        try:
            end = json.loads(process.stdout.read())["end"]
            got = end.get("sum_received", end.get("sum"))
            lost = f", {end['sum']['lost_percent']:.2f}% lost" if "UDP" in title else ""
            return f"{title}: {got['bits_per_second'] / 1e6:,.0f} Mb/s{lost}"
        except (ValueError, KeyError):
            return f"{title}: no result"

    def screen(self, second, title):
        ports = self.api.get("/v1/ports")["ports"]
        workers = self.api.get("/v1/workers")["workers"]
        drops = self.api.get("/v1/drops")
        say(f"{second:3d} s  {title}")
        for p in ports:
            say(f"       {p['name']:<4} {'up' if p['link']['up'] else 'down':<4} "
                f"in {p['rx']['pps']:>9,} pps {p['rx']['bps'] / 1e6:>8,.0f} Mb/s   "
                f"out {p['tx']['pps']:>9,} pps {p['tx']['bps'] / 1e6:>8,.0f} Mb/s")
        for w in workers:
            cycles = w["cycles_per_packet"]
            say(f"       worker {w['id']} on cpu {w['cpu']}: {w['pps']:,} pps, "
                + (f"{cycles:.0f} cycles/packet" if cycles is not None else "no packets")
                + f", load {w['load_percent']:.0f}%")
        named = [f"{d['reason']} {d['packets']:,}" for d in drops["drops"]]
        say("       drops: " + (", ".join(named) if named else "none"))

    def run(self, seconds):
        rounds, results, second = self.iperf_rounds(), [], 0
        title, process = next(rounds)
        started = time.monotonic()
        while seconds is None or second < seconds:
            second += 1
            time.sleep(max(0.0, started + second - time.monotonic()))
            self.screen(second, title)
            if process.poll() is not None:
                results.append(self.iperf_result(title, process))
                say(f"       {results[-1]}")
                title, process = next(rounds)
        return results

    def summary(self, results):
        for process in self.processes:
            if process is not self.hectod:
                end(process)
        time.sleep(0.5)
        t = self.api.get("/v1/drops")["totals"]
        came, went = t["received"] + t["injected"], t["transmitted"] + t["punted"] + t["dropped"]
        say()
        for line in results:
            say(line)
        say(f"{t['received']:,} received + {t['injected']:,} injected = {t['transmitted']:,} "
            f"transmitted + {t['punted']:,} punted + {t['dropped']:,} dropped"
            + ("" if came == went else f"   (off by {came - went})"))
        return came == went

    # --- down

    def close(self):
        if self.closed:
            return
        self.closed = True
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        for process in reversed(self.processes):
            end(process)
        if self.guard is not None:
            self.guard.stdin.close()
            self.guard.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def end(process):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def replay(build):
    say("Not root: no namespaces and no TAP devices. Replaying packets in memory instead;\n"
        "`sudo make run` shows the router between two hosts.\n")
    os.execv(build / "bench" / "hecto-bench",
             ["hecto-bench", "forward", "--rounds", "3", "--root", str(ROOT)])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--seconds", type=int, help="default: until Ctrl-C, 24 without a terminal")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    if os.geteuid() != 0:
        return replay(build)
    left = [name for name in (A, B, WIRES, LINUX) if Path(f"/run/netns/{name}").exists()]
    if left:
        say(f"namespace {left[0]} exists: another demonstration runs, or one was killed; then "
            f"`ip netns del` {' '.join(left)}")
        return 1
    seconds = arguments.seconds or (None if sys.stdout.isatty() else 24)
    demo = Demo(build)
    atexit.register(demo.close)

    def leave(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, leave)
    signal.signal(signal.SIGHUP, leave)
    results, balanced = [], True
    try:
        demo.reserve_hugepages()
        demo.set_guard()
        demo.make_hosts()
        demo.start_router()
        say(f"hectod routes between namespaces {A} and {B}; look inside with\n"
            f"  {build}/router/cli/hecto --socket {demo.folder}/api.sock show drops\n")
        demo.look_around()
        demo.load_table()
        results = demo.run(seconds)
        balanced = demo.summary(results)
    except KeyboardInterrupt:
        if demo.api.get("/v1/health"):
            balanced = demo.summary(results)
    except RuntimeError as error:
        say(f"make run: {error}")
        return 1
    finally:
        demo.close()
    return 0 if balanced else 1


if __name__ == "__main__":
    sys.exit(main())
