"""Bonds: LACP with another hectod and with Open vSwitch, members that come and go, packets by member.

  HOST a ─ va │ r1 │ m0 ══ m0 │ r2 │ vb ─ HOST b
   10.1.0.1   │    │ m1 ══ m1 │    │     10.2.0.1
                 10.9.0.1  10.9.0.2
"""

import json
import os
import shutil
import time
from types import SimpleNamespace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from lab import sh, wait_for
from service_manager import ServiceManager
from stream import Stream
from test_instances import refused
from test_restart import Monitor, links
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


@pytest.fixture
def two(lab):
    bed = make_two(lab, lacp_rate="fast")
    wait_active(bed.r1, 2)
    wait_active(bed.r2, 2)
    passes(bed)
    return bed


def send_flows(bed, flows=256):
    mac = next(p["mac"] for p in bed.r1.get("/v1/ports")["ports"] if p["name"] == "a0")
    with Wire(bed.a) as wire, Wire(bed.b) as far:
        for number in range(flows):
            wire.send(Ether(dst=mac) / IP(src="10.1.0.1", dst="10.2.0.1")
                      / UDP(sport=10_000 + number, dport=7) / b"balance")
        got = far.receive(lambda f: UDP in f and f[UDP].dport == 7, flows, 5)
    assert len(got) == flows


def test_lacp_between_two_routers(two):
    mine, theirs = bond(two.r1), bond(two.r2)
    assert mine["up"] and theirs["up"] and mine["mode"] == "lacp" and mine["hash"] == "layer3+4"
    for here, there in ((mine, theirs), (theirs, mine)):
        for each in here["members"]:
            actor, partner = each["lacp"]["actor"], each["lacp"]["partner"]
            assert actor["system"] == here["mac"] and partner["system"] == there["mac"]
            assert partner["collecting"] and partner["distributing"] and partner["rate"] == "fast"
            assert each["trouble"] == []
    # The MAC of the first member is the bond's, and every member has it.
    for name in two.names:
        link = json.loads(two.r1.space.sh(f"ip -json link show {name}"))[0]
        assert link["address"] == mine["mac"]
    text = two.r1.cli("show", "bonds")
    assert "uplink: lacp, layer3+4, LACPDUs fast, up, 2 of 2 active" in text, text
    assert theirs["mac"] in text and "!" not in text
    port = next(p for p in two.r1.get("/v1/ports")["ports"] if p["name"] == "uplink")
    assert port["driver"] == "net_bonding" and port["device"] == "bond of m0, m1"
    assert port["link"]["up"] and port["mac"] == mine["mac"]
    two.a.ping("10.2.0.1", "-s", "1400")


def test_flows_go_over_both_members_and_each_stays_on_one(two):
    before = in_counts(two.r2.space, two.names)
    send_flows(two)
    shares = [now - was for now, was in zip(in_counts(two.r2.space, two.names), before)]
    assert sum(shares) >= 256 and min(shares) >= 64, shares
    # One flow: one member.
    before = in_counts(two.r2.space, two.names)
    with Stream(two.a, two.b, "10.2.0.1", rate=1000) as stream:
        time.sleep(1)
    stream.expect_no_loss()
    shares = sorted(now - was for now, was in zip(in_counts(two.r2.space, two.names), before))
    assert shares[0] < 20 and shares[1] >= stream.sent, shares
    shown = [m["rx"]["packets"] for m in bond(two.r2)["members"]]
    assert max(shown) >= stream.sent, shown


def test_lacpdus_leave_also_when_idle(two):
    """No packet but LACPDUs for longer than the timeout of the fast rate, while workers wait or sleep."""
    sent = [m["lacp"]["sent"] for m in bond(two.r1)["members"]]
    time.sleep(5)
    for router in (two.r1, two.r2):
        assert bond(router)["active"] == 2
        assert all(m["changes"] == 0 for m in bond(router)["members"]), bond(router)
    for was, each in zip(sent, bond(two.r1)["members"]):
        assert 4 <= each["lacp"]["sent"] - was <= 8


