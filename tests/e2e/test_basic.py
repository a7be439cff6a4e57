"""Ping, traceroute and iperf3: what everyone tries first."""

import ipaddress
import json
import re
import time
from random import Random

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import make_pair
from flood import Flood
from lab import wait_for
from test_features import port_mac
from wire import Wire

FAMILIES = pytest.mark.parametrize(
    "far, near", [("10.2.0.1", "10.1.0.254"), ("fd00:2::1", "fd00:1::fe")], ids=["v4", "v6"])


@FAMILIES
def test_ping_to_the_router_and_across(pair, far, near):
    pair.a.ping(near)
    before = pair.router.get("/v1/drops")["totals"]
    out = pair.a.ping(far, count=20)
    assert re.search(r"ttl=63\b", out), out
    after = pair.router.get("/v1/drops")["totals"]
    # Across goes by the fast path, not through Linux.
    assert after["transmitted"] - before["transmitted"] >= 40
    assert after["punted"] - before["punted"] < 20


@FAMILIES
def test_the_very_first_ping_is_answered(lab, far, near):
    """Nobody knows anybody yet: what waits for a neighbor is sent, not lost."""
    bed = make_pair(lab)
    assert bed.router.neighbor(far) is None
    bed.a.ping(far, count=3)


@FAMILIES
def test_traceroute_names_the_router_then_the_host(pair, far, near):
    out = pair.a.sh(["traceroute", "-n", "-q", "1", "-w", "2", "-m", "4", far])
    hops = [line.split()[1] for line in out.splitlines()[1:]]
    assert hops == [near, far], out


@FAMILIES
def test_tcp_and_udp_cross(pair, far, near):
    pair.b.start("iperf3 -s")
    wait_for(lambda: ":5201" in pair.b.sh("ss -ltn"), 5, "iperf3 listens")
    tcp = json.loads(pair.a.sh(["iperf3", "-c", far, "-t", "2", "-J", "--connect-timeout", "3000"]))
    assert tcp["end"]["sum_received"]["bits_per_second"] > 20e6, tcp["end"]
    udp = json.loads(pair.a.sh(["iperf3", "-c", far, "-u", "-b", "20M", "-l", "1200", "-t", "2",
                                "-J", "--connect-timeout", "3000"]))
    # What iperf3, or the only worker, gets no CPU for is lost before or behind the router.
    assert udp["end"]["sum"]["lost_percent"] < 5, udp["end"]["sum"]
    assert not [d for d in pair.router.get("/v1/drops")["drops"] if d["reason"] == "transmit_full"]
    assert udp["end"]["sum"]["packets"] > 1000


PORTS_ASKING_BACK = {
    "a0": {"device": "va", "addresses": ["10.1.0.254/24", "fd00:1::fe/64"], "urpf": "strict"},
    "b0": {"device": "vb", "addresses": ["10.2.0.254/24", "fd00:2::fe/64"]},
}
KINDS = [{"to": "0.0.0.0/0", "via": "10.2.0.1"}, {"to": "::/0", "via": "fd00:2::1"},
         {"to": "198.18.0.0/15", "type": "blackhole"}, {"to": "203.0.113.0/24", "type": "prohibit"},
         {"to": "2001:db8:dead::/48", "type": "unreachable"}]
PLACES = {4: ["10.1.0.0/24", "10.2.0.1/32", "10.1.0.254/32", "198.18.0.0/15", "203.0.113.0/24",
              "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "0.0.0.0/8", "127.0.0.0/8",
              "255.255.255.255/32", "8.0.0.0/8"],
          6: ["fd00:1::/64", "fd00:2::1/128", "fd00:1::fe/128", "2001:db8:dead::/48", "fe80::/10",
              "ff00::/8", "::/127", "::ffff:0:0/96", "2001:db8::/32"]}


def somewhere(random, version):
    network = ipaddress.ip_network(random.choice(PLACES[version]))
    return str(network[random.randrange(min(network.num_addresses, 1 << 62))])


def test_show_routes_says_what_a_trace_sees(lab):
    """Hundreds of packets from and to anywhere: the explanation of each is what became of it."""
    pair = make_pair(lab, {"routes": KINDS}, ports=PORTS_ASKING_BACK)
    for address in ("10.2.0.1", "fd00:2::1"):
        wait_for(lambda to=address: " 1 received" in pair.a.ping(to, count=1, timeout=1, ok=False),
                 15, "b answers")
    router, random, count = pair.router, Random(20100830), 400
    begun = router.request("POST", "/v1/trace", {"port": "a0", "protocol": "udp",
                                                 "transport_port": 33434, "count": count})[1]
    ether = {4: Ether(dst=port_mac(router, "a0"), src=pair.a.mac, type=0x800),
             6: Ether(dst=port_mac(router, "a0"), src=pair.a.mac, type=0x86dd)}
    until = time.monotonic() + 60
    with Wire(pair.a) as at_a:
        done = False
        while not done:
            assert time.monotonic() < until, "the trace has its packets"
            for _ in range(20):
                version = random.choice((4, 6))
                ip = {4: IP, 6: IPv6}[version](src=somewhere(random, version),
                                               dst=somewhere(random, version))
                at_a.send(ether[version] / ip / UDP(sport=49152, dport=33434))
                time.sleep(0.002)
            done = router.get(f"/v1/trace?id={begun['id']}&after={count}")["done"]
    traces = router.request("DELETE", f"/v1/trace?id={begun['id']}")[1]["traces"]
    assert len(traces) == count
    met = set()
    for trace in traces:
        source, destination = re.match(r"IPv[46] (\S+) > (\S+) UDP", trace["packet"]).groups()
        told = router.get(f"/v1/routes?address={destination}&from={source}&interface=a0")
        # A punt over its rate is dropped by the name of the punt.
        assert told["reason"] == trace["reason"], (trace["packet"], trace["verdict"], told["verdict"], told["why"])
        met.add(trace["reason"])
    assert {None, "martian_destination", "martian_source", "multicast", "broadcast", "link_local",
            "blackhole", "urpf", "local"} <= met, met


