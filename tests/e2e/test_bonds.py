"""Bonds between two routers: LACP, members that come and go, packets by member. Bed: bonds.py."""

import json
import time

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether

from bonds import (WAIT, bond, cable, in_counts, make_two, member, passes, start_alone, states,
                   wait_active)
from lab import wait_for
from service_manager import ServiceManager
from stream import Stream
from test_instances import refused
from test_restart import Monitor, links
from wire import Wire


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
    def all_distribute(router):  # as each has heard of the other, an LACPDU later
        return all(m["lacp"]["partner"]["distributing"] for m in bond(router)["members"])
    wait_for(lambda: all_distribute(two.r1) and all_distribute(two.r2), 5, "both have heard so")
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


def send_tcp(wire, mac, numbers, source_port, src="10.9.0.9", dst="10.8.0.1"):
    """Segments of 100 bytes in that order; sequence numbers go around in them."""
    frames = [bytes(Ether(dst=mac) / IP(src=src, dst=dst)
                    / TCP(sport=source_port, dport=80, flags="A", seq=(2**32 - 1000 + 100 * n) % 2**32)
                    / bytes(100)) for n in numbers]
    for frame in frames:
        wire.send(frame)


def order_of(router, segments):
    return wait_for(lambda: (seen := bond(router)["reorder"])["segments"] >= segments and seen, 10,
                    "the order of TCP is sampled")


def test_reordered_tcp_is_measured_and_named(lab):
    router, hosts = start_alone(lab, mode="balance-xor")
    wait_active(router, 2, 5)
    mac = bond(router)["mac"]
    assert bond(router)["reorder"] == {"segments": 0, "reordered": 0, "percent": None}
    with Wire(hosts[0]) as wire:
        send_tcp(wire, mac, range(400), 1001)
        seen = order_of(router, 300)
        assert seen["reordered"] == 0 and seen["percent"] == 0 and bond(router)["trouble"] == [], seen
        assert "0 of " in router.cli("show", "bonds")
        for n in range(100):  # no TCP, fragments, and one flow behind the other
            wire.send(Ether(dst=mac) / IP(src="10.9.0.9", dst="10.8.0.1") / UDP(sport=n, dport=7) / b"other")
            wire.send(Ether(dst=mac) / IP(src="10.9.0.9", dst="10.8.0.1", flags="MF") / TCP(seq=-n % 2**32) / b"part")
            send_tcp(wire, mac, [n], 2000 + n % 2)
        time.sleep(2)
        assert bond(router)["reorder"]["reordered"] == 0, bond(router)["reorder"]
        # 1 0 3 2 …; its first 128 are strangers to the flow before it, and a window ends
        send_tcp(wire, mac, [n ^ 1 for n in range(400)], 1003)
    seen = wait_for(lambda: (now := bond(router)["reorder"])["reordered"] >= 60 and now, 10, "it is measured")
    assert seen["reordered"] <= 200, seen
    told = bond(router)["trouble"]
    assert len(told) == 1 and "of the TCP segments that come in are out of order" in told[0], told
    assert seen["percent"] == round(100 * seen["reordered"] / seen["segments"], 2), seen
    text = " ".join(router.cli("show", "bonds").split())
    assert "segments out of order in the last minute" in text and "choose a hash of flows there" in text, text
    assert "port uplink: " in router.cli("show", "summary")
    router.check_balance()


@pytest.mark.parametrize("mode", ["balance-xor", "round-robin"])
def test_what_a_partner_does_to_tcp(lab, mode):
    """One flow in order by two routers: the second one measures what the first one's bond makes of it."""
    bed = make_two(lab, mode=mode)
    wait_active(bed.r1, 2, 5)
    wait_active(bed.r2, 2, 5)
    passes(bed)
    mac = next(p["mac"] for p in bed.r1.get("/v1/ports")["ports"] if p["name"] == "a0")
    with Wire(bed.a) as wire:
        send_tcp(wire, mac, range(4000), 1001, "10.1.0.1", "10.2.0.1")
    seen = order_of(bed.r2, 1000)
    named = any("of the TCP segments that come in" in line for line in bond(bed.r2)["trouble"])
    assert named == (mode == "round-robin") == (seen["percent"] >= 1), (seen, bond(bed.r2)["trouble"])
    assert seen["reordered"] == 0 or mode == "round-robin", seen


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
