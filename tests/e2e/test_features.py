"""VLANs, uRPF, ECMP, trace, two routers in a row."""

import itertools
import json
import re
import threading
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
    ("loose", "10.2.0.77", True), ("loose", "10.55.0.1", False), ("off", "10.55.0.1", True),
    ("strict", "fd00:2::77", False), ("strict", "fd00:1::77", True), ("strict", "fd00:55::1", False),
    ("loose", "fd00:2::77", True), ("loose", "fd00:55::1", False), ("off", "fd00:55::1", True)])
def test_urpf(lab, mode, source, passes):
    ports = {"a0": {**PORTS["a0"], "urpf": mode}, "b0": PORTS["b0"]}
    pair = make_pair(lab, ports=ports)
    kind, far = (IPv6, "fd00:2::1") if ":" in source else (IP, "10.2.0.1")
    pair.a.ping(far, count=1)
    packet = Ether(dst=port_mac(pair.router, "a0")) / kind(src=source, dst=far) / UDP(
        sport=1, dport=9) / b"urpf-test"
    with Wire(pair.b) as at_b, Wire(pair.a) as at_a:
        at_a.send(packet, count=5)
        came = at_b.receive(lambda p: b"urpf-test" in bytes(p) and UDP in p, 5 if passes else 1, 1.5)
    assert len(came) == (5 if passes else 0), came
    assert pair.router.dropped("urpf") == (0 if passes else 5)


@pytest.mark.parametrize("kind, near, hop, far", [
    (IP, "10.1.0.1", "10.2.0.{}", "10.9.{}.1"),
    (IPv6, "fd00:1::1", "fd00:2::{}", "fd00:9:{}::1")], ids=["v4", "v6"])
def test_ecmp_spreads_flows_and_keeps_each_on_its_way(lab, kind, near, hop, far):
    """Two next hops, weights 1 and 3, and many flows; then one of them is taken out."""
    pair = make_pair(lab)
    hops = [hop.format(i) for i in (11, 12)]
    net = "10.9.0.0/16" if kind is IP else "fd00:9::/32"
    pair.router.linux_sh(f"ip route add {net} nexthop via {hops[0]} dev b0 weight 1 "
                         f"nexthop via {hops[1]} dev b0 weight 3")
    # Nobody is there: MACs of their own tell the ways apart.
    macs = ["02:00:00:00:00:11", "02:00:00:00:00:12"]
    for address, mac in zip(hops, macs):
        pair.router.linux_sh(["ip", "neigh", "replace", address, "lladdr", mac, "nud", "permanent",
                              "dev", "b0"])
    wait_for(lambda: all(pair.router.has_neighbor(address) for address in hops)
             and pair.router.explain(far.format(1))["next_hop"]["kind"] == "multipath", 5, "ECMP")
    flows = [Ether(dst=port_mac(pair.router, "a0")) / kind(src=near, dst=far.format(i))
             / UDP(sport=1000 + i, dport=9) / b"ecmp-test" for i in range(128)]
    ways = ways_of(pair, flows, 2)
    assert len(ways) == 128, f"{len(ways)} of 128 flows came"
    assert all(len(set(way)) == 1 and len(way) == 2 for way in ways.values()), ways
    heavy = sum(way[0] == macs[1] for way in ways.values())
    assert 64 < heavy < 122, f"{heavy} of 128 flows took the way of weight 3 of 4"
    pair.router.linux_sh(f"ip route replace {net} via {hops[1]} dev b0")
    wait_for(lambda: pair.router.explain(far.format(1))["next_hop"]["kind"] != "multipath", 5,
             "one way is left")
    assert ways_of(pair, flows, 1) == {flow[kind].dst: [macs[1]] for flow in flows}


def ways_of(pair, flows, times):
    """By destination, the MACs that its packets were sent to."""
    ways = {}
    with Wire(pair.b, promiscuous=True) as at_b, Wire(pair.a) as at_a:
        for _ in range(times):
            for flow in flows:
                at_a.send(flow)
        for p in at_b.receive(lambda p: b"ecmp-test" in bytes(p), times * len(flows), 4):
            ways.setdefault(p.payload.dst, []).append(p.dst)
    return ways


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
    for noun in ("ports", "bonds", "bridges", "filters", "flows", "rules", "tables", "interfaces", "routes", "neighbors", "nexthops", "workers", "drops",
                 "punt", "sflow", "pools", "config", "plan", "mtu", "nat", "ipfix", "labels"):
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


