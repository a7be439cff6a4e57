"""A cluster in network namespaces: spines and leaves, each a hectod with FRR beside it, and a host behind each leaf.

    hecto-spine1-wires   hectod's kernel ports        hecto-host1   behind leaf1
    hecto-spine1         its Linux, with FRR in it (`vtysh -N hecto-spine1`)

What each router is given are the files of config/examples/cluster, with the number of ports and the router's own number
put in, and where many are on one machine that box's own machine would not need: a namespace and a socket.
"""

import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from api import Api

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "config" / "examples" / "cluster"
FRR = Path("/usr/lib/frr")
DAEMONS = ("zebra", "bgpd", "bfdd")
PREFIX = "hecto-"


class Trouble(Exception):
    """What the demonstration cannot go on with, in a line for the operator."""


def sh(words, check=True, timeout=30):
    words = words.split() if isinstance(words, str) else [str(word) for word in words]
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                         timeout=timeout)
    if check and run.returncode != 0:
        raise Trouble(f"{' '.join(words)}: {run.stdout.strip()[-300:]}")
    return run.stdout


def inside(space, words):
    words = words.split() if isinstance(words, str) else [str(word) for word in words]
    return ["nsenter", f"--net=/run/netns/{space}", "--", *words]


def end(process, patience=15):
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(condition, seconds, what, step=0.1):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = condition()
        if found:
            return found
        time.sleep(step)
    raise Trouble(f"after {seconds:g} s still not: {what}")


def vary(text, word, count):
    """Lines of `word`1 are there for each of `count`; those of other numbers were examples of it."""
    lines = []
    for line in text.splitlines():
        if re.search(rf"\b{word}1\b", line) and not line.startswith(("#", "!", "hostname")):
            lines += [re.sub(r"\b(%s|eth)1\b" % word, rf"\g<1>{n}", line) for n in range(1, count + 1)]
        elif not re.search(rf"\b{word}\d+\b", line) or line.startswith(("#", "!", "hostname")):
            lines.append(line)
    return "\n".join(lines) + "\n"


def files_of(role, number, spines, leaves):
    """hecto.yaml and frr.conf of one router, from the examples."""
    found = []
    for name in ("hecto.yaml", "frr.conf"):
        text = (EXAMPLES / role / name).read_text()
        if role == "spine":
            text = vary(text, "leaf", leaves).replace("hostname spine1", f"hostname spine{number}")
            text = text.replace("router-id 10.255.0.1", f"router-id 10.255.0.{number}")
        else:
            text = vary(text, "spine", spines).replace("hostname leaf1", f"hostname leaf{number}")
            text = text.replace("router-id 10.255.1.1", f"router-id 10.255.1.{number}")
            text = text.replace("65101", str(65100 + number)).replace("10.0.1.", f"10.0.{number}.")
            text = text.replace("fd00:0:1:", f"fd00:0:{number:x}:")
        found.append(text)
    return found


