"""Filters of the file: who may pass, at what rate, and what passed; against Linux's nftables where both can say
the same."""

import copy
import ipaddress
import json
import random
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, fragment
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from conftest import PORTS, make_pair
from lab import Namespace, sh, wait_for
from wire import Wire

A4, B4, A6, B6 = "10.1.0.1", "10.2.0.1", "fd00:1::1", "fd00:2::1"


class Bed:
    def __init__(self, lab, config, ports=None):
        self.pair = make_pair(lab, config, ports=ports)
        self.router, self.a, self.b = self.pair.router, self.pair.a, self.pair.b
        self.config = self.pair.config
        self.mac = {p["name"]: p["mac"] for p in self.router.get("/v1/ports")["ports"]}
        # Whatever the filters say of what finds neighbors.
        for host, port, addresses in ((self.a, "a0", (A4, A6)), (self.b, "b0", (B4, B6))):
            for address in addresses:
                self.router.linux_sh(["ip", "neighbor", "replace", address, "lladdr", host.mac, "dev", port])
                wait_for(lambda to=address: self.router.has_neighbor(to), 10, address)

    def passes(self, packets, timeout=2.0):
        """Which of the packets (without Ethernet) from a come out at b, by their place in the list."""
        run = f"{time.monotonic_ns()}-"
        with Wire(self.a) as near, Wire(self.b) as far:
            for number, packet in enumerate(packets):
                near.send(Ether(dst=self.mac["a0"]) / packet / Raw(f"<{run}{number}>".encode()))
            near.send(Ether(dst=self.mac["a0"]) / IP(src=A4, dst=B4, tos=4) / UDP(sport=1, dport=65000) / b"end" )
            seen = far.receive(lambda frame: run.encode() in bytes(frame), len(packets), timeout)
        return sorted(int(bytes(f).split(run.encode())[1].split(b">")[0]) for f in seen)

    def filter(self, name):
        return next(f for f in self.router.get("/v1/filters")["filters"] if f["name"] == name)

    def hits(self, name):
        shown = self.filter(name)
        return {r["rule"]: r["packets"] for r in shown["rules"]} | {"otherwise": shown["otherwise"]["packets"]}

    def reload(self, config, **more):
        self.router.write(config)
        return self.router.cli("reload", **more)


def udp(dport, src=A4, dst=B4, sport=4000):
    return (IPv6(src=src, dst=dst) if ":" in src else IP(src=src, dst=dst)) / UDP(sport=sport, dport=dport)


def tcp(dport, flags="S", src=A4, dst=B4):
    return (IPv6(src=src, dst=dst) if ":" in src else IP(src=src, dst=dst)) / TCP(sport=4000, dport=dport, flags=flags)


EDGE = {"filters": {"edge": {"in": ["a0"], "otherwise": "drop", "rules": [
    {"name": "bad", "from": "bogons", "action": "drop"},
    {"name": "dns", "protocol": "udp", "dport": 53},
    {"name": "web", "protocol": "tcp", "dport": [80, 443, "8000-8010"], "to": "10.2.0.0/24"},
    {"name": "back", "protocol": "tcp", "tcp_flags": {"ack": True}},
    {"name": "ping", "protocol": "icmp", "icmp_type": "echo-request"}]}},
    "sets": {"bogons": ["192.0.2.0/24", "2001:db8::/32"]}}


def test_the_first_rule_that_holds_decides(lab):
    bed = Bed(lab, EDGE)
    before = bed.hits("edge")
    cases = [(udp(53), True), (udp(54), False), (udp(53, "192.0.2.9"), False), (udp(53, A6, B6), True),
             (udp(53, "2001:db8::1", B6), False), (tcp(80), True), (tcp(8005), True), (tcp(8011), False),
             (tcp(80, src=A6, dst=B6), False), (tcp(9, "A"), True), (tcp(9, "SA"), True), (tcp(9, "S", A6, B6), False),
             (tcp(9, "R", A6, B6), False), (tcp(9, "RA", A6, B6), True),
             (IP(src=A4, dst=B4) / ICMP(type=8), True), (IP(src=A4, dst=B4) / ICMP(type=13), False),
             (IPv6(src=A6, dst=B6) / ICMPv6EchoRequest(), True),
             (IPv6(src=A6, dst=B6) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]) / UDP(dport=53), True),
             (IPv6(src=A6, dst=B6) / IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)]) / UDP(dport=52), False)]
    dropped = bed.router.dropped("filter")
    assert bed.passes([packet for packet, _ in cases]) == [n for n, (_, good) in enumerate(cases) if good]
    now = bed.hits("edge")
    grown = {rule: now[rule] - before[rule] for rule in now}
    assert grown["bad"] == 2 and grown["dns"] == 3 and grown["web"] == 2 and grown["back"] == 3, grown
    assert grown["ping"] >= 2, grown
    # With the end marker, and what the hosts send by themselves.
    # Of these neighbor solicitations of the hosts are not dropped.
    assert grown["otherwise"] >= 8, grown
    assert 10 <= bed.router.dropped("filter") - dropped <= grown["bad"] + grown["otherwise"]
    shown = bed.router.cli("show", "filters")
    assert "edge: in a0" in shown and "web" in shown, shown
    bed.router.check_balance()


