"""The smoke tests of grout, DPDK's own router, that a router of hecto's kind has to pass, by their names: a host on each
of two links, each with a network of its own behind it."""

import pytest

from conftest import PORTS, make_pair
from lab import wait_for

BEHIND = {4: ("16.0.0.1", "16.1.0.1"), 6: ("fd16::1", "fd17::1")}
NETS = {4: ("16.0.0.0/16", "16.1.0.0/16"), 6: ("fd16::/32", "fd17::/32")}
LINKS = {4: ("10.1.0.1", "10.2.0.1"), 6: ("fd00:1::1", "fd00:2::1")}
NEARS = {4: ("10.1.0.254", "10.2.0.254"), 6: ("fd00:1::fe", "fd00:2::fe")}


def behind(pair, family):
    width = "32" if family == 4 else "128 nodad"
    for host, address, net, via in zip((pair.a, pair.b), BEHIND[family], NETS[family], LINKS[family]):
        host.sh(f"ip -{family} address add dev lo {address}/{width}")
        pair.router.linux_sh(f"ip -{family} route add {net} via {via}")
    far = BEHIND[family][1]
    wait_for(lambda: pair.router.explain(far)["verdict"] != "punt" or
             " 1 received" in pair.a.ping(far, count=1, timeout=1, ok=False), 15, f"{far} answers")


@pytest.mark.parametrize("family", [4, 6])
def test_ip_forward(pair, family):
    """ip_forward_test, ip6_forward_test: host to host, and to what is behind either, both ways; by one hop."""
    behind(pair, family)
    for host, own, other in ((pair.a, 0, 1), (pair.b, 1, 0)):
        for far in (LINKS[family][other], BEHIND[family][other]):
            host.ping(far, "-I", BEHIND[family][own], count=3)
            host.ping(far, count=3)
            out = host.sh(["traceroute", "-n", "-q", "1", "-N", "1", "-w", "2", "-m", "5", far])
            assert [line.split()[1] for line in out.splitlines()[1:]] == [NEARS[family][own], far], out


@pytest.mark.parametrize("family", [4, 6])
def test_ip_builtin_icmp(pair, family):
    """ip_builtin_icmp_test, ip6_builtin_icmp_test: the router itself answers, by each address, from either side; and
    finds both hosts."""
    for host in (pair.a, pair.b):
        for address in NEARS[family]:
            host.ping(address, count=3)
            host.ping(address, "-s", "1300", count=2)
    for address in LINKS[family]:
        assert " 3 received" in pair.router.linux_sh(f"ping -n -i 0.2 -c 3 -W 2 {address}")


@pytest.mark.parametrize("family", [4, 6])
def test_ip_same_peer(pair, family):
    """ip6_same_peer_test: two addresses of one host and link are two neighbors with one MAC, and both are routed to."""
    second = "10.2.0.7" if family == 4 else "fd00:2::7"
    pair.b.sh(["ip", f"-{family}", "address", "add", f"{second}/{24 if family == 4 else 64}", "dev", "e0"] +
              (["nodad"] if family == 6 else []))
    for far in (LINKS[family][1], second):
        wait_for(lambda far=far: " 1 received" in pair.a.ping(far, count=1, timeout=1, ok=False), 10, f"{far} answers")
        pair.a.ping(far, count=3)
    macs = {pair.router.neighbor(far)["mac"] for far in (LINKS[family][1], second)}
    assert macs == {pair.b.mac}


@pytest.mark.parametrize("family", [4, 6])
def test_ip_add_del(pair, family):
    """ip_add_del_test, ip6_add_del_test: routes and addresses go and come again and again; what is left forwards."""
    behind(pair, family)
    far, net, via = BEHIND[family][1], NETS[family][1], LINKS[family][1]
    address = f"{NEARS[family][1]}/{24 if family == 4 else 64}"
    for _ in range(3):
        pair.router.linux_sh(f"ip -{family} route del {net} via {via}")
        wait_for(lambda: pair.router.explain(far)["reason"] == "no_route", 5, "there is no route")
        assert " 0 received" in pair.a.ping(far, count=1, timeout=1, ok=False)
        pair.router.linux_sh(["ip", f"-{family}", "address", "del", address, "dev", "b0"])
        pair.router.linux_sh(["ip", f"-{family}", "address", "add", address, "dev", "b0"] +
                             (["nodad"] if family == 6 else []))
        pair.router.linux_sh(f"ip -{family} route add {net} via {via}")
        wait_for(lambda: " 1 received" in pair.a.ping(far, count=1, timeout=1, ok=False), 15, f"{far} answers again")


def test_ip_multipath(lab):
    """Two gateways on one link: 64 flows are spread over both, and each comes back."""
    pair = make_pair(lab, ports=PORTS)
    pair.b.sh("ip address add 10.2.0.7/24 dev e0")
    far = [f"16.1.0.{i}" for i in range(1, 65)]
    for address in far:
        pair.b.sh(f"ip address add {address}/32 dev lo")
    pair.router.linux_sh("ip route add 16.1.0.0/16 nexthop via 10.2.0.1 nexthop via 10.2.0.7")
    for address in far:
        wait_for(lambda address=address: " 1 received" in pair.a.ping(address, count=1, timeout=1, ok=False), 10,
                 f"{address} answers")
    members = pair.router.explain("16.1.0.1")["next_hop"]["members"]
    assert sorted(m["gateway"] for m in members) == ["10.2.0.1", "10.2.0.7"]