def both_ways_in_order(pair, rounds):
    """Both directions at once, 16 flows each: all of it comes, each flow in its order."""
    def frames(near, far, port, rounds, mac):
        head = Ether(dst=port_mac(pair.router, port), src=mac)
        return [bytes(head / IP(src=near, dst=far) / UDP(sport=1000 + flow, dport=9)
                      / (b"order-%02d-%05d" % (flow, number))) for number in range(rounds) for flow in range(16)]

    burst = 64
    ways = {"b": frames("10.1.0.1", "10.2.0.1", "a0", rounds, pair.a.mac),
            "a": frames("10.2.0.1", "10.1.0.1", "b0", rounds, pair.b.mac)}
    came = {"a": [], "b": []}
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        for first in range(0, rounds * 16, burst):
            for frame_b, frame_a in zip(ways["b"][first:first + burst], ways["a"][first:first + burst]):
                at_a.send(frame_b)
                at_b.send(frame_a)
            for end, wire in (("b", at_b), ("a", at_a)):
                came[end] += wire.receive(lambda p: b"order-" in bytes(p) and UDP in p, burst, 5)
    for end, packets in came.items():
        assert len(packets) == rounds * 16, f"{len(packets)} of {rounds * 16} came to {end}"
        for flow in range(16):
            numbers = [int(bytes(p[UDP].payload)[9:14]) for p in packets if p[UDP].sport == 1000 + flow]
            assert numbers == list(range(rounds)), f"flow {flow} to {end}"


def known(pair):
    for far in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(far, count=1, ok=False)
        pair.a.ping(far, count=1)


def test_two_workers_keep_each_flow_in_order_and_lose_nothing(lab):
    """Every packet goes through the other worker's transmit queue."""
    pair, rounds = make_pair(lab, {"workers": {0: [0, 1]}}), 100
    known(pair)
    workers = pair.router.get("/v1/workers")["workers"]
    assert [len(worker["queues"]) for worker in workers] == [1, 1], workers
    both_ways_in_order(pair, rounds)
    wait_for(lambda: all(worker["packets"] >= rounds * 16 for worker in pair.router.get("/v1/workers")["workers"]), 5,
             "each worker has had its port's packets")


def test_one_queue_over_two_workers_keeps_each_flow_in_order(lab):
    """What comes to a0's only queue leaves by both workers, while snapshots change under it; nothing is lost."""
    rounds = 50
    ports = {"a0": {**PORTS["a0"], "spread": "always"}, "b0": PORTS["b0"]}
    pair = make_pair(lab, {"workers": {0: [0, 1]}}, ports=ports)
    known(pair)
    workers = {queue["port"]: worker for worker in pair.router.get("/v1/workers")["workers"]
               for queue in worker["queues"]}
    assert workers["b0"]["spread"] == []
    assert workers["a0"]["spread"] == [
        f"a0:0 is spread by flow, 50 % here, the rest to core {workers['b0']['cpu']} (spread: always)"]
    assert "a0:0 is spread by flow" in pair.router.cli("show", "workers")

    ended = threading.Event()

    def reload_again_and_again():
        for counters in itertools.cycle((True, False)):
            if ended.is_set():
                return
            pair.router.write({**pair.config, "ports": {
                name: {**port, "counters": counters} for name, port in ports.items()}})
            pair.router.cli("reload")
    reloads = threading.Thread(target=reload_again_and_again)
    reloads.start()
    try:
        both_ways_in_order(pair, rounds)
    finally:
        ended.set()
        reloads.join()

    shown = []
    trace = threading.Thread(target=lambda: shown.append(pair.router.cli(
        "trace", "--from", "10.1.0.1", "--to", "10.2.0.1", "-n", "32", "--timeout", "20")))
    trace.start()
    while trace.is_alive():
        both_ways_in_order(pair, 4)
    trace.join()
    assert set(re.findall(r"a0 queue 0, worker (\d)", shown[0])) == {"0", "1"}, shown
    assert pair.router.dropped("spread_full") == 0


def test_two_queues_a_port_keep_each_flow_in_order(lab):
    """Each worker has a queue of either port: a flow stays on one, and flows are on both. By AF_PACKET, as DPDK's
    AF_XDP finds one queue on a veth, whose channels are not combined."""
    ports = {name: {**port, "device": f"net_af_packet{i},iface={port['device']},qpairs=2", "queues": 2}
             for i, (name, port) in enumerate(PORTS.items())}
    pair = make_pair(lab, {"workers": {0: [0, 1]}}, ports=ports, start=False)
    for host in (pair.a, pair.b):
        host.sh("ethtool -L e0 rx 2 tx 2")
        pair.router.space.sh(f"ethtool -L {host.port} rx 2 tx 2")
    pair.router.start(pair.config)
    known(pair)
    for port in pair.router.get("/v1/ports")["ports"]:
        assert port["queues"]["rx"] == 2, port
    workers = pair.router.get("/v1/workers")["workers"]
    assert [len(worker["queues"]) for worker in workers] == [2, 2], workers
    before = [worker["packets"] for worker in workers]
    both_ways_in_order(pair, 100)

    def worked():
        """Each has had some of the 32 flows, and all of them together."""
        now = [worker["packets"] - was for worker, was in zip(pair.router.get("/v1/workers")["workers"], before)]
        assert min(now) >= 2 * 100 and sum(now) >= 32 * 100, now
        return now
    wait_for(worked, 5, "both workers have had flows")


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
