"""Routers with bonds between them, or with hosts at their members' ends that speak LACP.

  HOST a ─ va │ r1 │ m0 ══ m0 │ r2 │ vb ─ HOST b
   10.1.0.1   │    │ m1 ══ m1 │    │     10.2.0.1
                 10.9.0.1  10.9.0.2
"""

import json
import time
from types import SimpleNamespace

from lab import sh, wait_for
from wire import Wire

SLOW_PROTOCOLS = "01:80:c2:00:00:02"
WAIT = 20  # seconds for LACP to come to terms: 2 of waiting, and its rounds


def bond(router, name="uplink"):
    return next(b for b in router.get("/v1/bonds")["bonds"] if b["name"] == name)


def member(router, device):
    return next(m for m in bond(router)["members"] if m["device"] == device)


def states(router):
    return [m["state"] for m in bond(router)["members"]]


def wait_active(router, count, timeout=WAIT):
    return wait_for(lambda: bond(router)["active"] == count and bond(router), timeout,
                    f"{count} members are active")


def cable(space, end, other_space, other_end):
    sh(["ip", "link", "add", end, "netns", space.name, "type", "veth",
        "peer", "name", other_end, "netns", other_space.name])
    for where, name in ((space, end), (other_space, other_end)):
        where.sh(f"ethtool -K {name} tx off", check=False)
        where.sh(f"ip link set {name} up")


def in_counts(space, devices):
    """Packets that came in by each, as Linux counts them."""
    return [json.loads(space.sh(f"ip -json -s link show {d}"))[0]["stats64"]["rx"]["packets"]
            for d in devices]


def config_of(side, members, **keys):
    here, there = ("1", "2") if side == 1 else ("2", "1")
    port = "a0" if side == 1 else "b0"
    return {"ports": {port: {"device": f"v{port[0]}", "addresses": [f"10.{here}.0.254/24"]},
                      "uplink": {"bond": {"members": members, **keys},
                                 "addresses": [f"10.9.0.{here}/24"]}},
            "routes": [{"to": f"10.{there}.0.0/24", "via": f"10.9.0.{there}"}]}


def make_two(lab, members=2, start=True, **keys):
    r1, r2 = lab.router("r1"), lab.router("r2")
    names = [f"m{i}" for i in range(members)]
    for name in names:
        cable(r1.space, name, r2.space, name)
    a = lab.host("a", r1.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
    b = lab.host("b", r2.space, "vb", ["10.2.0.1/24"], ["10.2.0.254"])
    bed = SimpleNamespace(lab=lab, r1=r1, r2=r2, a=a, b=b, names=names,
                          one=config_of(1, names, **keys), two=config_of(2, names, **keys))
    if start:
        r1.start(bed.one)
        r2.start(bed.two)
    return bed


def passes(bed):
    wait_for(lambda: bed.a.ping("10.2.0.1", count=1, timeout=1), 10, "packets pass")


class Peers:
    """What a host at the end of each member's wire sends and hears."""

    def __init__(self, lab, router, names):
        self.hosts = [lab.host(f"p{i}", router.space, name, []) for i, name in enumerate(names)]


def start_alone(lab, members=2, **keys):
    router = lab.router()
    names = [f"m{i}" for i in range(members)]
    hosts = Peers(lab, router, names).hosts
    router.start({"ports": {"uplink": {"bond": {"members": names, **keys},
                                       "addresses": ["10.9.0.1/24"]}}})
    return router, hosts


def lacpdu(system, key, port, actor_state, partner=None, bytes_=124):
    def party(kind, who):
        priority, mac, k, port_priority, number, state = who
        return (bytes([kind, 20]) + priority.to_bytes(2, "big") + bytes.fromhex(mac.replace(":", ""))
                + k.to_bytes(2, "big") + port_priority.to_bytes(2, "big") + number.to_bytes(2, "big")
                + bytes([state, 0, 0, 0]))
    body = (b"\x01\x01" + party(1, (32768, system, key, 255, port, actor_state))
            + party(2, partner or (0, "00:00:00:00:00:00", 0, 0, 0, 0)) + bytes([3, 16]) + bytes(14))
    frame = bytes.fromhex("0180c2000002" + system.replace(":", "")) + b"\x88\x09" + body
    return frame.ljust(124, b"\0")[:bytes_]


def answer(hosts, systems, seconds, key=7):
    """Plays the other end: each host answers what it hears, as a port of its system."""
    wires = [Wire(host).__enter__() for host in hosts]
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            for number, (wire, system) in enumerate(zip(wires, systems)):
                for heard in wire.receive(lambda f: f.dst == SLOW_PROTOCOLS, 1, 0.15):
                    raw = bytes(heard)
                    actor = (int.from_bytes(raw[18:20], "big"), raw[20:26].hex(":"),
                             int.from_bytes(raw[26:28], "big"), int.from_bytes(raw[28:30], "big"),
                             int.from_bytes(raw[30:32], "big"), raw[32])
                    state = 0x3f if raw[32] & 0x08 else 0x0f
                    wire.send(lacpdu(system, key, number + 1, state, actor))
    finally:
        for wire in wires:
            wire.__exit__()
