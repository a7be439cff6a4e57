"""What filters do beside their verdict: traces name the rule, the log and sFlow are told, copies leave by a port."""

import copy
import re
import time

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from conftest import PORTS, make_pair
from lab import HECTO, sh, wait_for
from sflow import Collector
from test_filters import A4, A6, B4, B6, EDGE, Bed, tcp, udp
from wire import Wire


def with_neighbors(pair):
    for address in (B4, B6):
        pair.a.ping(address, count=1, ok=False)
        pair.a.ping(address, count=1)
    pair.mac = {p["name"]: p["mac"] for p in pair.router.get("/v1/ports")["ports"]}
    return pair


def send(host, mac, packets, pace=0.0):
    with Wire(host) as wire:
        for packet in packets:
            wire.send(bytes(Ether(dst=mac) / packet))
            if pace:
                time.sleep(pace)


# ---- Who decided ----

def test_a_trace_names_the_filter_and_the_rule(lab):
    bed = Bed(lab, EDGE)
    router = bed.router

    def traced(packet):
        status, answer = router.request("POST", "/v1/trace", {"from": packet.src, "to": packet.dst, "count": 1})
        assert status == 200, answer
        read = lambda: router.get(f"/v1/trace?id={answer['id']}")

        def came():
            send(bed.a, bed.mac["a0"], [packet / b"x"])
            return read()["done"]
        wait_for(came, 5, "traced")
        return read()["traces"][0]

    def judged(told):
        return [(s["filter"], s["rule"], s["text"]) for s in told["steps"] if "filter" in s]
    told = traced(udp(53, "192.0.2.9"))
    assert judged(told) == [("edge", "bad", "in: filter edge, rule bad: drop")], told
    assert told["verdict"] == "dropped by filter edge, rule bad" and told["reason"] == "filter", told
    told = traced(udp(53))
    assert judged(told) == [("edge", "dns", "in: filter edge, rule dns: accept")], told
    assert told["outcome"] == "transmit", told
    told = traced(tcp(9, "S", A6, B6))
    assert judged(told) == [("edge", None, "in: filter edge, otherwise: drop")], told
    # What is for the router, rejected, and the sender told.
    config = copy.deepcopy(bed.config)
    config["filters"]["me"] = {"local": True, "rules": [{"name": "no-udp", "protocol": "udp", "action": "reject"}]}
    bed.reload(config)
    told = traced(udp(53, A4, "10.1.0.254"))
    assert judged(told)[-1] == ("me", "no-udp", "local: filter me, rule no-udp: reject"), told


def test_show_routes_names_the_filter_and_the_rule(lab):
    bed = Bed(lab, EDGE)
    out = bed.router.cli("show", "routes", B4, "--from", "192.0.2.9", "--interface", "a0")
    assert "filter edge (in), rule bad: drop" in out, out
    out = bed.router.cli("show", "routes", B4, "--from", A4, "--interface", "a0")
    assert "filter edge (in), otherwise: drop" in out and "UDP" in out, out
    out = bed.router.cli("show", "routes", B4)
    assert "filters of where it comes in were not asked" in out and "filter edge" not in out, out
    answer = bed.router.get(f"/v1/routes?address={B4}&from=192.0.2.9&interface=a0")
    assert answer["filters"] == [{"where": "in", "filter": "edge", "rule": "bad", "verdict": "drop", "policer": None}]
    assert answer["verdict"] == "drop" and answer["reason"] == "filter", answer


# ---- The log ----

LOGGED = {"filters": {"edge": {"in": ["a0"], "rules": [
    {"name": "spoofed", "from": "192.0.2.0/24", "action": "drop", "log": True},
    {"name": "web", "protocol": "tcp", "dport": 80, "log": True},
    {"name": "quiet", "protocol": "udp", "dport": 9, "action": "drop"}]}}}


def test_log_has_a_line_a_flow(lab):
    bed = Bed(lab, LOGGED)
    send(bed.a, bed.mac["a0"], [udp(53, "192.0.2.9")] * 12 + [tcp(80)] * 3 + [udp(9)] * 5)
    lines = lambda: re.findall(r"filter edge rule [\w-]+: .*", bed.router.log())
    wait_for(lambda: len(lines()) >= 2, 5, "two lines")
    time.sleep(1)
    assert sorted(lines()) == [
        f"filter edge rule spoofed: drop udp 192.0.2.9:4000 -> {B4}:53 on a0 (12 packets)",
        f"filter edge rule web: accept tcp {A4}:4000 -> {B4}:80 on a0 (3 packets)"], bed.router.log()
    # A reload that takes the rule away says what it had first.
    send(bed.a, bed.mac["a0"], [udp(54, "192.0.2.9")] * 2)
    config = copy.deepcopy(bed.config)
    config["filters"]["edge"]["rules"].pop(0)
    bed.reload(config)
    wait_for(lambda: len(lines()) >= 3, 5, "the third")
    assert lines()[2].endswith(f"spoofed: drop udp 192.0.2.9:4000 -> {B4}:54 on a0 (2 packets)"), lines()
    bed.router.check_balance()


