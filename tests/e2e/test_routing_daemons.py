"""FRR, unmodified, in the router's namespace; BIRD is its neighbor on host b."""

import shutil
import subprocess

import pytest

from frr import Frr, need
from lab import sh, wait_for
from stream import Stream

V4_ROUTES, V6_ROUTES = 100_000, 10_000

BIRD = """
router id 10.2.0.1;
log stderr all;
protocol device {{}}
protocol static s4 {{ ipv4; {v4} }}
protocol static s6 {{ ipv6; {v6} }}
protocol static inner {{ ipv4; route 10.50.0.0/16 unreachable; }}
protocol bgp b4 {{
  local 10.2.0.1 as 65002; neighbor 10.2.0.254 as 65001; connect delay time 1;
  ipv4 {{ import none; export where proto = "s4"; next hop self; }};
}}
protocol bgp b6 {{
  local fd00:2::1 as 65002; neighbor fd00:2::fe as 65001; connect delay time 1;
  ipv6 {{ import none; export where proto = "s6"; next hop self; }};
}}
protocol ospf v2 o4 {{
  ipv4 {{ import none; export where proto = "inner"; }};
  area 0 {{ interface "e0" {{ type broadcast; hello 1; dead 4; wait 2; }}; }};
}}
"""

ZEBRA = """hostname router
router bgp 65001
 bgp router-id 10.2.0.254
 no bgp ebgp-requires-policy
 no bgp default ipv4-unicast
 neighbor 10.2.0.1 remote-as 65002
 neighbor 10.2.0.1 timers connect 1
 neighbor fd00:2::1 remote-as 65002
 neighbor fd00:2::1 timers connect 1
 address-family ipv4 unicast
  neighbor 10.2.0.1 activate
 address-family ipv6 unicast
  neighbor fd00:2::1 activate
 exit-address-family
router ospf
 ospf router-id 10.2.0.254
 network 10.2.0.0/24 area 0
interface b0
 ip ospf hello-interval 1
 ip ospf dead-interval 4
"""


@pytest.fixture
def frr(pair):
    need(shutil.which("bird") or "/usr/sbin/bird")
    frr = Frr(pair.router, ZEBRA)
    try:
        frr.start()
        yield frr
    finally:
        frr.stop()


def bird(pair):
    v4 = "".join(f"route {20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24 unreachable;\n"
                 for i in range(V4_ROUTES))
    v6 = "".join(f"route 2001:db8:{i:x}::/48 unreachable;\n" for i in range(V6_ROUTES))
    config = pair.lab.folder / "bird.conf"
    config.write_text(BIRD.format(v4=v4, v6=v6))
    sh(["bird", "-p", "-c", config])  # a mistake in it would be silent below
    return pair.b.start(["bird", "-f", "-c", config, "-s", pair.lab.folder / "bird.ctl"])


def test_bgp_with_100000_routes_and_ospf(pair, frr):
    pair.b.sh("ip address add 20.1.2.1/32 dev lo")
    pair.b.sh("ip address add 10.50.1.1/32 dev lo")
    pair.b.sh("ip -6 address add 2001:db8:77::1/128 dev lo")
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        peer = bird(pair)
        wait_for(lambda: pair.router.route_count("ospf") >= 1, 40,
                 "the OSPF route is there: " + frr.ask("show ip ospf neighbor"))
        wait_for(lambda: pair.router.route_count("bgp") == V4_ROUTES + V6_ROUTES, 120,
                 "all BGP routes are in the FIB", step=0.5)
        route = pair.router.explain("20.1.2.1")
        assert route["match"]["prefix"] == "20.1.2.0/24" and route["verdict"] == "forward", route
        assert route["candidates"][0]["protocol"] == "bgp"
        for far in ("20.1.2.1", "2001:db8:77::1", "10.50.1.1"):
            pair.a.ping(far)
    stream.expect_no_loss()
    peer.terminate()
    peer.wait(20)
    wait_for(lambda: pair.router.route_count("bgp") == 0, 120, "withdrawn routes are gone",
             step=0.5)
    assert pair.router.explain("20.1.2.1")["match"] is None


def routes_of(router, protocol):
    """Prefix -> gateway, of all routes of a protocol, page by page."""
    found, after = {}, ""
    while True:
        page = router.get(f"/v1/routes?limit=10000{after}")
        for route in page["routes"]:
            if route.get("protocol") == protocol:
                assert route["prefix"] not in found, f"{route['prefix']} twice"
                found[route["prefix"]] = route["next_hops"][0]["gateway"]
        if not page.get("next"):
            return found
        after = f"&after={page['next']}"