def test_a_trace_names_the_drop(lab):
    bed = Bed(lab, EDGE)
    bed.a.start("ping -n -i 0.2 -p aa -Q 4 192.0.2.1")  # from A4: passes
    flood = udp(9)
    told = None

    def traced():
        status, answer = bed.router.request("POST", "/v1/trace", {"to": B4, "count": 1})
        assert status == 200, answer
        with Wire(bed.a) as wire:
            wire.send(Ether(dst=bed.mac["a0"]) / flood / b"x")
        read = lambda: bed.router.get(f"/v1/trace?id={answer['id']}")
        wait_for(lambda: read()["done"], 5, "traced")
        return read()["traces"][0]
    told = traced()
    assert told["outcome"] == "drop" and told["reason"] == "filter", told


@pytest.mark.parametrize("kind", [4, 6])
def test_what_is_for_the_router_itself(lab, kind):
    """`local`: pings of the router are dropped, all else of it goes on, and what is forwarded is not asked."""
    bed = Bed(lab, {"filters": {"me": {"local": True, "rules": [
        {"name": "pings", "protocol": "icmp", "icmp_type": "echo-request", "from": "10.1.0.0/24", "action": "drop"},
        {"name": "pings6", "protocol": "icmp", "icmp_type": "echo-request", "from": "fd00:1::/64", "action": "drop"}]}}})
    own, far, near = (("10.1.0.254", B4, "10.2.0.254") if kind == 4 else ("fd00:1::fe", B6, "fd00:2::fe"))
    assert " 0 received" in bed.a.ping(own, count=2, timeout=1, ok=False)
    assert " 0 received" in bed.a.ping(near, count=2, timeout=1, ok=False), "whichever of its addresses"
    bed.a.ping(far)
    bed.b.ping(near)
    assert bed.hits("me")["pings" if kind == 4 else "pings6"] == 4
    bed.router.check_balance()


def test_out_and_in(lab):
    """By where they leave: replies to b are not asked by a filter of b0's `in`."""
    bed = Bed(lab, {"filters": {"to-b": {"out": ["b0"], "rules": [
        {"name": "telnet", "protocol": "tcp", "dport": 23, "action": "drop"}]},
        "from-b": {"in": ["b0"], "rules": [{"name": "mine", "protocol": "udp", "sport": 4000, "action": "drop"}]}}})
    assert bed.passes([tcp(23), tcp(22), udp(23), tcp(23, src=A6, dst=B6)]) == [1, 2]
    assert bed.hits("to-b")["telnet"] == 2 and bed.hits("from-b")["mine"] == 0


def test_fragments(lab):
    """The first has ports, the others do not: they pass by a rule of their own or not at all."""
    config = {"filters": {"f": {"in": ["a0"], "otherwise": "drop", "rules": [
        {"name": "dns", "protocol": "udp", "dport": 53}, {"name": "icmp", "protocol": "icmp"}]}}}
    bed = Bed(lab, config)
    whole = IP(src=A4, dst=B4, id=77) / UDP(sport=4000, dport=53) / Raw(b"x" * 1000)
    parts = fragment(whole, 400)
    assert bed.passes(parts) == [0]
    six = [IPv6(src=A6, dst=B6) / IPv6ExtHdrFragment(id=9, m=1, offset=0) / UDP(sport=4000, dport=53, len=100) / Raw(b"y" * 32),
           IPv6(src=A6, dst=B6) / IPv6ExtHdrFragment(id=9, m=0, offset=5, nh=17) / Raw(b"z" * 32)]
    assert bed.passes(six) == [0]
    wider = copy.deepcopy(config)
    wider["filters"]["f"]["rules"].append({"name": "rest", "fragments": "later"})
    bed.reload(bed.config | wider)
    assert bed.passes(parts) == list(range(len(parts)))
    assert bed.passes(six) == [0, 1]
    assert bed.hits("f")["rest"] == len(parts)