@pytest.mark.parametrize("idle", ["interrupt", "poll"])
def test_lacp_whatever_workers_do_between_packets(lab, idle):
    bed = make_two(lab, start=False, lacp_rate="fast")
    bed.one["idle"] = bed.two["idle"] = idle
    bed.r1.start(bed.one)
    bed.r2.start(bed.two)
    wait_active(bed.r1, 2)
    passes(bed)
    time.sleep(4)
    assert bond(bed.r1)["active"] == bond(bed.r2)["active"] == 2
    assert all(m["changes"] == 0 for m in bond(bed.r1)["members"])


def test_member_dies_under_load(two, capsys):
    """At most the packets that are in flight are lost, and none when it is back."""
    rate = 4000
    for victim, space in zip(two.names * 2, [two.r1.space] * 2 + [two.r2.space] * 2):
        with Stream(two.a, two.b, "10.2.0.1", rate=rate) as stream:
            time.sleep(0.5)
            space.sh(f"ip link set {victim} down")
            time.sleep(1)
        with capsys.disabled():
            print(f"\n{victim} dies: {stream.lost} of {stream.sent} packets at {rate} pps lost", end=" ")
        assert stream.lost <= rate * 0.06 and stream.twice == 0, (stream.lost, stream.gaps)
        wait_for(lambda: member(two.r1, victim)["state"] == "no link", 3, "its state")
        assert bond(two.r1)["active"] == 1 and bond(two.r1)["up"]
        with Stream(two.a, two.b, "10.2.0.1", rate=rate) as stream:
            space.sh(f"ip link set {victim} up")
            wait_active(two.r1, 2)
            wait_active(two.r2, 2)
        with capsys.disabled():
            print(f"and is back: {stream.lost} of {stream.sent}", end=" ")
        stream.expect_no_loss()


def test_all_members_down_and_routes_follow(two):
    for name in two.names:
        two.r2.space.sh(f"ip link set {name} down")
    wait_for(lambda: not bond(two.r1)["up"], 5, "the bond is down")
    assert states(two.r1) == ["no link", "no link"]
    port = next(p for p in two.r1.get("/v1/ports")["ports"] if p["name"] == "uplink")
    assert not port["link"]["up"]
    wait_for(lambda: "NO-CARRIER" in two.r1.linux_sh("ip link show uplink"), 5, "Linux's twin")
    wait_for(lambda: "usable" not in json.dumps(two.r1.explain("10.2.0.1"))
             or "10.2.0.0/24" not in json.dumps(two.r1.explain("10.2.0.1").get("used", {})), 5, "no way")
    dropped = two.r1.get("/v1/drops")["totals"]["dropped"]
    two.a.ping("10.2.0.1", count=3, ok=False)
    for name in reversed(two.names):
        two.r2.space.sh(f"ip link set {name} up")
    wait_active(two.r1, 2)
    wait_active(two.r2, 2)
    passes(two)
    assert two.r1.get("/v1/drops")["totals"]["dropped"] >= dropped


def test_min_links(lab):
    bed = make_two(lab, members=3, min_links=2, lacp_rate="fast")
    wait_active(bed.r1, 3)
    passes(bed)
    bed.r1.space.sh("ip link set m0 down")
    wait_active(bed.r1, 2, 5)
    assert bond(bed.r1)["up"]
    bed.r1.space.sh("ip link set m1 down")
    wait_for(lambda: not bond(bed.r1)["up"], 5, "fewer than min_links")
    assert any("min_links wants 2" in line for line in bond(bed.r1)["trouble"])
    bed.r1.space.sh("ip link set m1 up")
    wait_for(lambda: bond(bed.r1)["up"], WAIT, "enough again")
    passes(bed)