def test_flaps_of_100000_routes_leave_what_linux_has(pair):
    """A peer that goes and comes, twice each with other gateways, and a link that flaps amid."""
    batch = pair.lab.folder / "batch"
    everything = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24" for i in range(V4_ROUTES)]
    for round_number in range(3):
        gateways = [f"10.2.0.{2 + round_number * 8 + n}" for n in range(8)]
        want = {prefix: gateways[i % 8] for i, prefix in enumerate(everything)}
        batch.write_text("".join(f"route replace {prefix} via {via} proto bird\n"
                                 for prefix, via in want.items()))
        writer = subprocess.Popen(["ip", "-n", pair.router.linux, "-batch", batch])
        pair.a.sh("ip link set e0 down")  # another link: nothing of these routes goes
        pair.a.sh("ip link set e0 up")
        assert writer.wait(120) == 0
        wait_for(lambda: pair.router.route_count("bird") == V4_ROUTES, 60, "all routes", step=0.2)
        wait_for(lambda: pair.router.get("/v1/summary")["mirror"]["state"] == "in sync", 30, "in sync")
        assert routes_of(pair.router, "bird") == want
        # Half of them go; the rest stays as it is.
        batch.write_text("".join(f"route del {prefix}\n" for prefix in everything[::2]))
        sh(["ip", "-n", pair.router.linux, "-batch", batch], timeout=120)
        wait_for(lambda: pair.router.route_count("bird") == V4_ROUTES // 2, 60, "half of them",
                 step=0.2)
        assert routes_of(pair.router, "bird") == {p: want[p] for p in everything[1::2]}


@pytest.mark.parametrize("told", ["object", "routes"])
def test_100000_routes_turn_with_their_next_hop_object(pair, told):
    """Its gateway changes, as zebra does where it keeps a group. Linux tells of the object, and unless it is said not
    to of each route as well, which is no news then."""
    each = told == "routes"
    pair.b.sh("ip address add 10.2.0.9/24 dev e0")
    pair.b.sh("ip address add 20.1.2.1/32 dev lo")
    pair.router.linux_sh(f"sysctl -qw net.ipv4.nexthop_compat_mode={int(each)}")
    pair.router.linux_sh("ip nexthop add id 7 via 10.2.0.1 dev b0")
    batch = pair.lab.folder / "batch"
    batch.write_text("".join(f"route add {20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24 nhid 7 proto bgp\n"
                             for i in range(V4_ROUTES)))
    sh(["ip", "-n", pair.router.linux, "-batch", batch], timeout=120)
    wait_for(lambda: pair.router.route_count("bgp") == V4_ROUTES, 60, "all routes", step=0.2)
    for gateway in ("10.2.0.9", "10.2.0.1"):  # both neighbors are known
        pair.router.linux_sh(f"ping -n -c 1 -W 2 {gateway}")
        wait_for(lambda: pair.router.has_neighbor(gateway), 5, f"{gateway} is known")

    def messages():
        return pair.router.get("/v1/summary")["mirror"]["messages"]

    with Stream(pair.a, pair.b, "20.1.2.1") as stream:
        for gateway in ("10.2.0.9", "10.2.0.1"):
            before = messages()
            pair.router.linux_sh(f"ip nexthop replace id 7 via {gateway} dev b0")
            wait_for(lambda: pair.router.explain("20.1.2.1")["next_hop"]["members"][0]["gateway"] == gateway, 10,
                     f"they go by {gateway}")
            assert set(routes_of(pair.router, "bgp").values()) == {gateway}
            if each:
                wait_for(lambda: messages() - before >= V4_ROUTES, 30, "Linux has told of each")
            else:
                assert messages() - before < 100
        assert [g["routes"] for g in pair.router.get("/v1/nexthops")["nexthops"] if g["routes"] >= V4_ROUTES] == [V4_ROUTES]
    stream.expect_no_loss()
    # 100,000 messages of one system call are more than a socket holds: what was lost is read again.
    wait_for(lambda: pair.router.get("/v1/summary")["mirror"]["state"] == "in sync", 30, "in sync")
    assert each or pair.router.get("/v1/summary")["mirror"]["resyncs"] == 1, "none but the start's"
    assert set(routes_of(pair.router, "bgp").values()) == {"10.2.0.1"}
