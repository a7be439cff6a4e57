"""Flows over many next hops: which way each takes, and which of them a change may move."""

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import PORTS, make_pair
from lab import wait_for
from wire import Wire

MEMBERS = 16
FLOWS = 640


def gateway(family, member):
    return f"10.2.0.{100 + member}" if family == 4 else f"fd00:2::{100 + member}"


def mac(member):
    return f"02:00:00:00:01:{member:02x}"


def neighbors(router):
    """Ways that one wire can tell apart: a MAC each."""
    for family in (4, 6):
        for member in range(MEMBERS):
            router.linux_sh(["ip", "neigh", "replace", gateway(family, member), "lladdr", mac(member),
                             "nud", "permanent", "dev", "b0"])


def flow(router, family, number, to):
    ip = (IP(src="10.1.0.1", dst=f"10.9.{number // 250}.{1 + number % 250}") if family == 4
          else IPv6(src="fd00:1::1", dst=f"fd00:9::{1 + number:x}"))
    return Ether(dst=to) / ip / UDP(sport=5000 + number, dport=7) / (b"flow %05d" % number)


def mac_of(router, name):
    return next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == name)


def ways(bed, family, numbers=range(FLOWS)):
    """Flow number -> the member that it leaves by, of those that arrive."""
    found = {}
    to = mac_of(bed.router, "a0")
    with Wire(bed.b, promiscuous=True) as at_b, Wire(bed.a) as at_a:
        for start in range(0, len(numbers), 64):
            some = numbers[start:start + 64]
            for number in some:
                at_a.send(flow(bed.router, family, number, to))
            for frame in at_b.receive(lambda f: b"flow " in bytes(f), len(some), 2):
                number = int(bytes(frame).split(b"flow ")[1][:5])
                assert number not in found, f"flow {number} came twice"
                found[number] = int(frame[Ether].dst.split(":")[5], 16)
    return found


def group(router, family):
    prefix = "10.9.0.0/16" if family == 4 else "fd00:9::/64"
    return prefix, {4: "10.9.0.1", 6: "fd00:9::1"}[family]


def route_by_linux(bed, family, members):
    prefix, _ = group(bed.router, family)
    hops = " ".join(f"nexthop via {gateway(family, m)} dev b0" for m in members)
    bed.router.linux_sh(f"ip route replace {prefix} {hops}")


def route_by_object(bed, family, members):
    prefix, _ = group(bed.router, family)
    for m in members:
        bed.router.linux_sh(f"ip nexthop replace id {family}{100 + m} via {gateway(family, m)} dev b0")
    ids = "/".join(f"{family}{100 + m}" for m in members)
    # Another object for the changed set: a daemon that makes a new one for each set does so.
    number = f"{family}{900 + len(members)}"
    bed.router.linux_sh(f"ip nexthop replace id {number} group {ids}")
    bed.router.linux_sh(f"ip route replace {prefix} nhid {number}")


def route_by_file(bed, family, members):
    prefix, _ = group(bed.router, family)
    config = dict(bed.config)
    config["routes"] = [{"to": prefix, "via": [{"gateway": gateway(family, m)} for m in members]}]
    bed.router.write(config)
    bed.router.cli("reload")


def members_now(router, family):
    answer = router.explain(group(router, family)[1])
    return len((answer.get("next_hop") or {}).get("members", []))


@pytest.mark.parametrize("family", (4, 6))
@pytest.mark.parametrize("by", (route_by_linux, route_by_object, route_by_file))
def test_a_member_that_leaves_moves_its_own_flows_alone(lab, by, family):
    bed = make_pair(lab)
    neighbors(bed.router)
    by(bed, family, range(MEMBERS))
    wait_for(lambda: members_now(bed.router, family) == MEMBERS, 5, "all members")
    before = ways(bed, family)
    assert len(before) == FLOWS
    assert len(set(before.values())) == MEMBERS, "a member without a flow"
    gone = 5
    by(bed, family, [m for m in range(MEMBERS) if m != gone])
    wait_for(lambda: members_now(bed.router, family) == MEMBERS - 1, 5, "one member less")
    after = ways(bed, family)
    assert len(after) == FLOWS
    moved = {n for n in before if before[n] != after[n]}
    assert moved == {n for n in before if before[n] == gone}
    assert len({after[n] for n in moved}) > MEMBERS // 3, "the flows of one went to few"
    # Back again: no more than its own share moves.
    by(bed, family, range(MEMBERS))
    wait_for(lambda: members_now(bed.router, family) == MEMBERS, 5, "all members")
    again = ways(bed, family)
    assert len(again) == FLOWS
    assert sum(after[n] != again[n] for n in after) <= 2 * FLOWS / MEMBERS


@pytest.mark.parametrize("family", (4, 6))
def test_a_member_whose_neighbor_is_gone_passes_its_flows_on(lab, family):
    bed = make_pair(lab)
    neighbors(bed.router)
    route_by_linux(bed, family, range(4))
    wait_for(lambda: members_now(bed.router, family) == 4, 5, "all members")
    before = ways(bed, family)
    bed.router.linux_sh(["ip", "neigh", "replace", gateway(family, 2), "nud", "failed", "dev", "b0"])
    wait_for(lambda: not bed.router.has_neighbor(gateway(family, 2)), 5, "the neighbor has gone")
    after = ways(bed, family)
    assert len(after) == FLOWS, "flows of the silent neighbor were dropped"
    assert {n for n in before if before[n] != after[n]} == {n for n in before if before[n] == 2}
    assert 2 not in after.values()


@pytest.mark.parametrize("seeds", ((None, None), (7, 7)), ids=("own", "equal"))
def test_two_boxes_in_a_row_do_not_choose_alike(lab, seeds):
    """What the first sends to its member 0 of 4 is all that the second gets."""
    found = []
    for number, seed in enumerate(seeds):
        router = lab.router(f"r{number}")
        a = lab.host(f"a{number}", router.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
        b = lab.host(f"b{number}", router.space, "vb", ["10.2.0.1/24"], ["10.2.0.254"])
        router.start({"ports": PORTS, **({} if seed is None else {"ecmp_seed": seed})})
        bed = type("Bed", (), {"router": router, "a": a, "b": b})
        neighbors(router)
        route_by_linux(bed, 4, range(4))
        wait_for(lambda: members_now(router, 4) == 4, 5, "all members")
        found.append(ways(bed, 4))
        assert len(found[-1]) == FLOWS
    first, second = found
    of_one = [n for n in first if first[n] == first[0]]
    shares = [sum(second[n] == m for n in of_one) / len(of_one) for m in range(4)]
    if seeds[0] is None:
        assert all(0.1 < share < 0.45 for share in shares), shares
    else:  # what the test is about: it would see it
        assert sorted(shares) == [0, 0, 0, 1], shares
