"""VLANs, uRPF, ECMP, trace, two routers in a row."""

import json
import re
import time
from types import SimpleNamespace

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import Dot1Q, Ether

from conftest import PORTS, make_pair
from lab import wait_for
from wire import Wire


def port_mac(router, name):
    return next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == name)


def test_vlan_of_the_file_carries_both_families(lab):
    """A tagged network on a0, played by packets on the wire: tags in, no tag out, and back."""
    ports = {"a0": {**PORTS["a0"], "vlans": {100: {"addresses": ["10.100.0.254/24",
                                                                 "fd00:100::fe/64"]}}},
             "b0": PORTS["b0"]}
    pair = make_pair(lab, ports=ports)
    for far in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(far, count=1, ok=False)
        pair.a.ping(far, count=1)
    pair.router.linux_sh("ip neigh replace 10.100.0.1 lladdr 02:00:00:00:01:00 dev a0.100")
    pair.router.linux_sh("ip neigh replace fd00:100::1 lladdr 02:00:00:00:01:00 dev a0.100")
    wait_for(lambda: pair.router.has_neighbor("10.100.0.1")
             and pair.router.has_neighbor("fd00:100::1"), 5, "the tagged neighbors are known")
    mac = port_mac(pair.router, "a0")
    with Wire(pair.a) as wire:
        head = Ether(dst=mac, src="02:00:00:00:01:00") / Dot1Q(vlan=100)
        wire.send(head / IP(src="10.100.0.1", dst="10.2.0.1") / ICMP(id=7, seq=1))
        wire.send(head / IPv6(src="fd00:100::1", dst="fd00:2::1") / ICMPv6EchoRequest(id=7, seq=1))
        wire.send(Ether(dst=mac, src="02:00:00:00:01:00") / Dot1Q(vlan=200)
                  / IP(src="10.100.0.1", dst="10.2.0.1") / ICMP(id=8))
        back = wire.receive(lambda p: Dot1Q in p and p[Ether].dst == "02:00:00:00:01:00", 2)
    assert [p[Dot1Q].vlan for p in back] == [100, 100], back
    assert {type(p[Dot1Q].payload).__name__ for p in back} == {"IP", "IPv6"}
    drop, = (d for d in pair.router.get("/v1/drops")["drops"] if d["reason"] == "unknown_vlan")
    assert drop["packets"] == 1 and drop["example"] == "10.2.0.1 from a0", drop
    sub = next(i for i in pair.router.get("/v1/interfaces")["interfaces"] if i["name"] == "a0.100")
    assert sub["vlan"] == 100 and sub["tap"] == "a0.100", sub


@pytest.mark.parametrize("mode, source, passes", [
    ("strict", "10.2.0.77", False), ("strict", "10.1.0.77", True), ("strict", "10.55.0.1", False),
    ("loose", "10.2.0.77", True), ("loose", "10.55.0.1", False), ("off", "10.55.0.1", True)])
def test_urpf(lab, mode, source, passes):
    ports = {"a0": {**PORTS["a0"], "urpf": mode}, "b0": PORTS["b0"]}
    pair = make_pair(lab, ports=ports)
    pair.a.ping("10.2.0.1", count=1, ok=False)
    pair.a.ping("10.2.0.1", count=1)
    packet = Ether(dst=port_mac(pair.router, "a0")) / IP(src=source, dst="10.2.0.1") / UDP(
        sport=1, dport=9) / b"urpf-test"
    with Wire(pair.b) as at_b, Wire(pair.a) as at_a:
        at_a.send(packet, count=5)
        came = at_b.receive(lambda p: b"urpf-test" in bytes(p) and UDP in p, 5 if passes else 1, 1.5)
    assert len(came) == (5 if passes else 0), came
    assert pair.router.dropped("urpf") == (0 if passes else 5)


def test_ecmp_spreads_flows_and_keeps_each_on_its_way(lab):
    """Two next hops, weights 1 and 3, and many flows; then one next hop dies."""
    pair = make_pair(lab)
    for i in (11, 12):
        pair.b.sh(["ip", "address", "add", f"10.2.0.{i}/24", "dev", "e0"])
    pair.router.linux_sh("ip route add 10.9.0.0/16 nexthop via 10.2.0.11 weight 1 "
                         "nexthop via 10.2.0.12 weight 3")
    # Both answer ARP from one wire; neighbors of their own tell the ways apart.
    for i in (11, 12):
        pair.router.linux_sh(["ip", "neigh", "replace", f"10.2.0.{i}", "lladdr",
                              f"02:00:00:00:00:{i}", "nud", "permanent", "dev", "b0"])
    wait_for(lambda: pair.router.has_neighbor("10.2.0.11") and pair.router.has_neighbor("10.2.0.12")
             and pair.router.explain("10.9.0.1")["next_hop"]["kind"] == "multipath", 5, "ECMP")
    flows = [Ether(dst=port_mac(pair.router, "a0")) / IP(src="10.1.0.1", dst=f"10.9.{i}.1")
             / UDP(sport=1000 + i, dport=9) / b"ecmp-test" for i in range(128)]
    ways = {}
    with Wire(pair.b, promiscuous=True) as at_b, Wire(pair.a) as at_a:
        for _ in range(2):
            for flow in flows:
                at_a.send(flow)
        for p in at_b.receive(lambda p: b"ecmp-test" in bytes(p), 256, 4):
            ways.setdefault(p[IP].dst, set()).add(p[Ether].dst)
    assert len(ways) == 128, f"{len(ways)} of 128 flows came"
    assert all(len(macs) == 1 for macs in ways.values()), "a flow took two ways"
    heavy = sum(macs == {"02:00:00:00:00:12"} for macs in ways.values())
    assert 64 < heavy < 122, f"{heavy} of 128 flows took the way of weight 3 of 4"