class Router:
    """One box: hectod between its wires and its Linux, and FRR there."""

    def __init__(self, cluster, role, number):
        self.cluster, self.role, self.number = cluster, role, number
        self.name = f"{role}{number}"
        self.linux = f"{cluster.prefix}{self.name}"
        self.wires = f"{self.linux}-wires"
        self.folder = cluster.folder / self.name
        self.folder.mkdir()
        self.socket = self.folder / "api.sock"
        self.api = Api(self.socket)
        self.vty = Path("/var/run/frr") / self.linux
        self.hectod, self.daemons = None, []

    def write(self):
        config, frr = files_of(self.role, self.number, self.cluster.spines, self.cluster.leaves)
        config += (f"# One of many on this machine.\nlinux: {{namespace: {self.linux}}}\n"
                   f"api: {{socket: {self.socket}}}\n{self.cluster.more}")
        (self.folder / "hecto.yaml").write_text(config)
        (self.folder / "frr.conf").write_text(frr)

    def start_hectod(self):
        with open(self.folder / "log", "a") as log:
            self.hectod = subprocess.Popen(
                inside(self.wires, [self.cluster.build / "router" / "hectod", self.folder / "hecto.yaml"]),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env=dict(os.environ, STATE_DIRECTORY=str(self.folder / "state")))

    def wait_hectod(self):
        def answers():
            if self.hectod.poll() is not None:
                raise Trouble(f"hectod of {self.name} ended:\n" + (self.folder / "log").read_text()[-2000:])
            return self.api.get("/v1/summary")
        wait_for(answers, 60, f"hectod of {self.name} answers")

    def start_frr(self):
        account = pwd.getpwnam("frr")
        self.vty.mkdir(parents=True, exist_ok=True)
        for folder in (self.vty.parent, self.vty):
            os.chown(folder, account.pw_uid, account.pw_gid)
        config = self.vty / "frr.conf"
        shutil.copy(self.folder / "frr.conf", config)
        os.chown(config, account.pw_uid, account.pw_gid)
        for daemon in DAEMONS:
            (self.vty / f"{daemon}.vty").unlink(missing_ok=True)
            with open(self.folder / f"{daemon}.log", "a") as log:
                self.daemons.append(subprocess.Popen(
                    inside(self.linux, [FRR / daemon, "-N", self.linux, "-f", config, "-P", "0", "-i",
                                        self.vty / f"{daemon}.pid"]),
                    stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True))
            wait_for((self.vty / f"{daemon}.vty").exists, 20, f"{daemon} of {self.name} runs")

    def kill(self):
        """As if its power had gone: the wires stay as they are, and nobody says good-bye."""
        for process in (*self.daemons, self.hectod):
            process.send_signal(signal.SIGKILL)
        for process in (*self.daemons, self.hectod):
            process.wait()
        self.daemons.clear()

    def restart(self):
        self.start_hectod()
        self.wait_hectod()
        self.start_frr()

    def vtysh(self, *commands):
        return sh(["vtysh", "-N", self.linux, *(word for c in commands for word in ("-c", c))], check=False)

    def hecto(self, *words, timeout=60):
        run = subprocess.run([self.cluster.build / "router" / "cli" / "hecto", "--socket", self.socket, *words],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=timeout)
        return run.returncode, run.stdout

    def runs(self):
        return self.hectod is not None and self.hectod.poll() is None

    def ports(self):
        answer = self.api.get("/v1/ports") if self.runs() else None
        return {p["name"]: p for p in answer["ports"]} if answer else {}

    def next_hops(self, address):
        answer = self.api.get(f"/v1/routes?address={address}") or {}
        return len((answer.get("next_hop") or {}).get("members", []))

    def balance(self):
        """received + injected = transmitted + punted + dropped; None while packets are on their way."""
        t = (self.api.get("/v1/drops") or {}).get("totals")
        if t is None or t["in_flight"]:
            return None
        came = t["received"] + t["injected"] + t["fragments"]
        return came == t["transmitted"] + t["punted"] + t["dropped"]

    def close(self):
        for process in reversed(self.daemons):
            end(process)
        if self.hectod is not None:
            end(self.hectod, 30)
        shutil.rmtree(self.vty, ignore_errors=True)
        for folder in (Path("/etc/frr") / self.linux, Path("/var/tmp/frr")):
            if folder.name == self.linux:
                shutil.rmtree(folder, ignore_errors=True)


class Host:
    def __init__(self, cluster, number):
        self.cluster, self.number = cluster, number
        self.space = f"{cluster.prefix}host{number}"
        self.address = f"10.0.{number}.10"
        self.talker = None

    def start(self, targets, flows, rate):
        self.talker = subprocess.Popen(
            inside(self.space, ["/usr/bin/python3", ROOT / "demo" / "talker.py", self.address, ",".join(targets),
                                flows, rate]),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)

    def ask(self):
        self.talker.stdin.write("?\n")
        self.talker.stdin.flush()
        line = self.talker.stdout.readline()
        if not line:
            raise Trouble(f"the traffic of host{self.number} ended")
        return json.loads(line)


