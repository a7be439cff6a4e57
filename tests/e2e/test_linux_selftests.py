"""Linux's own selftests (tools/testing/selftests/net) with hectod as the router, by their names."""

import json
import re

import pytest

from lab import Host, Namespace, sh, wait_for


def route_to(host, address):
    """What the host's kernel would do: gateway, and the MTU or the redirect that it has learned."""
    return json.loads(host.sh(["ip", "-json", "route", "get", address]))[0]


def learned_mtu(host, address):
    return next((metric["mtu"] for metric in route_to(host, address).get("metrics", []) if "mtu" in metric), None)


def test_fib_nexthop_multiprefix(lab):
    """h0 reaches four hosts by one next-hop object of each family: each prefix learns its own path MTU."""
    router = lab.router()
    mtus = {1: 1300, 2: 1350, 3: 1400, 4: 1500}
    h0 = lab.host("h0", router.space, "v0", ["172.16.100.1/24", "2001:db8:100::1/64"])
    ports = {"p0": {"device": "v0", "addresses": ["172.16.100.254/24", "2001:db8:100::64/64"]}}
    for n, mtu in mtus.items():
        lab.host(f"h{n}", router.space, f"v{n}", [f"172.16.10{n}.1/24", f"2001:db8:10{n}::1/64"],
                 [f"172.16.10{n}.254", f"2001:db8:10{n}::64"])
        ports[f"p{n}"] = {"device": f"v{n}", "mtu": mtu, "addresses": [f"172.16.10{n}.254/24", f"2001:db8:10{n}::64/64"]}
    router.start({"ports": ports})
    h0.sh("ip nexthop add id 4 via 172.16.100.254 dev e0")
    h0.sh("ip nexthop add id 6 via 2001:db8:100::64 dev e0")
    for n in mtus:
        h0.sh(f"ip route add 172.16.10{n}.0/24 nhid 4")
        h0.sh(f"ip -6 route add 2001:db8:10{n}::/64 nhid 6")
    fars = {n: (f"172.16.10{n}.1", f"2001:db8:10{n}::1") for n in mtus}
    for n in mtus:
        for far in fars[n]:
            wait_for(lambda far=far: " 1 received" in h0.ping(far, count=1, timeout=1, ok=False), 10, f"{far} answers")
            assert learned_mtu(h0, far) is None
    # One after the other: what was learned before stays as it was.
    for n, mtu in mtus.items():
        for far, headers in zip(fars[n], (28, 48)):
            h0.ping(far, "-M", "do", "-s", mtu - headers)  # what fits says nothing
            h0.ping(far, "-M", "do", "-s", 1500 - headers, count=1, timeout=1, ok=mtu == 1500)
        for other, wanted in mtus.items():
            for far in fars[other]:
                assert learned_mtu(h0, far) == (wanted if wanted < 1500 and other <= n else None), (n, far)


def shared_wire(lab, router):
    """h1 and r2 on one wire with hectod's a0, h2 behind r2."""
    bridge = Namespace(lab, "br")
    bridge.sh("ip link add name lan type bridge mcast_snooping 0")
    bridge.sh("ip link set lan up")
    h1 = Host(lab, "h1", bridge, "b1", ["10.1.1.1/24", "2001:db8:1::1/64"])
    r2 = Host(lab, "r2", bridge, "b2", ["10.1.1.253/24", "2001:db8:1::253/64"])
    sh(["ip", "link", "add", "va", "netns", router.space.name, "type", "veth", "peer", "name", "b3", "netns", bridge.name])
    for port in ("b1", "b2", "b3"):
        bridge.sh(f"ip link set {port} master lan up")
    router.space.sh("ip link set va up")
    router.space.sh("ethtool -K va tx off", check=False)
    r2.sh("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1")
    h2 = Namespace(lab, "h2")
    sh(["ip", "link", "add", "e0", "netns", h2.name, "type", "veth", "peer", "name", "e1", "netns", r2.name])
    for space, interface, own in ((h2, "e0", 2), (r2, "e1", 253)):
        space.sh(f"ip link set {interface} up")
        space.sh(f"ip address add 10.2.2.{own}/24 dev {interface}")
        space.sh(f"ip address add 2001:db8:2::{own}/64 dev {interface} nodad")
    h2.sh("ip route add default via 10.2.2.253")
    h2.sh("ip route add default via 2001:db8:2::253")
    return h1, r2, h2