def test_reload_keeps_counts_and_a_typo_changes_nothing(lab):
    bed = Bed(lab, EDGE)
    assert bed.passes([udp(53)] * 3) == [0, 1, 2]
    assert bed.hits("edge")["dns"] == 3
    config = copy.deepcopy(bed.config)
    rules = config["filters"]["edge"]["rules"]
    rules.insert(1, {"name": "ntp", "protocol": "udp", "dport": 123})
    bed.reload(config)
    assert bed.passes([udp(123), udp(53)]) == [0, 1]
    assert bed.hits("edge")["dns"] == 4 and bed.hits("edge")["ntp"] == 1
    for wrong, word in (({"from": "bogon"}, "bogons"), ({"protocol": "tcpp"}, "tcp"), ({"dport": 53}, "protocol"),
                        ({"action": "dorp"}, "drop"), ({"police": "nobody"}, "policer")):
        broken = copy.deepcopy(config)
        broken["filters"]["edge"]["rules"][1].pop("protocol") if wrong == {"dport": 53} else None
        broken["filters"]["edge"]["rules"][1] |= wrong
        bed.router.write(broken)
        out = bed.router.cli("reload", check=False)
        assert "refused" in out and word in out and "hecto.yaml:" in out, out
    assert bed.passes([udp(123), udp(54)]) == [0], "what ran runs on"
    without = {key: value for key, value in bed.config.items() if key not in ("filters", "sets")}
    bed.reload(without)
    assert bed.passes([udp(54), udp(9, "192.0.2.1")]) == [0, 1]
    assert bed.router.get("/v1/filters")["filters"] == []


def test_a_prefix_is_blocked_by_one_command(lab):
    """What a script of flowspec would do; a set keeps its file's prefixes."""
    listed = lab.folder / "blocked.txt"
    listed.write_text("# of the morning\n203.0.113.0/24\n2001:db8:bad::/48\n")
    bed = Bed(lab, {"sets": {"blocked": {"file": str(listed)}}, "filters": {
        "edge": {"in": ["a0"], "rules": [{"name": "blocked", "from": "blocked", "action": "drop"},
                                         {"name": "to-blocked", "to": "blocked", "action": "drop"}]}}})
    assert bed.passes([udp(9, "203.0.113.9"), udp(9, "203.0.112.9"), udp(9, "2001:db8:bad::1", B6)]) == [1]
    assert "3 prefixes" in bed.router.cli("set", "add", "blocked", "203.0.112.0/24")
    assert bed.passes([udp(9, "203.0.112.9"), udp(9)]) == [1]
    assert "2 prefixes" in bed.router.cli("set", "delete", "blocked", "203.0.112.0/24")
    assert bed.passes([udp(9, "203.0.112.9")]) == [0]
    out = bed.router.cli("set", "delete", "blocked", "203.0.113.0/24", check=False)
    assert str(listed) in out, out
    assert "none of that name" in bed.router.cli("set", "add", "blokced", "10.0.0.0/8", check=False)
    assert bed.hits("edge")["blocked"] == 3


def test_a_port_that_comes_is_filtered_from_its_first_packet(lab):
    config = {"ports": {"b0": PORTS["b0"]},
              "filters": {"edge": {"in": ["a0"], "rules": [{"name": "none", "action": "drop"}]}}}
    pair = make_pair(lab, config)
    router = pair.router
    assert "a0" in json.dumps(router.get("/v1/filters")["filters"][0]["notes"])
    with Wire(pair.a) as wire, Wire(pair.b) as far:
        router.write(pair.config | {"ports": PORTS})
        packet = Ether(dst="02:00:00:00:00:99") / udp(9) / b"early-bird"
        router.cli("reload")
        mac = next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == "a0")
        packet.dst = mac
        wire.send(packet, count=50)
        assert far.receive(lambda f: b"early-bird" in bytes(f), 1, 1.0) == []
    assert router.get("/v1/filters")["filters"][0]["rules"][0]["packets"] >= 50