class Cluster:
    """Spines, leaves, hosts; `with Cluster(...) as cluster`, and all of it is gone behind."""

    def __init__(self, build, folder, spines=2, leaves=2, prefix=PREFIX, more="idle_sleep_us: 500\n"):
        self.build, self.folder, self.prefix, self.more = build, folder, prefix, more
        self.spines, self.leaves = spines, leaves
        self.routers = [Router(self, "spine", n + 1) for n in range(spines)]
        self.routers += [Router(self, "leaf", n + 1) for n in range(leaves)]
        self.by_name = {r.name: r for r in self.routers}
        self.hosts = [Host(self, n + 1) for n in range(leaves)]

    def __getitem__(self, name):
        return self.by_name[name]

    def spaces(self):
        return [s for r in self.routers for s in (r.wires, r.linux)] + [h.space for h in self.hosts]

    def make_wires(self):
        for space in [r.wires for r in self.routers] + [h.space for h in self.hosts]:
            sh(["ip", "netns", "add", space])
            sh(inside(space, "ip link set lo up"))
        for leaf in self.routers[self.spines:]:
            for spine in self.routers[:self.spines]:
                self.wire(leaf.wires, f"eth{spine.number}", spine.wires, f"eth{leaf.number}")
            host = self.hosts[leaf.number - 1]
            self.wire(leaf.wires, "eth0", host.space, "eth0")
            sh(inside(host.space, "ethtool -K eth0 tx off"), check=False)  # sums left to hardware that is not there
            sh(inside(host.space, f"ip address add {host.address}/24 dev eth0"))
            sh(inside(host.space, f"ip address add fd00:0:{host.number:x}::10/64 dev eth0 nodad"))
            sh(inside(host.space, f"ip route add default via 10.0.{host.number}.1"))
            sh(inside(host.space, f"ip route add default via fd00:0:{host.number:x}::1"))

    def wire(self, space, name, far_space, far_name):
        sh(["ip", "link", "add", name, "netns", space, "type", "veth", "peer", "name", far_name, "netns", far_space])
        for where, which in ((space, name), (far_space, far_name)):
            sh(inside(where, f"ip link set {which} up"))

    def start(self):
        for router in self.routers:
            router.write()
            router.start_hectod()
        for router in self.routers:
            router.wait_hectod()
        for router in self.routers:
            router.start_frr()

    def converged(self, without=()):
        """Each leaf knows each other's hosts by every spine that is there."""
        there = [s for s in self.routers[:self.spines] if s.name not in without]
        leaves = self.routers[self.spines:]
        return all(a.next_hops(self.hosts[b.number - 1].address) == len(there)
                   for a in leaves for b in leaves if a is not b)

    def wait_converged(self, seconds=90, without=()):
        wait_for(lambda: self.converged(without), seconds, "every leaf has routes by every spine", 0.3)

    def talk(self, flows, rate):
        """`flows` from each host to each other, of `rate` packets a second each."""
        for host in self.hosts:
            host.start([h.address for h in self.hosts if h is not host], flows, rate)

    def take_link(self, leaf, spine, up):
        sh(inside(self[leaf].wires, f"ip link set eth{self[spine].number} {'up' if up else 'down'}"))

    def hear(self):
        """What all hosts have sent and heard since the last time."""
        answers = [host.ask() for host in self.hosts]
        flows = {f"{flow}>{host.number}": numbers for host, answer in zip(self.hosts, answers)
                 for flow, numbers in answer["flows"].items()}
        return {"sent": sum(answer["sent"] for answer in answers), "flows": flows,
                "lost": sum(f["lost"] for f in flows.values()),
                "received": sum(f["received"] for f in flows.values())}

    def close(self):
        for host in self.hosts:
            if host.talker is not None:
                end(host.talker, 3)
        for router in self.routers:  # all at once: each takes its time
            for process in (*router.daemons, router.hectod):
                if process is not None and process.poll() is None:
                    process.terminate()
        for router in self.routers:
            router.close()
        for space in self.spaces():
            sh(["ip", "netns", "del", space], check=False)