def test_log_of_a_flood_is_bounded_and_forwarding_goes_on(lab):
    """Thousands of flows: so many lines a second, all others counted; another rule's line still comes."""
    bed = Bed(lab, LOGGED)
    with Wire(bed.a) as wire:
        base = bytes(Ether(dst=bed.mac["a0"]) / udp(53, "192.0.2.9"))
        at = 14 + 20
        began = time.monotonic()
        for n in range(40000):
            wire.send(base[:at] + n.to_bytes(2, "big") + base[at + 2:])
        wire.send(bytes(Ether(dst=bed.mac["a0"]) / tcp(80)))
        took = time.monotonic() - began
    assert " 5 received" in bed.a.ping(B4, count=5)
    lines = lambda: re.findall(r"filter edge rule [\w-]+: .*", bed.router.log())
    wait_for(lambda: any("rule web" in line for line in lines()), 5, "the line of the other rule")
    wait_for(lambda: any("not told one by one" in line for line in lines()), 15, "the sum of the others")
    seconds = time.monotonic() - began
    assert 20 <= len(lines()) <= 25 * (seconds + 2), (len(lines()), took)
    shown = bed.router.get("/v1/filters")
    assert shown["log"]["untold_packets"] > 1000, shown["log"]
    hits = {r["rule"]: r["packets"] for r in shown["filters"][0]["rules"]}
    assert hits["spoofed"] == bed.router.dropped("filter") > 5000
    assert "more flows than are told" in bed.router.cli("show", "filters")
    bed.router.check_balance()


# ---- Samples ----

def test_sample_goes_to_sflow_by_a_sub_agent_of_its_own(lab):
    config = {"sflow": {"collectors": [B4], "sampling": 1_000_000, "polling_s": 0},
              "filters": {"edge": {"in": ["a0"], "rules": [
                  {"name": "odd", "protocol": "udp", "dport": 7, "action": "drop", "sample": 1},
                  {"name": "some", "protocol": "udp", "dport": 8, "sample": 4}]}}}
    pair = make_pair(lab, config, start=False)
    collector = Collector(lab, pair.b.name, B4)
    pair.router.start(pair.config)
    with_neighbors(pair)
    send(pair.a, pair.mac["a0"], [udp(7) / b"odd"] * 20 + [udp(8) / b"some"] * 400 + [udp(9)] * 20, pace=1e-4)

    def told():
        s = pair.router.get("/v1/sflow")["samples"]
        assert s["waiting"] == 0 and s["chosen"] >= 20 and s["taken"] == s["exported"] + s["dropped"], s
        return s
    wait_for(told, 5, "all samples have left")
    time.sleep(1.3)
    assert not collector.faults, collector.faults
    chosen = [s for d in collector.datagrams if d.sub_agent == 1 for s in d.samples]
    odd = [s for s in chosen if s.rate == 1]
    some = [s for s in chosen if s.rate == 4]
    assert len(odd) == 20 and len(odd) + len(some) == len(chosen)
    assert all(Ether(s.header)[UDP].dport == 7 and s.output_format == 1 and s.output == 258 for s in odd)
    assert all(Ether(s.header)[UDP].dport == 8 and s.output_format == 0 for s in some)
    assert 50 <= len(some) <= 160, len(some)
    assert [s.sequence for s in chosen] == list(range(1, len(chosen) + 1))
    assert 380 <= chosen[-1].pool <= 420, chosen[-1].pool  # what has come since the last one is told with the next
    assert all(s.rate > 4 for d in collector.datagrams if d.sub_agent == 0 for s in d.samples)
    pair.router.check_balance()


def test_sample_without_sflow_says_so(lab):
    config = {"filters": {"edge": {"in": ["a0"], "rules": [{"protocol": "udp", "sample": 10}]}}}
    pair = make_pair(lab, config)
    line = "sample: sflow has no collectors, so nothing is sampled"
    assert line in pair.router.cli("show", "filters").replace("\n  ", " ")
    assert line in sh([HECTO, "check", pair.router.file], check=False)