@pytest.mark.parametrize("mode", ["active-backup", "balance-xor", "round-robin"])
def test_modes_without_a_protocol(lab, mode):
    keys = {"mode": mode}
    if mode == "active-backup":
        keys["primary"] = "m1"
    bed = make_two(lab, **keys)
    wait_active(bed.r1, 2, 5)
    wait_active(bed.r2, 2, 5)
    passes(bed)
    before = in_counts(bed.r2.space, bed.names)
    send_flows(bed)
    shares = [now - was for now, was in zip(in_counts(bed.r2.space, bed.names), before)]
    if mode == "active-backup":
        assert states(bed.r1) == ["standby", "active"]
        assert shares[0] < 20 and shares[1] >= 256, shares
    else:
        assert min(shares) >= 64, shares
    bed.r1.space.sh("ip link set m1 down")
    wait_active(bed.r1, 1, 5)
    wait_active(bed.r2, 1, 5)
    bed.a.ping("10.2.0.1")
    bed.r1.space.sh("ip link set m1 up")
    wait_active(bed.r1, 2, 5)
    wait_active(bed.r2, 2, 5)
    bed.a.ping("10.2.0.1")
    if mode == "active-backup":
        wait_for(lambda: states(bed.r1) == ["standby", "active"], 5, "the primary is used again")
    warned = any("out of order" in line for line in bond(bed.r1)["trouble"])
    assert warned == (mode == "round-robin")


def test_one_member(lab):
    bed = make_two(lab, members=1)
    wait_active(bed.r1, 1)
    passes(bed)
    bed.r1.space.sh("ip link set m0 down")
    wait_for(lambda: not bond(bed.r1)["up"], 5, "down")
    bed.r1.space.sh("ip link set m0 up")
    wait_active(bed.r1, 1)
    passes(bed)


def test_member_is_deleted_and_made_again(two):
    two.r1.space.sh("ip link del m0")
    wait_for(lambda: states(two.r1)[0] == "gone", 5, "it is gone")
    assert any("gone" in line for line in member(two.r1, "m0")["trouble"])
    two.a.ping("10.2.0.1")
    cable(two.r1.space, "m0", two.r2.space, "m0")
    wait_active(two.r1, 2)
    wait_active(two.r2, 2)
    two.a.ping("10.2.0.1")


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


def test_partner_without_lacp(lab):
    router, hosts = start_alone(lab, lacp_rate="fast")
    hosts[0].sh("ip addr add 10.9.0.9/24 dev e0")
    time.sleep(4)
    shown = bond(router)
    assert not shown["up"] and shown["active"] == 0
    for each in shown["members"]:
        assert each["state"] == "waits" and "no LACP heard" in each["trouble"][0]
    hosts[0].ping("10.9.0.1", count=1, timeout=1, ok=False)
    assert "! m0: no LACP heard" in router.cli("show", "bonds")
    # And Linux knows.
    assert "NO-CARRIER" in router.linux_sh("ip link show uplink")


@pytest.mark.parametrize("stray", [1, 0], ids=["second", "heard first"])
def test_member_that_leads_elsewhere_stays_out(lab, stray):
    router, hosts = start_alone(lab, members=3, lacp_rate="fast")
    here, there = "02:00:00:00:99:01", "02:00:00:00:99:02"
    answer(hosts[:1], [there if stray == 0 else here], 1)
    answer(hosts, [there if i == stray else here for i in range(3)], 7)
    shown = bond(router)
    assert [m["state"] for m in shown["members"]] == \
        ["waits" if i == stray else "active" for i in range(3)], shown
    assert shown["members"][stray]["trouble"] == [f"leads to system {there}, the others to {here}"]
    assert shown["members"][2]["lacp"]["partner"]["key"] == 7


def test_cut_and_forged_lacpdus(lab):
    router, hosts = start_alone(lab, lacp_rate="fast")
    system = "02:00:00:00:99:01"
    answer(hosts, [system] * 2, 6)
    assert bond(router)["active"] == 2
    with Wire(hosts[0]) as wire:
        for bytes_ in (15, 20, 60, 100, 123):  # cut
            wire.send(lacpdu(system, 7, 1, 0x3f, bytes_=bytes_))
            time.sleep(0.15)  # one in a round is looked at
        for _ in range(200):  # and many, of another system
            wire.send(lacpdu("02:00:00:00:66:66", 9, 5, 0x3f))
        wire.send(bytes.fromhex("0180c2000002020000000001") + b"\x88\x09\x02" + os.urandom(109))
        wire.send(bytes.fromhex("0180c2000002020000000001") + b"\x88\x09\xff" + os.urandom(109))
    answer(hosts, [system] * 2, 3)
    shown = bond(router)
    assert shown["members"][0]["lacp"]["damaged"] >= 4
    assert shown["members"][1]["state"] == "active" and shown["members"][1]["changes"] == 0
    answer(hosts, [system] * 2, 6)
    assert bond(router)["active"] == 2


