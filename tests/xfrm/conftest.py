"""The bed: hectod with charon in one guest, a plain Linux with charon in another, a host behind each.

      host (namespace w)                router (guest)                        peer (guest)
    10.1.0.1  rl ── TAP ── eth1 [lan0  hectod  wan0] eth0 ── TAP ─┐     ┌─ TAP ── eth0  10.94.0.2
                                       │ namespace hecto          br0 (w)          lo  10.2.0.1
                             TAP lan0, wan0 10.94.0.254                        kernel ESP, charon,
                             charon, kernel with ESP                           iperf3 -s
"""

import json
import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import lab as labs  # noqa: E402
import uml  # noqa: E402

PLUGINS = ("random nonce openssl aes sha1 sha2 hmac gcm kdf pem pkcs1 x509 constraints pubkey "
           "kernel-netlink socket-default vici updown")
# What differs from CONNECTION and CHILD; a test brings one up.
CONNECTIONS = {
    "plain": ({}, {}),
    "rekey": ({}, {"rekey_time": "2s", "life_time": "30s"}),
    "volume": ({}, {"rekey_bytes": 400000, "life_bytes": 40000000}),
    "natt": ({"encap": "yes"}, {}),
    "cbc": ({}, {"esp_proposals": "aes256-sha256-noesn"}),
    "dpd": ({"dpd_delay": "1s"}, {"dpd_action": "clear"}),
    "trap": ({}, {}),
    "idle": ({}, {"inactivity": "4s"}),
}
CHILD = {"esp_proposals": "aes128gcm16-esn", "rekey_time": "0s", "life_time": "0s",
         "rand_time": "0s", "rand_bytes": 0, "replay_window": 128}


def settings(name, side, other):
    connection, child = CONNECTIONS[name]
    lines = {"version": 2, "proposals": "aes128-sha256-x25519", "mobike": "no", "local_addrs": side.address,
             "remote_addrs": other.address, **connection}
    child = {"local_ts": side.inside, "remote_ts": other.inside, **CHILD, **child}
    body = "\n".join(f"  {key} = {value}" for key, value in lines.items())
    inner = "\n".join(f"    {key} = {value}" for key, value in child.items())
    return (f" {name} {{\n{body}\n  local {{\n   auth = psk\n   id = {side.name}@{name}\n  }}\n"
            f"  remote {{\n   auth = psk\n   id = {other.name}@{name}\n  }}\n"
            f"  children {{\n   {name} {{\n{inner}\n   }}\n  }}\n }}\n")


class Side:
    """A guest with charon, in a namespace of the guest's (or none)."""

    def __init__(self, bed, name, taps, address, inside, memory_mb):
        self.bed, self.name, self.address, self.inside = bed, name, address, inside
        self.prefix = []
        self.guest = uml.Guest(name, bed.lab.folder, bed.host, taps, memory_mb)

    def sh(self, command, **more):
        """In the namespace of Linux's side."""
        words = command.split() if isinstance(command, str) else [str(word) for word in command]
        return self.guest.sh([*self.prefix, *words], **more)

    def start_charon(self, other):
        folder = self.bed.lab.folder
        (folder / f"{self.name}.strongswan").write_text(
            f"charon {{\n load_modular = no\n load = {PLUGINS}\n retransmit_timeout = 1\n"
            " retransmit_base = 1\n retransmit_tries = 3\n"
            " filelog {\n  log {\n   path = /run/charon.log\n   default = 1\n   knl = 2\n"
            "   flush_line = yes\n  }\n }\n"
            " plugins {\n  vici {\n   socket = unix:///run/charon.vici\n  }\n }\n}\n")
        ids = [f"{side}@{name}" for side in ("router", "peer") for name in CONNECTIONS]
        (folder / f"{self.name}.swanctl").write_text(
            "connections {\n" + "".join(settings(name, self, other) for name in CONNECTIONS)
            + "}\nsecrets {\n ike {\n  secret = a-secret-of-the-bed\n"
            + "".join(f"  id-{number} = {id}\n" for number, id in enumerate(ids)) + " }\n}\n")
        self.guest.spawn(" ".join(["env", f"STRONGSWAN_CONF={folder}/{self.name}.strongswan",
                                   *self.prefix, "/usr/lib/ipsec/charon"]), "/run/charon.out")

    def load(self):
        labs.wait_for(lambda: self.swanctl("--stats"), 30, f"charon of {self.name} answers", 0.5)
        self.swanctl("--load-all", "--file", self.bed.lab.folder / f"{self.name}.swanctl")

    def swanctl(self, *words, check=True):
        return self.guest.sh(["swanctl", *words, "--uri", "unix:///run/charon.vici"], check=check)

    def spis(self):
        return set(re.findall(r"proto esp spi (0x[0-9a-f]+)", self.sh("ip xfrm state")))

    def logs(self):
        said = [f"--- {self.name}: {file}\n" + self.guest.sh(["tail", "-n", "30", file],
                                                             check=False)
                for file in ("/run/charon.log", "/run/hectod.log")]
        return "\n".join([*said, self.sh("ip -s xfrm state", check=False)])


