#!/usr/bin/env python3
"""Everything at once for so many minutes: floods, churn, reloads, ports that come and go, rekeys, captures.

    tests/soak.py BUILD --minutes 30

Between two hosts that ping each other through ESP's policies and past them: frames for the slow path from one
side, 1,000 routes a second in Linux, a reload every two seconds, a port added and removed, SAs replaced, captures
begun and ended. It passes when pings went on, memory, descriptors and mbufs are flat over the second half, the log
has no error, and every packet is accounted for at the end.
"""

import argparse
import contextlib
import copy
import os
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACED_FLOOD = """
import os, random, socket, struct, sys, time
# argv: interface, our MAC, router's MAC, packets a second, seconds
interface, ours, theirs, rate, seconds = sys.argv[1:]
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind((interface, 0))
mac = lambda text: bytes.fromhex(text.replace(":", ""))
def ipv4(destination, ttl=64, options=b"", protocol=17, payload=bytes(18)):
    words = 5 + len(options) // 4
    head = struct.pack("!BBHHHBBH4s4s", 0x40 | words, 0, words * 4 + len(payload), 0, 0, ttl, protocol, 0,
                       socket.inet_aton("10.1.0.%d" % random.randrange(100, 250)),
                       socket.inet_aton(destination)) + options
    total = sum(struct.unpack("!%dH" % (len(head) // 2), head))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return head[:10] + struct.pack("!H", ~total & 0xffff) + head[12:] + payload
to = mac(theirs) + mac(ours)
arp = struct.pack("!HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, mac(ours), socket.inet_aton("10.1.0.77"), bytes(6),
                  socket.inet_aton("10.1.0.254"))
udp = struct.pack("!HHHH", 5000, 9, 18, 0) + bytes(10)
syn = struct.pack("!HHIIBBHHH", 40000, 179, 1, 0, 0x50, 2, 1000, 0, 0)
kinds = [to + b"\\x08\\0" + ipv4("10.1.0.254", payload=udp),
         to + b"\\x08\\0" + ipv4("10.1.0.254", protocol=6, payload=syn),
         to + b"\\x08\\0" + ipv4("10.2.0.1", ttl=1),
         to + b"\\x08\\0" + ipv4("10.2.0.1", options=b"\\1\\1\\1\\1"),
         to + b"\\x08\\0" + ipv4("192.0.2.77"),
         to + b"\\x08\\x06" + arp]
kinds += [to + b"\\x08\\0" + ipv4("10.2.0.%d" % n) for n in range(20, 250)]
end, burst = time.monotonic() + float(seconds), 64
while time.monotonic() < end and os.getppid() != 1:
    started = time.monotonic()
    for _ in range(burst):
        with __import__("contextlib").suppress(OSError):
            s.send(random.choice(kinds))
    time.sleep(max(0, burst / float(rate) - (time.monotonic() - started)))
"""