def test_flapping_member_is_told(lab):
    bed = make_two(lab, lacp_rate="fast")
    wait_active(bed.r1, 2)
    passes(bed)
    with Stream(bed.a, bed.b, "10.2.0.1", rate=1000) as stream:
        for _ in range(12):
            bed.r2.space.sh("ip link set m1 down")
            time.sleep(0.15)
            bed.r2.space.sh("ip link set m1 up")
            time.sleep(0.25)
    wait_active(bed.r1, 2)
    for _ in range(2):
        bed.r2.space.sh("ip link set m1 down")
        wait_active(bed.r1, 1)
        bed.r2.space.sh("ip link set m1 up")
        wait_active(bed.r1, 2)
    shown = member(bed.r1, "m1")
    assert shown["changes"] >= 4 and shown["last_change_s"] < 30
    assert any(line.startswith("flaps: in and out") for line in shown["trouble"])
    assert member(bed.r1, "m0")["changes"] == 0
    assert stream.lost <= stream.sent * 0.2


def test_member_that_another_router_uses(two):
    other = two.lab.folder / "other.yaml"
    other.write_text(f"ports: {{x0: {{device: m1}}}}\napi: {{socket: {two.lab.folder}/other.sock}}\n"
                     f"linux: {{namespace: {two.r1.linux}o}}\n")
    assert "port x0 (m1)" in refused(two.r1, other)
    assert bond(two.r1)["active"] == 2


def test_reload_with_bonds(lab):
    bed = make_two(lab, lacp_rate="fast")
    wait_active(bed.r1, 2)
    passes(bed)
    wanted = json.loads(json.dumps(bed.one))
    wanted["ports"]["uplink"]["bond"]["members"] = ["m0"]
    bed.r1.write(wanted)
    said = bed.r1.cli("reload", check=False)
    assert "ports.uplink.bond" in said and "cannot change while running" in said, said
    assert bond(bed.r1)["active"] == 2
    # Addresses, and the bond's end and a new one.
    wanted = json.loads(json.dumps(bed.one))
    wanted["ports"]["uplink"]["addresses"].append("10.9.0.101/24")
    bed.r1.write(wanted)
    bed.r1.cli("reload")
    bed.r1.write({"ports": {"a0": bed.one["ports"]["a0"]}})
    bed.r1.cli("reload")
    assert bed.r1.get("/v1/bonds") == {"bonds": []}
    assert "no port is a bond" in bed.r1.cli("show", "bonds")
    wait_for(lambda: not bond(bed.r2)["up"], WAIT, "the other end notices")
    bed.r1.write(bed.one)
    bed.r1.cli("reload")
    wait_active(bed.r1, 2)
    wait_active(bed.r2, 2)
    passes(bed)


def test_mtu_changes_while_up(two):
    for mtu in (1400, 1500):
        for router, config in ((two.r1, two.one), (two.r2, two.two)):
            config["ports"]["uplink"]["mtu"] = mtu
            router.write(config)
            router.cli("reload")
            link = json.loads(router.space.sh("ip -json link show m1"))[0]
            assert link["mtu"] == mtu
        two.a.ping("10.2.0.1", "-M", "dont", "-s", str(mtu - 28))
    assert bond(two.r1)["active"] == 2
    assert bond(two.r1)["members"][0]["changes"] == 0


def test_mtu_that_a_member_refuses(lab):
    router = lab.router()
    for name in ("m0", "x1"):
        lab.host(f"p{name}", router.space, name, [])
    router.space.sh("ip link add link x1 name m1 type macvlan")  # no more than x1 has
    config = {"ports": {"uplink": {"bond": {"members": ["m0", "m1"], "mode": "active-backup"},
                                   "mtu": 1800, "addresses": ["10.9.0.1/24"]}}}
    router.start(config)
    wait_active(router, 2)

    def expect_1500():
        port = next(p for p in router.get("/v1/ports")["ports"] if p["name"] == "uplink")
        assert port["mtu"] == 1500, port
        assert any("MTU 1800" in line and "using 1500" in line for line in port["refused"]), port
        assert json.loads(router.space.sh("ip -json link show m0"))[0]["mtu"] == 1500

    expect_1500()
    config["ports"]["uplink"]["mtu"] = 1700
    router.write(config)
    assert "MTU 1700" in router.cli("reload", check=False)
    expect_1500()


