"""Filters that lead packets: by their mark, which policy rules of Linux ask for (`ip rule fwmark`), and by the
table or VRF that a rule names. Asserted is the port that a packet leaves by; Linux, which knows of none of that,
gets no such packet."""

import copy

import pytest
from scapy.layers.inet import IP
from scapy.layers.inet6 import IPv6

from lab import wait_for
from test_rules import THIRD, make_three, ways
from test_static_vrfs import Bed, NEAR, FAR

FAMILIES = pytest.mark.parametrize("kind, near, far, by_c, option", [
    (IP, "10.1.0.1", "10.9.0.1", "10.3.0.1", "-4"), (IPv6, "fd00:1::1", "fd00:9::1", "fd00:3::1", "-6")],
    ids=["v4", "v6"])


def edge(rules, **more):
    return {"filters": {"edge": {"in": ["a0"], "rules": rules}}, **more}


def reload(three, config):
    three.config = {"ports": copy.deepcopy(THIRD), **config}
    three.router.write(three.config)
    return three.router.cli("reload")


def rule_of(three, word):
    return [r for r in three.router.get("/v1/rules")["rules"] if word in r["rule"]]


def forget(three, address):
    """Linux does not know that neighbor any more, and hectod has heard it."""
    three.router.linux_sh(f"ip neighbor del {address} dev c0", check=False)
    wait_for(lambda: not three.router.has_neighbor(address), 5, f"{address} is forgotten")


def notes(three):
    return three.router.get("/v1/filters")["filters"][0]["notes"]


@FAMILIES
def test_a_mark_chooses_the_table(lab, kind, near, far, by_c, option):
    three = make_three(lab)
    router = three.router
    reload(three, edge([{"protocol": "udp", "dport": 9, "set_mark": 0x301}, {"protocol": "udp", "dport": 11, "set_mark": 2}]))
    assert ways(three, kind, near, far) == {"b": 1}, "no rule asks for a mark"
    router.linux_sh(f"ip {option} rule add fwmark 0x1/0xff lookup 200 pref 200")
    wait_for(lambda: [r["done_by"] for r in rule_of(three, "fwmark")] == ["hecto"], 5, "the rule")
    forget(three, by_c)
    unresolved = router.dropped("filter_unresolved")
    first = ways(three, kind, near, far, count=3)
    assert "b" not in first, f"Linux was given what it sends by main: {first}"
    assert router.dropped("filter_unresolved") > unresolved
    wait_for(lambda: ways(three, kind, near, far) == {"c": 1}, 8, "Linux was asked for the neighbor")
    assert ways(three, kind, near, far, count=20) == {"c": 20}
    assert ways(three, kind, near, far, dport=10, count=20) == {"b": 20}, "without a mark"
    assert ways(three, kind, near, far, dport=11, count=20) == {"b": 20}, "with another one"
    assert router.punted("policy_rule") == 0

    # Where the table leads nowhere Linux would take main's way.
    router.linux_sh(f"ip {option} route replace unreachable default table 200 metric 5000")
    router.linux_sh(f"ip {option} route del {'10.9.0.0/16' if option == '-4' else 'fd00:9::/32'} table 200")
    led = router.dropped("filter_led")
    wait_for(lambda: ways(three, kind, near, far) == {}, 5, "it leaves nowhere")
    assert router.dropped("filter_led") > led

    # Nobody gives marks: what they may hold for is Linux's again.
    reload(three, edge([{"protocol": "udp", "dport": 9}]))
    wait_for(lambda: [r["done_by"] for r in rule_of(three, "fwmark")] == ["linux"], 5, "Linux's rule")
    ways(three, kind, near, far)
    wait_for(lambda: router.punted("policy_rule") > 0, 5, "Linux decides")
    router.check_balance()