class Soak:
    def __init__(self, labs, beds, minutes, rate):
        self.labs, self.beds, self.rate = labs, beds, rate
        self.seconds = minutes * 60
        self.stop = threading.Event()
        self.problems, self.samples, self.done = [], [], {}
        self.reload_lock = threading.Lock()  # one file, two that change it
        self.spi = 0x5000

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def every(self, seconds, what, job):
        """Runs `job` again and again on a thread of its own; what it throws is a problem."""
        def loop():
            while not self.stop.wait(seconds):
                try:
                    job()
                    self.count(what)
                except Exception as error:  # noqa: BLE001  the first of each kind is enough
                    line = f"{what}: {str(error).strip()[:300]}"
                    if len(self.problems) < 20 and line not in self.problems:
                        self.problems.append(line)
        thread = threading.Thread(target=loop, name=what)
        thread.start()
        return thread

    # ---- The bed ----

    def start_bed(self, lab):
        from esp import Tunnel, ipsec_section
        self.tunnel = lambda n: Tunnel(n, "aes-128-gcm", "10.2.0.254", "10.2.0.1", "10.1.0.0/24",
                                       f"10.100.{n}.0/24")
        self.section = ipsec_section
        self.bed = self.beds.make_pair(lab, start=False, config={
            "routes": [{"to": "10.100.0.0/16", "via": "10.2.0.1"}],
            "ipsec": ipsec_section([self.tunnel(1), self.tunnel(2)])})
        self.router = self.bed.router
        self.third = lab.host("c", self.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"])
        self.router.start(self.bed.config)
        self.labs.wait_for(lambda: " 1 received" in self.bed.a.ping("10.2.0.1", count=1, ok=False), 20,
                           "the hosts hear each other")

    # ---- What goes on ----

    def churn(self):
        lines = [f"route add 10.{200 + i // 250}.{i % 250}.0/24 via 10.2.0.1" for i in range(500)]
        self.router.linux_sh(["ip", "-batch", "-"], input="\n".join(lines), timeout=60)
        lines = [line.replace(" add ", " del ") for line in lines]
        self.router.linux_sh(["ip", "-batch", "-"], input="\n".join(lines), timeout=60)

    def apply(self, change):
        with self.reload_lock:
            wanted = copy.deepcopy(self.bed.config)
            change(wanted)
            self.router.write(wanted)
            self.router.cli("reload")
            self.bed.config = wanted

    def reload(self):
        def change(config):
            config["burst"] = random.choice([16, 32, 64])
            config["routes"] = [{"to": "10.100.0.0/16", "via": "10.2.0.1"}] + [
                {"to": f"10.66.{n}.0/24", "type": "blackhole"} for n in range(random.randrange(20))]
            config["ports"]["b0"]["mtu"] = random.choice([1400, 1500])
        self.apply(change)

    def cycle_port(self):
        def change(config):
            if config["ports"].pop("c0", None) is None:
                config["ports"]["c0"] = {"device": "vc", "addresses": ["10.3.0.254/24"]}
        self.apply(change)

    def rekey(self):
        self.apply(lambda config: config.update(
            ipsec=self.section([self.tunnel(1), self.tunnel(random.randrange(2, 9))])))

    def capture(self):
        file = self.router.folder / "soak.pcapng"
        self.router.cli("capture", "--where", "rx,tx,drop", "--count", "200", "--write", file, timeout=30)

    def show(self):
        for noun in ("summary", "ports", "routes?limit=100", "neighbors", "drops", "ipsec", "workers",
                     "pools"):
            self.router.get(f"/v1/{noun}")

    def start_flood(self):
        mac = next(p["mac"] for p in self.router.get("/v1/ports")["ports"] if p["name"] == "a0")
        return self.bed.a.start([sys.executable, "-c", PACED_FLOOD, "e0", self.bed.a.mac, mac, self.rate,
                                 self.seconds])

    # ---- What is measured ----

    def sample(self):
        pid = self.router.process.pid
        status = Path(f"/proc/{pid}/status").read_text()
        rss = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
        fds = len(list(Path(f"/proc/{pid}/fd").iterdir()))
        pools = {pool["name"]: pool.get("in_use", pool.get("used", 0))
                 for pool in self.router.get("/v1/pools")["pools"]}
        self.samples.append((time.monotonic(), rss, fds, pools))

    def run(self):
        flood = self.start_flood()
        threads = [self.every(0.5, "500 routes added and deleted", self.churn),
                   self.every(2, "reloads", self.reload),
                   self.every(5, "ports added or removed", self.cycle_port),
                   self.every(3, "rekeys", self.rekey),
                   self.every(1, "captures", self.capture),
                   self.every(1, "rounds of show", self.show),
                   self.every(2, "samples", self.sample)]
        ping = self.bed.a.start(["ping", "-n", "-q", "-i", "0.1", "-w", int(self.seconds), "10.2.0.1"],
                                stdout=subprocess.PIPE, text=True)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end and self.router.process.poll() is None:
            time.sleep(1)
        self.stop.set()
        for thread in threads:
            thread.join(90)
        self.pings = ping.communicate(timeout=30)[0]
        flood.wait(30)
        if self.router.process.poll() is not None:
            self.problems.append(f"hectod ended with {self.router.process.poll()}")

    def judge(self):
        later = self.samples[len(self.samples) // 2:]
        if len(later) < 4:
            return self.problems.append("fewer than eight samples: nothing can be said of growth")
        half = len(later) // 2

        def floor(values):  # the least of each quarter: what comes and goes does not count
            values = list(values)
            return min(values[:half]), min(values[half:])

        for what, values, slack in (("resident memory, KiB", (s[1] for s in later), 4096),
                                    ("descriptors", (s[2] for s in later), 0)):
            before, after = floor(values)
            print(f"{what}: {before:,} in the third quarter, {after:,} in the last")
            if after > before + slack:
                self.problems.append(f"{what} grew from {before:,} to {after:,}")
        for pool in later[-1][3]:
            before, after = floor(s[3][pool] for s in later if pool in s[3])
            print(f"mbufs in use of {pool}: {before:,}, {after:,}")
            if after > before + 512:  # a port's rings fill as packets come
                self.problems.append(f"mbufs in use of {pool} grew from {before:,} to {after:,}")
        lines = [line for line in self.pings.splitlines() if "packets transmitted" in line]
        print(lines[0] if lines else self.pings)
        words = lines[0].split() if lines else ["1", "", "", "0"]
        if int(words[3]) < 0.97 * int(words[0]):
            self.problems.append(f"pings: {lines[0] if lines else 'none came to its end'}")
        errors = [line for line in self.router.log().splitlines() if " error" in line]
        self.problems += [f"log: {line}" for line in errors[:5]]
        try:
            totals = self.router.check_balance()
            print(f"received {totals['received']:,}, injected {totals['injected']:,}, "
                  f"transmitted {totals['transmitted']:,}, punted {totals['punted']:,}, "
                  f"dropped {totals['dropped']:,}: the sum closes")
        except AssertionError as error:
            self.problems.append(f"balance: {error}")
        for what, times in sorted(self.done.items()):
            print(f"{times:,} {what}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--rate", type=int, default=20_000, help="frames a second of the flood")
    arguments = parser.parse_args()
    os.environ["HECTO_BUILD"] = str(arguments.build.resolve())
    if os.geteuid() != 0:
        parser.error("the soak makes network namespaces: run it as root")
    sys.path.insert(0, str(HERE / "e2e"))
    import conftest
    import lab as labs
    lab = labs.Lab()
    soak = Soak(labs, conftest, arguments.minutes, arguments.rate)
    with contextlib.ExitStack() as stack:
        stack.callback(lambda: soak.problems.extend(lab.close(check=False)))
        soak.start_bed(lab)
        soak.run()
        soak.judge()
        soak.router.stop()
    for problem in soak.problems:
        print(f"failed: {problem}")
    print(f"{arguments.minutes:g} minutes: {'failed' if soak.problems else 'passed'}")
    return 1 if soak.problems else 0


if __name__ == "__main__":
    sys.exit(main())