def test_policer(lab):
    """A burst passes as far as the bucket goes; all is counted, none twice."""
    bed = Bed(lab, {"policers": {"slow": {"rate": "8kbps", "burst": "20kB"}},
                    "filters": {"edge": {"in": ["a0"], "rules": [
                        {"name": "udp", "protocol": "udp", "dport": 7, "police": "slow"}]}}})
    packets = [udp(7) / Raw(b"x" * 900)] * 100
    passed = bed.passes(packets)
    policer, = bed.router.get("/v1/filters")["policers"]
    green, red = policer["green"], policer["red"]
    assert green["packets"] == len(passed) and green["packets"] + red["packets"] == 100, policer
    # 20 kB hold 21 packets of about 950 bytes; 8 kb/s bring one a second.
    assert 20 <= len(passed) <= 30, policer
    assert bed.router.dropped("policed") == red["packets"]
    assert bed.hits("edge")["udp"] == 100
    bed.router.check_balance()


def test_no_packet_is_lost_while_filters_change(lab):
    """A flow that both the old and the new rules accept, while others around it come and go."""
    bed = Bed(lab, EDGE)
    flow = bed.a.start("ping -n -q -i 0.002 -c 2500 10.2.0.1", stdout=-1, text=True)
    other = copy.deepcopy(bed.config)
    other["filters"]["edge"]["rules"] = [{"name": f"r{n}", "protocol": "udp", "dport": 1000 + n} for n in range(500)] \
        + other["filters"]["edge"]["rules"][4:]
    for n in range(4):
        bed.reload(other if n % 2 == 0 else bed.config)
    out = flow.communicate(timeout=60)[0]
    assert "2500 packets transmitted, 2500 received" in out, out


def many_rules(count, seed=5):
    """Of lengths and spans of ports at random: what took rte_acl more than a minute."""
    dice = random.Random(seed)

    def prefix():
        length = dice.randint(8, 32)
        return f"{ipaddress.ip_address(dice.getrandbits(32) >> (32 - length) << (32 - length))}/{length}"

    def span():
        low, high = sorted((dice.randint(1, 65535), dice.randint(1, 65535)))
        return f"{low}-{high}"
    return [{"from": prefix(), "to": prefix(), "protocol": "udp", "sport": span(), "dport": span(), "action": "drop"}
            for _ in range(count)]


def test_many_rules_come_and_go_without_a_loss(lab):
    """20,000 rules at random: a reload takes seconds at most, and going back, which nobody asks for, is a swap: no turn of
    control is long."""
    bed = Bed(lab, EDGE)
    flow = bed.a.start("ping -n -q -i 0.005 -c 3000 10.2.0.1", stdout=-1, text=True)
    many = copy.deepcopy(bed.config)
    many["filters"]["edge"]["rules"] = [{"protocol": "icmp"}] + many_rules(20_000)
    bed.reload(many)
    assert bed.filter("edge")["left_out"] > 0
    few = copy.deepcopy(bed.config)
    bed.router.write(few)
    bed.router.cli("reload", "--confirm", "2s")
    began = time.monotonic()
    wait_for(lambda: bed.filter("edge")["left_out"] > 0, 10, "the rules before")
    assert time.monotonic() - began < 6
    assert bed.router.log().count("20001 rules are compiled") == 1, "going back compiles nothing"
    out = flow.communicate(timeout=60)[0]
    assert "3000 packets transmitted, 3000 received" in out, out
    bed.router.check_balance()


def test_who_only_drops_still_has_neighbors(lab):
    """`otherwise: drop` leaves the link its ARP and its neighbor discovery, and no more; a rule by name is obeyed."""
    config = {"filters": {"closed": {"in": ["a0"], "local": True, "otherwise": "drop", "rules": [
        {"name": "there", "to": "10.2.0.0/24"}, {"name": "there6", "to": "fd00:2::/64"}]}}}
    pair = make_pair(lab, config)
    for far in (B4, B6):
        pair.a.ping(far, count=1, ok=False)
        pair.a.ping(far)
    assert " 0 received" in pair.a.ping("fd00:1::fe", count=2, timeout=1, ok=False)
    by_name = copy.deepcopy(pair.config)
    by_name["filters"]["closed"]["rules"].insert(0, {"name": "nd", "protocol": "icmp", "family": "ipv6", "action": "drop",
                                                     "to": "ff00::/8"})
    pair.router.write(by_name)
    pair.router.cli("reload")
    pair.a.sh("ip -6 neighbor flush dev e0")
    assert " 0 received" in pair.a.ping(B6, count=2, timeout=1, ok=False)
    pair.a.ping(B4)