def test_frames_of_a_standby_member_are_not_received_after_a_failover(lab):
    router, hosts = start_alone(lab, mode="active-backup")
    wait_active(router, 2)
    mac = bond(router)["mac"]

    def received():
        return router.get("/v1/drops")["totals"]["received"]

    with Wire(hosts[1]) as wire:
        for _ in range(500):
            wire.send(Ether(dst=mac) / IP(src="10.9.0.9", dst="10.8.0.1") / UDP() / b"stale")
    time.sleep(0.5)
    before = received()
    router.space.sh("ip link set m0 down")
    wait_active(router, 1, 5)
    time.sleep(0.5)
    assert received() - before < 50


def test_jumbo(lab):
    bed = make_two(lab, start=False, lacp_rate="fast")
    for router, config in ((bed.r1, bed.one), (bed.r2, bed.two)):
        for name in ("m0", "m1"):
            router.space.sh(f"ip link set {name} mtu 9000")
        for port in config["ports"].values():
            port["mtu"] = 9000
    for host, port in ((bed.a, "va"), (bed.b, "vb")):
        host.sh("ip link set e0 mtu 9000")
    for router, config in ((bed.r1, bed.one), (bed.r2, bed.two)):
        router.start(config)
    wait_active(bed.r1, 2)
    passes(bed)
    bed.a.ping("10.2.0.1", "-M", "do", "-s", "8972")


def test_restart_of_one_end(two):
    two.r1.stop()
    wait_for(lambda: bond(two.r2)["active"] == 0, WAIT, "it notices")
    # What was theirs they have again.
    two.r1.launch()
    two.r1.wait_ready()
    wait_active(two.r1, 2)
    wait_active(two.r2, 2)
    passes(two)


@pytest.mark.parametrize("mode", ["active-backup", "lacp"])
@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
def test_restart_under_a_service_manager(lab, mode, kill):
    """The twin stays, and its carrier: LACP comes to terms again before Linux is told."""
    bed = make_two(lab, start=False, mode=mode)
    bed.r2.start(bed.two)
    bed.r1.write(bed.one)
    service = ServiceManager(bed.r1)
    service.start()
    wait_active(bed.r1, 2)
    passes(bed)
    assert "twin-uplink" in service.kept()
    before, monitor = links(bed.r1)["uplink"][:2], Monitor(bed.r1)
    service.restart(kill)
    wait_active(bed.r1, 2)
    passes(bed)
    assert links(bed.r1)["uplink"][:2] == before
    assert not monitor.heard()


def test_two_queues_over_members(lab):
    bed = make_two(lab, start=False, lacp_rate="fast")
    for config in (bed.one, bed.two):
        config["ports"]["uplink"]["queues"] = 2
    bed.r1.start(bed.one)
    bed.r2.start(bed.two)
    wait_active(bed.r1, 2)
    wait_active(bed.r2, 2)
    port = next(p for p in bed.r1.get("/v1/ports")["ports"] if p["name"] == "uplink")
    assert port["queues"] == {"rx": 2, "tx": 2}
    passes(bed)
    send_flows(bed)
    bed.r1.space.sh("ip link set m0 down")
    wait_active(bed.r1, 1, 5)
    send_flows(bed)
    bed.r1.space.sh("ip link set m0 up")
    wait_active(bed.r1, 2)
    send_flows(bed)


def test_static_mode(lab):
    bed = make_two(lab, start=False, lacp_rate="fast")
    bed.one["linux"] = "off"
    bed.r2.start(bed.two)
    wait_for(lambda: bed.r2.get("/v1/summary"), 5)
    macs = {p["name"]: p["mac"] for p in bed.r2.get("/v1/ports")["ports"]}
    bed.one["neighbors"] = [{"address": "10.9.0.2", "mac": macs["uplink"]},
                            {"address": "10.1.0.1", "mac": bed.a.mac}]
    bed.r1.start(bed.one)
    wait_active(bed.r1, 2)
    mine = {p["name"]: p["mac"] for p in bed.r1.get("/v1/ports")["ports"]}
    bed.r2.linux_sh(f"ip neigh replace 10.9.0.1 lladdr {mine['uplink']} dev uplink")
    bed.a.sh(f"ip neigh replace 10.1.0.254 lladdr {mine['a0']} dev e0")
    passes(bed)


