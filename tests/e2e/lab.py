"""Hosts, wires and routers in network namespaces, and their end.

A Lab makes namespaces and veth pairs with the process's id in their names, starts hectod in a
namespace of its own, and takes all of it away again, also after a failure. Nothing is left in, or
taken from, the machine's own namespace: Linux's limits of neighbors, which hectod raises for the
whole machine, are put back.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import yaml

BUILD = Path(os.environ.get("HECTO_BUILD", Path(__file__).parents[2] / "build"))
HECTOD = BUILD / "router" / "hectod"
HECTO = BUILD / "router" / "cli" / "hecto"
SANITIZED = "asan" in BUILD.name or bool(os.environ.get("HECTO_SANITIZED"))
# Patience, under a sanitizer or in an emulated machine.
SLOWER = int(os.environ.get("HECTO_SLOWER", 4 if SANITIZED else 1))


# What `ip` says beside its answer while somebody else just makes or removes a namespace.
OTHERS_NAMESPACE = "Error: Peer netns reference is invalid.\n"


def sh(command, check=True, timeout=60, **more):
    """One command, its output as text; with `check`, a failure shows what it said."""
    words = command.split() if isinstance(command, str) else [str(word) for word in command]
    run = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         errors="replace", timeout=timeout, **more)
    if check and run.returncode != 0:
        raise AssertionError(f"{' '.join(words)}: exit code {run.returncode}\n{run.stdout[-2000:]}")
    return run.stdout.replace(OTHERS_NAMESPACE, "")


def wait_for(condition, timeout=10.0, what="", step=0.05):
    """Polls until the condition is true; returns what it gave."""
    end = time.monotonic() + timeout * SLOWER
    last = None
    while True:
        try:
            last = condition()
            if last:
                return last
        except (AssertionError, OSError, KeyError, IndexError) as error:
            last = error
        if time.monotonic() > end:
            raise AssertionError(f"after {timeout * SLOWER:g} s still not: {what}; last: {last!r}")
        time.sleep(step)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Namespace:
    def __init__(self, lab, name):
        self.lab = lab
        self.name = f"{lab.prefix}{name}"
        sh(["ip", "netns", "add", self.name])
        lab.cleanups.append(self.remove)
        self.sh("sysctl -qw net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 "
                "net.ipv6.conf.default.router_solicitations=0")
        self.sh("ip link set lo up")

    def words(self, command):
        words = command.split() if isinstance(command, str) else [str(word) for word in command]
        return ["nsenter", f"--net=/run/netns/{self.name}", "--", *words]

    def sh(self, command, **more):
        return sh(self.words(command), **more)

    def start(self, command, **more):
        """A process in the background; it ends with the lab."""
        more.setdefault("stdout", subprocess.DEVNULL)
        more.setdefault("stderr", subprocess.DEVNULL)
        process = subprocess.Popen(self.words(command), **more)
        self.lab.cleanups.append(lambda: end(process))
        return process

    def remove(self):
        sh(["ip", "netns", "del", self.name], check=False)


class Host(Namespace):
    """A namespace with one wire: e0 here, `port` in the router's namespace."""

    def __init__(self, lab, name, router_space, port, addresses, gateways=(), mtu=1500):
        super().__init__(lab, name)
        self.port = port
        sh(["ip", "link", "add", "e0", "netns", self.name, "mtu", mtu, "type", "veth",
            "peer", "name", port, "netns", router_space.name, "mtu", mtu])
        # Checksums that the veth leaves to hardware would reach the router unfinished.
        self.sh("ethtool -K e0 tx off", check=False)
        router_space.sh(["ip", "link", "set", port, "up"])
        self.sh("ip link set e0 up")
        for address in addresses:
            self.sh(["ip", "address", "add", address, "dev", "e0"]
                    + (["nodad"] if ":" in address else []))
        for gateway in gateways:
            self.sh(["ip", "route", "add", "default", "via", gateway])

    @property
    def mac(self):
        return json.loads(self.sh("ip -json link show e0"))[0]["address"]

    def ping(self, address, *options, count=3, timeout=2, ok=True):
        out = self.sh(["ping", "-n", "-i", "0.1", "-c", count, "-W", timeout, *options, address],
                      check=False)
        if ok:
            assert f" {count} received" in out, out
        return out


