"""Policy rules of Linux (`ip rule`) and its tables: they hold for what hectod forwards, at once and in both
families. The oracle is the kernel: `ip route get ... iif`."""

import time

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import PORTS, make_pair
from lab import wait_for
from wire import Wire

THIRD = {**PORTS, "c0": {"device": "vc", "addresses": ["10.3.0.254/24", "fd00:3::fe/64"]}}


def make_three(lab):
    """a, b as in make_pair(), and c beside b: to 10.9.0.0/16 main leads by b, table 200 by c."""
    c = None

    def before(router):
        nonlocal c
        c = lab.host("c", router.space, "vc", ["10.3.0.1/24", "fd00:3::1/64"],
                     ["10.3.0.254", "fd00:3::fe"])
    pair = make_pair(lab, start=False)
    before(pair.router)
    pair.router.start({"ports": THIRD})
    linux = pair.router.linux_sh
    for option, far, by_b, by_c in (("-4", "10.9.0.0/16", "10.2.0.1", "10.3.0.1"),
                                    ("-6", "fd00:9::/32", "fd00:2::1", "fd00:3::1")):
        linux(f"ip {option} route add {far} via {by_b} dev b0")
        linux(f"ip {option} route add {far} via {by_c} dev c0 table 200")
    for host, address in ((pair.b, "10.2.0.1"), (c, "10.3.0.1")):
        for far in ("10.1.0.254", "fd00:1::fe"):
            host.ping(far, count=1, ok=False)
    linux("ping -n -c 1 -W 2 10.3.0.1", check=False)
    linux("ping -n -c 1 -W 2 fd00:3::1", check=False)
    linux("ping -n -c 1 -W 2 fd00:2::1", check=False)
    wait_for(lambda: pair.router.has_neighbor("10.2.0.1") and pair.router.has_neighbor("fd00:2::1"),
             5, "b is known")
    pair.c = c
    return pair