def test_show_drops_adds_up_under_load(pair):
    frame = bytes(Ether(dst=port_mac(pair.router, "a0"), src=pair.a.mac) /
                  IP(src="10.1.0.1", dst="10.2.0.1") / UDP(dport=9) / bytes(18))
    readings = []
    with Flood(pair.a, [frame], 4):
        until = time.monotonic() + 3
        while time.monotonic() < until:
            assert "does not fit" not in pair.router.cli("show", "drops")
            readings.append(pair.router.get("/v1/drops")["totals"])
    assert len(readings) > 10
    for t in readings:
        assert t["unaccounted"] == 0, t
        assert t["received"] + t["injected"] + t["fragments"] + t["copies"] == \
            t["transmitted"] + t["punted"] + t["dropped"] + t["in_flight"], t
    assert readings[-1]["received"] > readings[0]["received"] + 1000


def test_interfaces_count_what_linux_sends(lab):
    ports = {name: {**port, "counters": True} for name, port in PORTS_ASKING_BACK.items()}
    pair = make_pair(lab, ports=ports)
    wait_for(lambda: " 1 received" in pair.a.ping("10.1.0.254", count=1, timeout=1, ok=False), 15,
             "the router answers")

    def sent():
        interfaces = pair.router.get("/v1/interfaces")["interfaces"]
        return next(i for i in interfaces if i["name"] == "a0")["counters"]

    before = sent()
    pair.a.ping("10.1.0.254", count=5)
    after = sent()
    assert after["tx_packets"] - before["tx_packets"] >= 5, (before, after)
    assert after["tx_bytes"] - before["tx_bytes"] >= 5 * 84, (before, after)


def test_routes_are_there_once_and_by_filter(lab):
    pair = make_pair(lab, {"routes": KINDS})
    wait_for(lambda: any(r["prefix"] == "198.18.0.0/15" for r in
                         pair.router.get("/v1/routes?origin=linux")["routes"]), 10, "Linux has it")
    walk = pair.router.get("/v1/routes")["routes"]
    for prefix in ("198.18.0.0/15", "0.0.0.0/0"):
        rows = [r for r in walk if r["prefix"] == prefix]
        assert len(rows) == 1 and {rows[0]["origin"], *rows[0]["also"]} == {"file", "linux"}, rows
    assert len([r for r in walk if r["prefix"] == "10.1.0.0/24"]) == 1, walk
    out = pair.router.get("/v1/routes?interface=b0")["routes"]
    assert "10.2.0.0/24" in [r["prefix"] for r in out]
    assert "10.1.0.0/24" not in [r["prefix"] for r in out]
    assert pair.router.request("GET", "/v1/routes?interface=nowhere")[0] == 404
    assert pair.router.request("GET", "/v1/routes?protocol=nonsense")[0] == 400
    routes = pair.router.cli("show", "routes", "--protocol", "bgp")
    assert "no route is like that" in routes, routes


def test_clear_is_a_mark_and_no_reset(pair, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    pair.a.ping("10.2.0.1", count=3)
    whole = pair.router.get("/v1/drops")["totals"]["received"]
    assert pair.router.cli("clear") == ""
    pair.a.ping("10.2.0.1", count=3)
    since = pair.router.cli("show", "drops")
    received = int(re.search(r"received ([\d,]+)", since).group(1).replace(",", ""))
    assert 6 <= received < whole, since
    assert "since hecto clear, 00:00:" in since, since
    assert pair.router.get("/v1/drops")["totals"]["received"] >= whole + 6


def test_route_delete_names_the_file(pair, tmp_path):
    routes = tmp_path / "old.txt"
    routes.write_text("10.9.0.0/16 via 10.2.0.1\n10.8.0.0/16 via 10.2.0.1\n")
    pair.router.cli("load-routes", routes)
    routes.write_text("10.9.0.0/16\n10.8.0.0/99\n")
    assert f"{routes}:2: " in pair.router.cli("route", "delete", "file", routes, check=False)
    assert pair.router.explain("10.9.0.1")["match"]
    routes.write_text("10.9.0.0/16\n")
    assert "1 changed" in pair.router.cli("route", "delete", "file", routes)
    assert pair.router.explain("10.9.0.1")["match"] is None
    assert pair.router.explain("10.8.0.1")["match"]


def test_load_routes_names_the_file(pair):
    file = pair.router.folder / "table.txt"
    file.write_text("20.0.0.0/8\n20.1.0.0/16\nnonsense\n")
    told = pair.router.cli("load-routes", file, "--via", "10.2.0.1", check=False)
    assert f"{file}:3" in told and "body" not in told, told