def link_local(run, interface):
    addresses = json.loads(run(f"ip -json -6 address show dev {interface}"))[0]["addr_info"]
    return next(a["local"] for a in addresses if a["scope"] == "link")


def test_icmp_redirect(lab):
    """h1 sends to h2 by hectod, which sends it back onto the wire to r2: h1 learns of r2, and of no other host's way."""
    router = lab.router()
    h1, r2, h2 = shared_wire(lab, router)
    router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.1.254/24", "2001:db8:1::254/64"]}}})
    router.linux_sh("sysctl -qw net.ipv4.conf.all.send_redirects=1")
    r2_link, router_link = link_local(r2.sh, "e0"), link_local(router.linux_sh, "a0")
    router.linux_sh("ip route add 10.2.2.0/24 via 10.1.1.253")
    router.linux_sh(f"ip route add 2001:db8:2::/64 via {r2_link} dev a0")
    h1.sh("sysctl -qw net.ipv4.conf.all.accept_redirects=1 net.ipv4.conf.e0.accept_redirects=1 "
          "net.ipv4.conf.e0.secure_redirects=0 net.ipv4.conf.all.secure_redirects=0 net.ipv6.conf.e0.accept_redirects=1")
    h1.sh("ip route add 10.2.2.0/24 via 10.1.1.254")
    h1.sh(f"ip -6 route add 2001:db8:2::/64 via {router_link} dev e0")
    # The neighbors are known before: what follows meets the fast path.
    for address in ("10.1.1.253", f"{r2_link}%a0", "10.1.1.1", "2001:db8:1::1"):
        wait_for(lambda: " 1 received" in router.linux_sh(f"ping -n -c 1 -W 1 {address}", check=False), 10,
                 f"{address} answers")
    wait_for(lambda: router.has_neighbor("10.1.1.253") and router.has_neighbor(r2_link), 5, "r2 is known to hectod")
    for far, better, before in (("10.2.2.2", "10.1.1.253", "10.1.1.254"), ("2001:db8:2::2", r2_link, router_link)):
        assert route_to(h1, far)["gateway"] == before
        # A host believes it once it knows the better router's MAC; it is told once a second.
        wait_for(lambda: h1.ping(far, count=1) and route_to(h1, far)["gateway"] == better, 5, f"h1 goes to {far} by r2")
        h1.ping(far, count=3)
        assert route_to(h1, far[:-1] + "9")["gateway"] == before, "another host's way is as it was"
    assert 2 <= router.punted("redirect") <= 12


def test_traceroute(lab):
    """Each hop names itself by an address of the interface on which it was asked, in both families."""
    first, second = lab.router("r1"), lab.router("r2")
    h1 = lab.host("h1", first.space, "v1", ["10.0.1.1/24", "2001:db8:1::1/64"], ["10.0.1.254", "2001:db8:1::fe"])
    h2 = lab.host("h2", second.space, "v2", ["10.0.2.1/24", "2001:db8:2::1/64"], ["10.0.2.254", "2001:db8:2::fe"])
    first.space.sh(["ip", "link", "add", "vm", "type", "veth", "peer", "name", "vm", "netns", second.space.name])
    for router, own, far, edge, device in ((first, 1, 2, "e1", "v1"), (second, 2, 1, "e2", "v2")):
        router.start({
            "ports": {edge: {"device": device, "addresses": [f"10.0.{own}.254/24", f"2001:db8:{own}::fe/64"]},
                      "m0": {"device": "vm", "addresses": [f"10.0.12.{own}/24", f"2001:db8:12::{own}/64"]}},
            "routes": [{"to": f"10.0.{far}.0/24", "via": f"10.0.12.{far}"},
                       {"to": f"2001:db8:{far}::/64", "via": f"2001:db8:12::{far}"}]})
    for host, far, hops in (
            (h1, "10.0.2.1", ["10.0.1.254", "10.0.12.2", "10.0.2.1"]),
            (h1, "2001:db8:2::1", ["2001:db8:1::fe", "2001:db8:12::2", "2001:db8:2::1"]),
            (h2, "10.0.1.1", ["10.0.2.254", "10.0.12.1", "10.0.1.1"]),
            (h2, "2001:db8:1::1", ["2001:db8:2::fe", "2001:db8:12::1", "2001:db8:1::1"])):
        wait_for(lambda: " 1 received" in host.ping(far, count=1, timeout=1, ok=False), 15, f"{far} answers")
        out = host.sh(["traceroute", "-n", "-q", "3", "-w", "2", "-m", "5", far])
        seen = [line.split()[1:] for line in out.splitlines()[1:]]
        assert [words[0] for words in seen] == hops and "*" not in out, out