def ways(three, kind, source, far, count=1, **more):
    """The hosts at which packets from source to far came out of the router."""
    marker = f"rules-{time.monotonic_ns()}".encode()
    mac = next(p["mac"] for p in three.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    packet = Ether(dst=mac) / kind(src=source, dst=far) / UDP(**{"sport": 7, "dport": 9, **more}) / marker
    seen = {}
    with Wire(three.b) as at_b, Wire(three.c) as at_c, Wire(three.a) as at_a:
        at_a.send(packet, count=count)
        for name, wire in (("b", at_b), ("c", at_c)):
            for each in wire.receive(lambda p: marker in bytes(p) and UDP in p, count, 0.7):
                seen[name] = seen.get(name, 0) + 1
    return seen


def linux_says(three, source, far):
    """The device that the kernel chooses for it; None: it refuses."""
    out = three.router.linux_sh(f"ip route get {far} from {source} iif a0", check=False)
    words = out.split()
    return words[words.index("dev") + 1] if "dev" in words else None


@pytest.mark.parametrize("kind, near, far, option", [
    (IP, "10.1.0.{}", "10.9.0.1", "-4"), (IPv6, "fd00:1::{}", "fd00:9::1", "-6")], ids=["v4", "v6"])
def test_a_source_goes_by_its_own_table(lab, kind, near, far, option):
    three = make_three(lab)
    linux = three.router.linux_sh
    mine, other = near.format(100), near.format(50)
    assert ways(three, kind, mine, far) == {"b": 1}

    linux(f"ip {option} rule add from {mine} lookup 200 pref 200")
    wait_for(lambda: any(f"from {mine} lookup 200" in r["rule"] and r["done_by"] == "hecto"
                         for r in three.router.get("/v1/rules")["rules"]), 5, "the rule")
    wait_for(lambda: ways(three, kind, mine, far) == {"c": 1}, 8, "it leaves by c")
    assert linux_says(three, mine, far) == "c0" and linux_says(three, other, far) == "b0"
    punted = three.router.get("/v1/drops")["totals"]["punted"]
    assert ways(three, kind, mine, far, count=20) == {"c": 20}
    assert ways(three, kind, other, far, count=20) == {"b": 20}
    assert three.router.punted("policy_rule") == 0
    assert three.router.get("/v1/drops")["totals"]["punted"] - punted < 20, "the fast path sends both"
    assert not any("policy rules" in line for line in three.router.get("/v1/summary")["warnings"])
    assert f"from {mine} lookup 200" in str(three.router.cli("show", "rules"))
    shown = {t["name"]: t for t in three.router.get("/v1/tables")["tables"]}
    assert shown["200"]["rules"] == 1 and shown["200"]["ipv4_prefixes"] >= 1, shown
    assert "10.3.0.1" in str(three.router.cli("show", "routes", "--table", "200"))

    linux(f"ip {option} route flush table 200")
    wait_for(lambda: ways(three, kind, mine, far) == {"b": 1}, 5, "without its route main's holds")
    linux(f"ip {option} rule del pref 200")
    wait_for(lambda: all("200" not in r["rule"] for r in three.router.get("/v1/rules")["rules"]), 5, "no rule")
    assert ways(three, kind, mine, far, count=20) == {"b": 20}
    three.router.check_balance()


# Two NICs in one network and answers that leave by the NIC that they came in by: the rules and routes of
# config/examples/two-uplinks.yaml.
def test_answers_leave_by_the_nic_that_was_asked(lab):
    three = make_three(lab)
    linux = three.router.linux_sh
    for line in ("ip route add default via 10.2.0.1 dev b0", "ip route add default via 10.3.0.1 dev c0 table exp",
                 "ip rule add from 10.1.0.100 table exp prio 200"):
        linux(line.replace("exp", "1001"))
    wait_for(lambda: ways(three, IP, "10.1.0.100", "8.8.8.8") == {"c": 1}, 8, "it leaves by c")
    assert ways(three, IP, "10.1.0.101", "8.8.8.8") == {"b": 1}
    assert three.router.punted("policy_rule") == 0
    three.router.check_balance()


def test_a_vrf_by_rules_keeps_its_routes_apart(lab):
    """What comes in by a0 has a table of its own, with the same prefixes as main, as in a VRF, and nothing leaks."""
    three = make_three(lab)
    linux = three.router.linux_sh
    for option, far, by_c, near in (("-4", "10.9.0.0/16", "10.3.0.1", "10.1.0.0/24"),
                                    ("-6", "fd00:9::/32", "fd00:3::1", "fd00:1::/64")):
        linux(f"ip {option} route add {far} via {by_c} dev c0 table 10")
        linux(f"ip {option} route add {near} dev a0 table 10")
        linux(f"ip {option} route add unreachable default metric 4278198272 table 10")
        linux(f"ip {option} rule add iif a0 lookup 10 pref 1000")
    wait_for(lambda: ways(three, IP, "10.1.0.5", "10.9.0.1") == {"c": 1}, 8, "IPv4")
    wait_for(lambda: ways(three, IPv6, "fd00:1::5", "fd00:9::1") == {"c": 1}, 8, "IPv6")
    assert linux_says(three, "10.1.0.5", "10.9.0.1") == "c0"
    assert ways(three, IP, "10.1.0.5", "10.2.0.1") == {}, "main's connected networks are not its own"
    assert linux_says(three, "10.1.0.5", "10.2.0.1") is None
    # The table of the interface is looked at first where local stands behind it.
    for option in ("-4", "-6"):
        linux(f"ip {option} rule add lookup local pref 32765")
        linux(f"ip {option} rule del pref 0")
    wait_for(lambda: ways(three, IP, "10.1.0.5", "10.9.0.1", count=10) == {"c": 10}, 8, "still IPv4")
    assert ways(three, IPv6, "fd00:1::5", "fd00:9::1", count=10) == {"c": 10}
    assert ways(three, IP, "10.1.0.5", "10.2.0.1") == {}
    assert three.router.punted("policy_rule") == 0
    three.router.check_balance()


def test_a_table_that_changes_under_a_rule_loses_nothing(lab):
    three = make_three(lab)
    linux = three.router.linux_sh
    linux("ip rule add from 10.1.0.0/24 lookup 200 pref 100")
    wait_for(lambda: ways(three, IP, "10.1.0.5", "10.9.0.1") == {"c": 1}, 8, "it leaves by c")
    marker = b"table-flap"
    mac = next(p["mac"] for p in three.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    packet = Ether(dst=mac) / IP(src="10.1.0.5", dst="10.9.0.1") / UDP(sport=7, dport=9) / marker
    with Wire(three.b) as at_b, Wire(three.c) as at_c, Wire(three.a) as at_a:
        for _ in range(20):
            linux("ip route del 10.9.0.0/16 table 200")
            at_a.send(packet, count=5)
            linux("ip route add 10.9.0.0/16 via 10.3.0.1 dev c0 table 200")
            at_a.send(packet, count=5)
        came = [len(wire.receive(lambda p: marker in bytes(p), 200, 2)) for wire in (at_b, at_c)]
    assert sum(came) == 200 and min(came) > 0, came
    three.router.check_balance()


@pytest.mark.parametrize("action, reason", [("blackhole", "blackhole"), ("prohibit", "prohibit"),
                                            ("unreachable", "unreachable")])
def test_rules_that_refuse(lab, action, reason):
    three = make_three(lab)
    three.router.linux_sh(f"ip rule add iif a0 to 10.9.7.0/24 pref 100 {action}")
    wait_for(lambda: ways(three, IP, "10.1.0.5", "10.9.7.1") == {}, 5, "the rule holds")
    marker = f"10.9.7.1"
    mac = next(p["mac"] for p in three.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    with Wire(three.a) as wire:
        wire.send(Ether(dst=mac, src=three.a.mac) / IP(src="10.1.0.1", dst=marker) / UDP(sport=1, dport=9))
        told = wire.receive(lambda p: ICMP in p and p[ICMP].type == 3, 1, 2)
    assert len(told) == (0 if action == "blackhole" else 1), told
    assert (three.router.dropped(reason) or three.router.punted(reason)) > 0
    assert ways(three, IP, "10.1.0.5", "10.9.8.1") == {"b": 1}
    assert linux_says(three, "10.1.0.5", "10.9.7.1") is None
    assert not any("policy rules" in line for line in three.router.get("/v1/summary")["warnings"]), \
        "hectod does what these say"
    three.router.check_balance()


def test_rules_agree_with_the_kernel(lab):
    """Priorities, goto, not, iif, tos, ports: what comes out of hectod is where `ip route get` points."""
    three = make_three(lab)
    for rule in ("from 10.1.0.0/25 goto 300 pref 100", "from 10.1.0.200 lookup 200 pref 150",
                 "not from 10.1.0.0/24 lookup 200 pref 160", "to 10.9.3.0/24 lookup 200 pref 300",
                 "from 10.1.0.7 to 10.9.0.0/16 lookup 200 pref 310", "iif b0 lookup 200 pref 320",
                 "tos 0x10 from 10.1.0.8 lookup 200 pref 325",
                 "to 10.9.4.0/24 lookup main suppress_prefixlength 16 pref 330",
                 "to 10.9.4.0/24 lookup 200 pref 331", "from 10.1.0.9 lookup 777 pref 340"):
        three.router.linux_sh(f"ip rule add {rule}")
    wait_for(lambda: len(three.router.get("/v1/rules")["rules"]) == 10 + 5, 5, "all rules")
    wait_for(lambda: ways(three, IP, "10.1.0.7", "10.9.0.1") == {"c": 1}, 5, "they hold")
    for source in ("10.1.0.5", "10.1.0.7", "10.1.0.9", "10.1.0.200", "10.1.0.201", "172.16.0.1"):
        for far in ("10.9.0.1", "10.9.3.1", "10.9.4.1"):
            device = linux_says(three, source, far)
            assert device, (source, far)
            assert ways(three, IP, source, far) == {device[0]: 1}, (source, far, device)
    three.router.check_balance()


def test_rules_by_port(lab):
    three = make_three(lab)
    three.router.linux_sh("ip rule add ipproto udp dport 53 lookup 200 pref 100")
    wait_for(lambda: ways(three, IP, "10.1.0.5", "10.9.0.1", dport=53) == {"c": 1}, 5, "the rule holds")
    before = three.router.punted("policy_rule")
    assert ways(three, IP, "10.1.0.5", "10.9.0.1", dport=54, count=10) == {"b": 10}
    assert three.router.punted("policy_rule") == before, "port 54 stays with the fast path"


def test_a_rule_that_comes_and_goes_loses_nothing(lab):
    """While a rule that holds for nobody here comes and goes, all is forwarded."""
    three = make_three(lab)
    marker = b"rules-flap"
    mac = next(p["mac"] for p in three.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    packet = Ether(dst=mac) / IP(src="10.1.0.5", dst="10.9.0.1") / UDP(sport=7, dport=9) / marker
    with Wire(three.b) as at_b, Wire(three.a) as at_a:
        for _ in range(20):
            three.router.linux_sh("ip rule add from 192.0.2.0/24 lookup 200 pref 100")
            at_a.send(packet, count=5)
            three.router.linux_sh("ip rule del pref 100")
            at_a.send(packet, count=5)
        came = at_b.receive(lambda p: marker in bytes(p), 200, 3)
    assert len(came) == 200
    three.router.check_balance()