@FAMILIES
def test_a_rule_names_its_table(lab, kind, near, far, by_c, option):
    three = make_three(lab)
    router = three.router
    named = {"protocol": "udp", "from": near, "table": 300}
    reload(three, edge([named]))
    assert notes(three) == ["table 300 has no routes (now): packets that rules send there are dropped (filter_led)"]
    assert ways(three, kind, near, far) == {}, "never main's"
    assert router.dropped("filter_led") >= 1
    router.linux_sh(f"ip {option} route add default via {by_c} dev c0 table 300")
    wait_for(lambda: ways(three, kind, near, far) == {"c": 1}, 8, "it leaves by c")
    assert notes(three) == []
    assert ways(three, kind, near, far, count=20) == {"c": 20}
    assert ways(three, kind, near[:-1] + "7", far, count=20) == {"b": 20}
    shown = router.get(f"/v1/routes?address={far}&from={near}&interface=a0")
    assert shown["verdict"] == "forward" and by_c in str(shown["next_hop"]), shown
    shown = router.get(f"/v1/routes?address={far}&from={near[:-1]}7&interface=a0")
    assert by_c not in str(shown["next_hop"]), shown

    # A rule of Linux's has no say, and the router itself is reached.
    router.linux_sh(f"ip {option} rule add blackhole pref 100")
    wait_for(lambda: ways(three, kind, near[:-1] + "7", far) == {}, 5, "the rule")
    assert ways(three, kind, near, far, count=20) == {"c": 20}
    router.linux_sh(f"ip {option} rule del pref 100")
    router.check_balance()


def test_a_vrf_that_is_not_there_drops(lab):
    three = make_three(lab)
    reload(three, edge([{"protocol": "udp", "dport": 9, "vrf": "red"}]))
    assert notes(three) == ["rule 1: there is no VRF red (now), or no room for it: its packets are dropped "
                            "(filter_no_table)"]
    assert ways(three, IP, "10.1.0.1", "10.9.0.1") == {}
    assert three.router.dropped("filter_no_table") >= 1
    assert ways(three, IP, "10.1.0.1", "10.9.0.1", dport=10) == {"b": 1}
    three.router.check_balance()


def test_a_table_where_packets_leave_is_refused(lab):
    three = make_three(lab)
    three.router.write({"ports": THIRD, "filters": {"edge": {"out": ["b0"], "rules": [{"protocol": "udp", "table": 200}]}}})
    said = three.router.cli("reload", check=False)
    assert "table and vrf of a rule are done where packets come in" in said, said


def test_into_a_vrf_and_out_of_it(lab):
    """Static mode: b0 is in red, a0 and c0 are main's; a rule lets chosen packets change over."""
    bed = Bed(lab, {"a0": 1, "b0": 2, "c0": 3})
    config = {"linux": False, "vrfs": {"red": {"table": 10}}, "neighbors": bed.neighbors,
              "ports": {"a0": {"device": "va0", "addresses": NEAR},
                        "b0": {"device": "vb0", "vrf": "red", "addresses": FAR},
                        "c0": {"device": "vc0", "addresses": ["10.3.0.254/24", "fd00:3::fe/64"]}},
              "routes": [{"to": "10.9.0.0/16", "via": "10.3.0.1"}, {"to": "10.9.0.0/16", "via": "10.2.0.1", "vrf": "red"}],
              "filters": {"in": {"in": ["a0"], "rules": [{"protocol": "udp", "dport": 9, "vrf": "red"}]},
                          "out": {"vrfs": ["red"], "rules": [{"protocol": "udp", "dport": 9, "table": "main"}]}}}
    bed.start(config)
    assert bed.ways("a0", IP, "10.1.0.1", "10.9.0.1", count=5) == {"b0": 5}
    assert bed.ways("a0", IP, "10.1.0.1", "10.9.0.1", count=5, dport=10) == {"c0": 5}
    assert bed.ways("a0", IP, "10.1.0.1", "10.2.0.1", count=5) == {"b0": 5}, "its own network"
    assert bed.ways("a0", IP, "10.1.0.1", "10.2.0.1", count=5, dport=10) == {}
    assert bed.ways("b0", IP, "10.2.0.1", "10.3.0.1", count=5) == {"c0": 5}
    assert bed.ways("b0", IP, "10.2.0.1", "10.3.0.1", count=5, dport=10) == {}
    bed.router.check_balance()