class Router:
    """hectod in a namespace that holds its kernel ports; Linux's side is another namespace."""

    def __init__(self, lab, name, space):
        self.lab, self.space, self.name = lab, space, name
        self.folder = lab.folder / name
        self.folder.mkdir()
        self.file = self.folder / "hecto.yaml"
        self.log_file = self.folder / "log"
        self.socket = self.folder / "api.sock"
        self.linux = f"{lab.prefix}{name}l"
        self.process = None

    def write(self, config):
        """The configuration, with the test's own socket and namespace where it names none."""
        config = dict(config)
        config.setdefault("api", {"socket": str(self.socket)})
        config.setdefault("linux", {"namespace": self.linux})
        self.file.write_text(yaml.safe_dump(config, sort_keys=False))
        return config

    def start(self, config, wait=True, prefix=()):
        self.write(config)
        self.launch(prefix)
        if wait:
            self.wait_ready()
        return self

    def launch(self, prefix=()):
        with open(self.log_file, "a") as log:
            self.process = subprocess.Popen(
                self.space.words([*prefix, HECTOD, self.file]), stdout=log, stderr=log,
                env=dict(os.environ, STATE_DIRECTORY=str(self.folder / "state")))

    def wait_ready(self, timeout=20):
        def ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"hectod ended with {self.process.poll()}:\n{self.log()}")
            return self.get("/v1/summary")
        wait_for(ready, timeout, "hectod answers")
        return self

    def how_it_is(self):
        code = self.process.poll() if self.process else None
        return "" if code is None else f", which ended with {code}"

    def log(self):
        return self.log_file.read_text(errors="replace") if self.log_file.exists() else ""

    def request(self, method, path, body=None, timeout=60):
        connection = UnixConnection(self.socket, timeout * SLOWER)
        try:
            data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
            connection.request(method, path, body=data)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        finally:
            connection.close()

    def get(self, path):
        status, answer = self.request("GET", path)
        assert status == 200, f"{path}: {status} {answer}"
        return answer

    def cli(self, *words, check=True, timeout=60):
        return sh([HECTO, "--socket", self.socket, *words], check=check, timeout=timeout)

    def linux_sh(self, command, **more):
        words = command.split() if isinstance(command, str) else [str(word) for word in command]
        return sh(["nsenter", f"--net=/run/netns/{self.linux}", "--", *words], **more)

    def dropped(self, reason):
        return sum(d["packets"] for d in self.get("/v1/drops")["drops"] if d["reason"] == reason)

    def punted(self, reason):
        return sum(p["packets"] for p in self.get("/v1/drops")["punts"] if p["reason"] == reason)

    def explain(self, address):
        return self.get(f"/v1/routes?address={address}")

    def route_count(self, protocol="boot"):
        """Routes of one protocol; `boot` are those that a person adds with `ip route`."""
        return self.get("/v1/routes?limit=1")["counts"]["by_protocol"].get(protocol, 0)

    def neighbor(self, address):
        for entry in self.get("/v1/neighbors")["neighbors"]:
            if entry["address"] == address:
                return entry
        return None

    def has_neighbor(self, address):
        entry = self.neighbor(address)
        return entry if entry and entry["usable"] else None

    def check_balance(self):
        """received + injected = transmitted + punted + dropped, once nothing is under way."""
        def balanced():
            t = self.get("/v1/drops")["totals"]
            assert t["in_flight"] == 0, t
            came = t["received"] + t["injected"] + t["fragments"] + t["copies"]
            went = t["transmitted"] + t["punted"] + t["dropped"]
            assert came == went, t
            return t
        return wait_for(balanced, 5, "every packet is accounted for")

    def stop(self, code=0, timeout=30):
        """Ends it in order; a leak, a crash or a sanitizer's report fails the test."""
        process, self.process = self.process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            ended = process.wait(timeout * SLOWER)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"hectod did not end:\n{self.log()[-3000:]}") from None
        log = self.log()
        assert ended == code, f"hectod ended with {ended}:\n{log[-6000:]}"
        for bad in ("did not come back", "AddressSanitizer", "LeakSanitizer", "runtime error:",
                    "is not on the list"):
            assert bad not in log, log[-6000:]

    def finish(self):
        if self.process is None:
            return
        if self.process.poll() is None:
            self.check_balance()
        self.stop()


class NeighborLimits:
    """Those of the machine, as they are now. Only its first network namespace has them."""
    NAMES = [f"net.{family}.neigh.default.gc_thresh{number}"
             for family in ("ipv4", "ipv6") for number in (1, 2, 3)]

    def __init__(self):
        self.values = []
        for where in ([], ["--net=/proc/1/ns/net"], ["--net=/proc/2/ns/net"]):
            self.words = ["nsenter", *where, "--"] if where else []
            out = sh([*self.words, "sysctl", "-e", *self.NAMES], check=False)
            self.values = [line.replace(" ", "") for line in out.splitlines()
                           if line.startswith("net.") and " = " in line]
            if self.values:
                return

    def put_back(self):
        if self.values:
            sh([*self.words, "sysctl", "-qw", *self.values], check=False)


class Lab:
    born = 0

    def __init__(self):
        Lab.born += 1
        self.prefix = f"he{os.getpid()}-{Lab.born}"
        self.folder = Path(tempfile.mkdtemp(prefix="hecto-e2e-"))
        self.limits = NeighborLimits()
        self.cleanups = []
        self.routers = []

    def namespace(self, name):
        return Namespace(self, name)

    def host(self, *arguments, **more):
        return Host(self, *arguments, **more)

    def router(self, name="r", space=None):
        router = Router(self, name, space or Namespace(self, f"{name}x"))
        self.routers.append(router)
        return router

    def close(self, check):
        try:
            return self.take_away(check)
        finally:
            self.limits.put_back()

    def take_away(self, check):
        problems = []
        for router in self.routers:
            if check:
                try:
                    router.finish()
                except AssertionError as error:
                    problems.append(f"{router.name}: {error}")
            if router.process is not None and router.process.poll() is None:
                router.process.send_signal(signal.SIGTERM)
                end(router.process)
        for cleanup in reversed(self.cleanups):
            cleanup()
        for router in self.routers:  # where hectod was killed
            sh(["ip", "netns", "del", router.linux], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)
        return problems

    def logs(self):
        return "\n".join(f"--- {router.name}{router.how_it_is()}\n{router.log()[-6000:]}"
                         for router in self.routers)


def end(process):
    try:
        process.wait(0.01)
        return
    except subprocess.TimeoutExpired:
        process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