class TwoWays:
    """As pmtu.sh has it: a reaches b by r1, which is hectod, and by r2, another one. Routers' ports take 2000 bytes
    towards a, r1's 1400 and r2's 1500 towards b."""

    HEADERS = {4: 28, 6: 48}
    TOWARDS_B = {1: 1400, 2: 1500}

    def __init__(self, lab):
        self.a, self.b = Namespace(lab, "a"), Namespace(lab, "b")
        for n, mtu in self.TOWARDS_B.items():
            router = lab.router(f"r{n}")
            for host, port, ends, size in ((self.a, "va", "a", 2000), (self.b, "vb", "b", mtu)):
                sh(["ip", "link", "add", f"e{n}", "netns", host.name, "mtu", size, "type", "veth",
                    "peer", "name", port, "netns", router.space.name, "mtu", size])
                host.sh(f"ethtool -K e{n} tx off", check=False)
                router.space.sh(["ip", "link", "set", port, "up"])
                host.sh(f"ip link set e{n} up")
                for address in self.own(n, ends):
                    host.sh(["ip", "address", "add", address, "dev", f"e{n}"] + (["nodad"] if ":" in address else []))
            router.start({"ports": {
                "a0": {"device": "va", "mtu": 2000, "addresses": [f"10.{n}.1.254/24", f"2001:db8:{n}:1::fe/64"]},
                "b0": {"device": "vb", "mtu": mtu, "addresses": [f"10.{n}.2.254/24", f"2001:db8:{n}:2::fe/64"]}}})
            for far, here, host in (("2", "1", self.a), ("1", "2", self.b)):
                host.sh(f"ip route add 10.{n}.{far}.0/24 via 10.{n}.{here}.254")
                host.sh(f"ip route add 2001:db8:{n}:{far}::/64 via 2001:db8:{n}:{here}::fe")

    @staticmethod
    def own(n, end):
        place = 1 if end == "a" else 2
        return [f"10.{n}.{place}.1/24", f"2001:db8:{n}:{place}::1/64"]

    @staticmethod
    def far(n, family):
        return f"10.{n}.2.1" if family == 4 else f"2001:db8:{n}:2::1"

    def reach(self, address):
        wait_for(lambda: " 1 received" in self.ping(address, 64), 15, f"{address} answers")

    def ping(self, address, size):
        """`size`: of the whole IP packet, which nobody may cut."""
        family = 6 if ":" in address else 4
        return self.a.sh(["ping", "-n", "-c", "1", "-W", "1", "-M", "do", "-s", size - self.HEADERS[family], address],
                         check=False)

    def learned(self, address):
        return learned_mtu(self.a, address)