class Bed:
    def __init__(self):
        self.lab = labs.Lab()
        self.host = self.lab.namespace("w")
        for command in ("ip link add br0 type bridge", "ip link set br0 up"):
            self.host.sh(command)
        for tap in ("rw", "rl", "pw"):
            self.host.sh(f"ip tuntap add {tap} mode tap")
            self.host.sh(f"ip link set {tap} up")
            if tap != "rl":
                self.host.sh(f"ip link set {tap} master br0")
        self.host.sh("ip address add 10.1.0.1/24 dev rl")
        self.host.sh("ip route add 10.2.0.0/16 via 10.1.0.254")
        self.sides = []

    def boot(self):
        self.router = Side(self, "router", ["rw", "rl"], "10.94.0.254", "10.1.0.0/16", 640)
        self.peer = Side(self, "peer", ["pw"], "10.94.0.2", "10.2.0.0/16", 256)
        self.sides = [self.router, self.peer]
        for side in self.sides:
            side.guest.wait_up()
        self.start_router()
        for command in ("ip link set eth0 up", "ip address add 10.94.0.2/24 dev eth0",
                        "ip address add 10.2.0.1/32 dev lo"):
            self.peer.sh(command)
        self.peer.guest.spawn("iperf3 -s")
        self.peer.start_charon(self.router)
        self.router.start_charon(self.peer)
        for side in self.sides:
            side.load()

    def start_router(self):
        guest = self.router.guest
        file = self.lab.folder / "hecto.yaml"
        file.write_text(labs.yaml.safe_dump({
            "memory": "128MiB", "idle_sleep_us": 1000, "tables": {"ipv4_engine": "compact"}, "api": {"socket": "/run/api.sock"},
            "linux": {"namespace": "hecto"},
            "ports": {"wan0": {"device": "net_af_packet0,iface=eth0",
                               "addresses": ["10.94.0.254/24"]},
                      "lan0": {"device": "net_af_packet1,iface=eth1",
                               "addresses": ["10.1.0.254/24"]}}}))
        for device in ("eth0", "eth1"):
            guest.sh(f"ip link set {device} up promisc on")
        guest.spawn(f"{labs.HECTOD} {file}", "/run/hectod.log")
        try:
            labs.wait_for(lambda: self.api("summary"), 40, "hectod answers", 0.3)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{guest.sh('cat /run/hectod.log')}") from None
        self.router.prefix = ["nsenter", "--net=/run/netns/hecto", "--"]
        self.router.sh("ip route add 10.2.0.0/16 via 10.94.0.2")

    def get(self, noun):
        return self.router.guest.get("/run/api.sock", f"/v1/{noun}")

    def api(self, noun):
        status, body = self.get(noun)
        assert status == 200, body
        return json.loads(body)

    def ping(self, *options, count=5, address="10.2.0.1", timeout=60):
        out = self.host.sh(["ping", "-n", "-q", "-i", "0.1", "-W", 2, "-c", count, *options,
                            address], check=False, timeout=timeout)
        found = re.search(r"(\d+) packets transmitted, (\d+) received", out)
        return tuple(int(number) for number in found.groups()) if found else (count, 0)

    def initiate(self, name):
        out = self.router.swanctl("--initiate", "--child", name, "--timeout", 20)
        assert "initiate completed successfully" in out, out

    def terminate_all(self):
        for name in set(re.findall(r"^(\w+): #", self.router.swanctl("--list-sas"), re.M)):
            self.router.swanctl("--terminate", "--ike", name, "--force", "--timeout", 2,
                                check=False)

    def drops(self):
        return {drop["reason"]: drop["packets"] for drop in self.api("drops")["drops"]}

    def punted(self):
        return self.api("drops")["totals"]["punted"]

    def logs(self):
        return "\n".join([*(side.logs() for side in self.sides), json.dumps(self.api("drops"))])

    def close(self):
        for side in self.sides:
            side.guest.end()
        self.lab.close(check=False)


@pytest.fixture(scope="session")
def whole_bed():
    reason = uml.missing()
    if reason:
        pytest.skip(reason)
    bed = Bed()
    try:
        bed.boot()
        yield bed
    except BaseException:
        for side in bed.sides:
            print(side.guest.console())
        raise
    finally:
        bed.close()


@pytest.fixture
def bed(whole_bed):
    yield whole_bed
    whole_bed.terminate_all()
    labs.wait_for(lambda: not whole_bed.router.spis() and not whole_bed.peer.spis(), 20,
                  "the SAs are gone")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    bed = item.funcargs.get("whole_bed") if hasattr(item, "funcargs") else None
    if report.failed and call.when == "call" and bed is not None:
        report.sections.append(("the guests' logs", bed.logs()))