# ---- Copies ----

def mirrored(lab, rules, c_mtu=1500, **port):
    ports = PORTS | {"c0": {"device": "vc", **port}}
    pair = make_pair(lab, {"filters": {"edge": {"in": ["a0"], "rules": rules}}}, start=False, ports=ports)
    pair.c = lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"], mtu=c_mtu)
    pair.router.start(pair.config)
    return with_neighbors(pair)


def test_mirror_has_what_is_dropped_and_what_goes_on(lab):
    pair = mirrored(lab, [{"name": "bad", "protocol": "udp", "dport": 7, "action": "drop", "mirror": "c0"},
                          {"name": "good", "protocol": "udp", "dport": 8, "mirror": "c0"},
                          {"name": "none", "protocol": "udp", "dport": 9}])
    before = pair.router.check_balance()["copies"]
    packets = [udp(7 + n % 3, sport=5000 + n) / Raw(b"<mirror>" + bytes(n)) for n in range(90)]
    with Wire(pair.c, promiscuous=True) as near, Wire(pair.b) as far:
        send(pair.a, pair.mac["a0"], packets)
        copies = near.receive(lambda f: b"<mirror>" in bytes(f), 90, 2)
        went = far.receive(lambda f: b"<mirror>" in bytes(f), 90, 1)
    wanted = [bytes(Ether(dst=pair.mac["a0"], src=pair.a.mac) / p) for p in packets]
    assert [bytes(f)[14:] for f in copies] == [w[14:] for n, w in enumerate(wanted) if n % 3 != 2]
    assert all(f.dst == pair.mac["a0"] for f in copies), "as they came, to whom they came"
    assert [f[UDP].sport - 5000 for f in went] == [n for n in range(90) if n % 3 != 0]
    assert all(f[IP].ttl == 63 for f in went)
    totals = pair.router.check_balance()
    assert totals["copies"] - before == 60, totals
    assert "copies for mirrors 60" in pair.router.cli("show", "drops").replace("\n", " "), "all of it adds up"


def test_mirror_where_there_is_no_room_loses_copies_alone(lab):
    """A port of a smaller MTU, then one that has gone: what is forwarded is forwarded, each lost copy counted."""
    pair = mirrored(lab, [{"name": "all", "protocol": "udp", "dport": 8, "mirror": "c0"}], mtu=600)
    packets = [udp(8) / Raw(b"<long>" + bytes(1000))] * 30 + [udp(8) / Raw(b"<short>")] * 30
    with Wire(pair.c, promiscuous=True) as near, Wire(pair.b) as far:
        send(pair.a, pair.mac["a0"], packets)
        assert len(far.receive(lambda f: UDP in f and f[UDP].dport == 8, 60, 3)) == 60
        assert len(near.receive(lambda f: b"<short>" in bytes(f), 60, 1)) == 30
    assert pair.router.dropped("mirror_too_long") == 30
    assert pair.router.check_balance()["copies"] == 60
    config = copy.deepcopy(pair.config)
    del config["ports"]["c0"]
    pair.router.write(config)
    assert "mirror" in pair.router.cli("reload", check=False), "a mirror to no port is refused"
    config["filters"]["edge"]["rules"][0].pop("mirror")
    pair.router.write(config)
    pair.router.cli("reload")
    with Wire(pair.b) as far:
        send(pair.a, pair.mac["a0"], packets)
        assert len(far.receive(lambda f: UDP in f and f[UDP].dport == 8, 60, 3)) == 60
    assert pair.router.check_balance()["copies"] == 60


def test_everything_of_a_rule_at_once_while_filters_change(lab):
    """Log, mirror and verdict of one rule, through reloads: no packet is lost, all are accounted for."""
    pair = mirrored(lab, [{"name": "all", "protocol": "icmp", "log": True, "mirror": "c0"}])
    flow = pair.a.start("ping -n -q -i 0.002 -c 1500 10.2.0.1", stdout=-1, text=True)
    for n in range(4):
        config = copy.deepcopy(pair.config)
        if n % 2 == 0:
            config["filters"]["edge"]["rules"] = [{"name": f"r{n}", "protocol": "icmp", "log": n == 0}]
        pair.router.write(config)
        pair.router.cli("reload")
        time.sleep(0.3)
    out = flow.communicate(timeout=60)[0]
    assert "1500 packets transmitted, 1500 received" in out, out
    assert pair.router.check_balance()["copies"] > 0
    assert "filter edge rule all: accept icmp 10.1.0.1 -> 10.2.0.1 type 8 code 0 on a0" in pair.router.log()