@pytest.mark.parametrize("family", [4, 6])
def test_pmtu_exception(lab, family):
    """pmtu_ipv4_exception, pmtu_ipv6_exception: each way's MTU is learned for its own host; the link's may change it."""
    bed = TwoWays(lab)
    first, second = bed.far(1, family), bed.far(2, family)
    for address, mtu in ((first, 1400), (second, 1500)):
        bed.reach(address)
        assert bed.learned(address) is None
        assert " 0 received" in bed.ping(address, 1800)
        assert bed.learned(address) == mtu
        assert " 1 received" in bed.ping(address, mtu)
    bed.a.sh("ip link set e1 mtu 1300")
    assert bed.learned(first) in (None, 1300) and bed.learned(second) == 1500, "a smaller link's own MTU holds"
    assert " 1 received" in bed.ping(first, 1300)
    bed.a.sh("ip link set e1 mtu 2000")
    assert " 1 received" in bed.ping(first, 1400)
    for _ in range(2):  # what was forgotten is learned again
        bed.ping(first, 1800)
    assert bed.learned(first) == 1400 and bed.learned(second) == 1500


@pytest.mark.parametrize("family", [4, 6])
def test_pmtu_route_change(lab, family):
    """pmtu_ipv4_route_change, pmtu_ipv6_route_change: another route forgets, and the MTU of its way is learned."""
    bed = TwoWays(lab)
    ip = f"ip -{family}"
    far, (near1, near2) = ("10.9.9.1", ("10.1.1.254", "10.2.1.254")) if family == 4 else \
        ("2001:db8:9::1", ("2001:db8:1:1::fe", "2001:db8:2:1::fe"))
    bed.b.sh(f"{ip} address add {far}/{32 if family == 4 else 128} dev lo")
    for router, way in zip(bed.a.lab.routers, (bed.far(1, family), bed.far(2, family))):
        router.linux_sh(f"{ip} route add {far} via {way}")
    for gateway, mtu in ((near1, 1400), (near2, 1500)):
        bed.a.sh(f"{ip} route replace {far} via {gateway}")
        assert bed.learned(far) is None
        bed.reach(far)
        assert " 0 received" in bed.ping(far, 1800)
        assert bed.learned(far) == mtu
        assert " 1 received" in bed.ping(far, mtu)


@pytest.mark.parametrize("family", [4, 6])
def test_list_flush_exception(lab, family):
    """list_flush_ipv4_exception, list_flush_ipv6_exception: hosts by hosts, each has one; a flush leaves none."""
    bed = TwoWays(lab)
    width = 32 if family == 4 else 128
    hosts = [f"10.1.2.{100 + i}" if family == 4 else f"2001:db8:1:2::{100 + i}" for i in range(30)]
    for host in hosts:
        bed.b.sh(["ip", "address", "add", f"{host}/{width}", "dev", "e1"] + (["nodad"] if family == 6 else []))
    for host in hosts:
        bed.reach(host)
        bed.ping(host, 1800)
    assert all(bed.learned(host) == 1400 for host in hosts)
    bed.a.sh(f"ip -{family} route flush cache")
    assert not any(bed.learned(host) for host in hosts)


def test_pmtu_mp_exception(lab):
    """pmtu_ipv4_mp_exception: a route of two ways; what the way of a host says holds for it. With IPv6 each ping is a
    flow of its own, which may go the other way."""
    bed = TwoWays(lab)
    hosts = [f"10.9.9.{i}" for i in range(1, 17)]
    for host in hosts:
        bed.b.sh(f"ip address add {host}/32 dev lo")
    for n, router in enumerate(lab.routers, 1):
        router.linux_sh(f"ip route add 10.9.9.0/24 via {bed.far(n, 4)}")
        bed.a.sh(f"ip nexthop add id {n} via 10.{n}.1.254 dev e{n}")
    bed.a.sh("ip nexthop add id 9 group 1/2")
    bed.a.sh("ip route add 10.9.9.0/24 nhid 9")
    met = set()
    for host in hosts:
        bed.reach(host)
        assert " 0 received" in bed.ping(host, 1800)
        # By then a itself knows better than to send it.
        told = re.search(r"local error: message too long, mtu[:=] ?(\d+)", bed.ping(host, 1800))
        assert told, host
        met.add(int(told[1]))
    assert met == {1400, 1500}