def test_trace_of_a_ping_shows_its_way(pair):
    pair.a.start("ping -n -i 0.2 10.2.0.1")
    out = pair.router.cli("trace", "--from", "10.1.0.1", "--to", "10.2.0.1", "-n", "2",
                          "--timeout", "10")
    for word in ("receive", "classify", "lookup", "rewrite", "transmit", "a0",
                 "10.2.0.1/32, next hop", "via 10.2.0.1 on b0", "TTL 63"):
        assert word in out, out
    pair.a.start("ping -n -i 0.2 10.1.0.254")
    told = json.loads(pair.router.cli("trace", "--to", "10.1.0.254", "-n", "1", "--timeout", "10",
                                      "--json"))
    assert told["traces"][0]["outcome"] == "punt" and told["traces"][0]["reason"] == "local", told


def test_every_show_answers(pair):
    """Each noun in both forms, under 100 columns, and quickly."""
    for noun in ("ports", "interfaces", "routes", "neighbors", "nexthops", "workers", "drops",
                 "punt", "pools", "config", "plan"):
        started = time.monotonic()
        out = pair.router.cli("show", noun)
        took = time.monotonic() - started
        assert out.strip() or noun == "drops", noun
        assert all(len(line) <= 100 for line in out.splitlines()) or noun in ("config", "plan"), out
        assert took < 1.0, f"show {noun} took {took:.2f} s"
        json.loads(pair.router.cli("show", noun, "--json"))
    out = pair.router.cli("show", "routes", "10.2.0.1")
    assert "10.2.0.0/24" in out and "b0" in out, out


def test_two_routers_in_a_row(lab):
    """a -- r1 -- r2 -- b, each hectod with a namespace of its own."""
    first, second = lab.router("r1"), lab.router("r2")
    a = lab.host("a", first.space, "va", ["10.1.0.1/24", "fd00:1::1/64"],
                 ["10.1.0.254", "fd00:1::fe"])
    b = lab.host("b", second.space, "vb", ["10.2.0.1/24", "fd00:2::1/64"],
                 ["10.2.0.254", "fd00:2::fe"])
    first.space.sh(["ip", "link", "add", "vm", "type", "veth", "peer", "name", "vm", "netns",
                    second.space.name])
    for router, own, other, far, edge, device in (
            (first, 1, 2, 2, "a0", "va"), (second, 2, 1, 1, "b0", "vb")):
        router.start({
            "ports": {edge: {"device": device,
                             "addresses": [f"10.{own}.0.254/24", f"fd00:{own}::fe/64"]},
                      "m0": {"device": "vm", "addresses": [f"10.99.0.{own}/30",
                                                           f"fd00:99::{own}/64"]}},
            "routes": [{"to": f"10.{far}.0.0/24", "via": f"10.99.0.{other}"},
                       {"to": f"fd00:{far}::/64", "via": f"fd00:99::{other}"}]})
    for far, hops in (("10.2.0.1", ["10.1.0.254", "10.99.0.2", "10.2.0.1"]),
                      ("fd00:2::1", ["fd00:1::fe", "fd00:99::2", "fd00:2::1"])):
        wait_for(lambda far=far: " 1 received" in a.ping(far, count=1, timeout=1, ok=False), 15,
                 f"{far} answers")
        out = a.sh(["traceroute", "-n", "-q", "1", "-w", "2", "-m", "5", far])
        assert [line.split()[1] for line in out.splitlines()[1:]] == hops, out
        assert re.search(r"ttl=62\b", a.ping(far, count=3))
    assert b.ping("10.1.0.1")


def test_interface_counters_count_both_ways(lab):
    ports = {name: {**port, "counters": True} for name, port in PORTS.items()}
    pair = make_pair(lab, ports=ports)
    pair.a.ping("10.2.0.1", count=1, ok=False)
    before = counters(pair.router)
    pair.a.ping("10.2.0.1", "-s", "972", count=10)
    after = counters(pair.router)
    for name in ("a0", "b0"):
        assert 10 <= after[name].rx_packets - before[name].rx_packets <= 14
        assert 10 <= after[name].tx_packets - before[name].tx_packets <= 14
        assert 10_000 <= after[name].rx_bytes - before[name].rx_bytes <= 10_400


def counters(router):
    return {i["name"]: SimpleNamespace(**i["counters"])
            for i in router.get("/v1/interfaces")["interfaces"]}