# --- Open vSwitch, a bond of somebody else's ---

class Switch:
    """A userspace bridge of Open vSwitch in a namespace, with a run folder and a database of its own."""

    def __init__(self, lab, name):
        self.space = lab.namespace(name)
        self.folder = lab.folder / name
        self.folder.mkdir()
        self.environment = dict(os.environ, OVS_RUNDIR=str(self.folder), OVS_LOGDIR=str(self.folder),
                                OVS_DBDIR=str(self.folder))
        database = f"unix:{self.folder}/db.sock"
        self.run("ovsdb-tool", "create", self.folder / "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.space.start(["ovsdb-server", f"--remote=p{database}", self.folder / "conf.db"],
                         env=self.environment)
        wait_for(lambda: (self.folder / "db.sock").exists(), 10, "ovsdb-server")
        self.database = database
        self.vsctl("--no-wait", "init")
        self.space.start(["ovs-vswitchd", database, "--pidfile", "--disable-system"], env=self.environment)
        self.vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")

    def run(self, *words):
        return sh(self.space.words([str(word) for word in words]), env=self.environment)

    def vsctl(self, *words):
        return self.run("ovs-vsctl", f"--db={self.database}", "--timeout=15", *words)

    def show(self, command, name):
        return self.run("ovs-appctl", "-t", "ovs-vswitchd", command, name)


@pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="no Open vSwitch (openvswitch-switch)")
@pytest.mark.parametrize("rate", ["fast", "slow"])
def test_open_vswitch_is_the_partner(lab, rate, capsys):
    router = lab.router()
    switch = Switch(lab, "ovs")
    for name in ("m0", "m1"):
        cable(router.space, name, switch.space, name)
    a = lab.host("a", router.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
    b = lab.host("b", switch.space, "h0", ["10.9.0.2/24"], ["10.9.0.1"])
    switch.vsctl("add-bond", "br0", "bond0", "m0", "m1", "bond_mode=balance-tcp", "lacp=active",
                 f"other_config:lacp-time={rate}")
    switch.vsctl("add-port", "br0", "h0")
    router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]},
                            "uplink": {"bond": {"members": ["m0", "m1"], "lacp_rate": rate},
                                       "addresses": ["10.9.0.1/24"]}}})
    wait_active(router, 2, 40)
    told = switch.show("lacp/show", "bond0")
    assert told.count("current attached") == 2 and "lacp_status: negotiated" in \
        switch.show("bond/show", "bond0"), told
    assert bond(router)["mac"] in told, told
    for each in bond(router)["members"]:
        assert each["lacp"]["partner"]["rate"] == rate
    wait_for(lambda: a.ping("10.9.0.2", count=1, timeout=1), 10, "packets pass")
    bed = SimpleNamespace(r1=router, a=a, b=b)
    before = in_counts(switch.space, ["m0", "m1"])
    mac = next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == "a0")
    with Wire(a) as wire, Wire(b) as far:
        for number in range(256):
            wire.send(Ether(dst=mac) / IP(src="10.1.0.1", dst="10.9.0.2")
                      / UDP(sport=10_000 + number, dport=7) / b"balance")
        assert len(far.receive(lambda f: UDP in f and f[UDP].dport == 7, 256, 5)) == 256
    shares = [now - was for now, was in zip(in_counts(switch.space, ["m0", "m1"]), before)]
    assert min(shares) >= 64, shares
    with Stream(a, b, "10.9.0.2", rate=2000) as stream:
        time.sleep(0.5)
        router.space.sh("ip link set m0 down")
        time.sleep(1)
    with capsys.disabled():
        print(f"\nOpen vSwitch, {rate}: m0 dies: {stream.lost} of {stream.sent} packets lost", end=" ")
    assert stream.lost <= 2000 * 0.06, stream.gaps
    router.space.sh("ip link set m0 up")
    wait_active(router, 2, 40)
