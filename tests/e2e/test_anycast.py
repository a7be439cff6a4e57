"""One address on several servers: who has which flow, when one dies, and that every router says the same."""

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import PORTS
from frr import Frr, need
from lab import SLOWER, end, wait_for
from test_ecmp import FLOWS, group, members_now, neighbors, route_by_linux, route_by_object, ways

TALKER = Path(__file__).resolve().parents[2] / "demo" / "talker.py"
SERVERS, SERVICE, CLIENT_FLOWS, RATE = 4, "10.99.0.1", 60, 20

FRR = """frr defaults datacenter
no zebra nexthop kernel enable
bfd
 profile quick
  detect-multiplier 3
  receive-interval 100
  transmit-interval 100
router bgp 65001
 bgp router-id 10.1.0.254
 no bgp ebgp-requires-policy
 bgp bestpath as-path multipath-relax
 neighbor servers peer-group
 neighbor servers remote-as external
 neighbor servers timers connect 1
 neighbor servers bfd profile quick
{neighbors}
 address-family ipv4 unicast
  maximum-paths 64
"""

BIRD = """
router id 10.2.{n}.1;
log stderr all;
protocol device {{}}
protocol bfd {{ interface "e0" {{ interval 100 ms; multiplier 3; }}; }}
protocol static s4 {{ ipv4; route 10.99.0.1/32 unreachable; }}
protocol bgp r {{
  local 10.2.{n}.1 as {asn}; neighbor 10.2.{n}.254 as 65001; connect delay time 1; bfd on;
  ipv4 {{ import none; export where proto = "s4"; next hop self; }};
}}
"""


class Server:
    def __init__(self, lab, router, n):
        self.host = lab.host(f"s{n}", router.space, f"v{n}", [f"10.2.{n}.1/24"], [f"10.2.{n}.254"])
        self.host.sh(f"ip address add {SERVICE}/32 dev lo")
        self.address = f"10.2.{n}.1"
        self.ears = self.host.start([sys.executable, TALKER, SERVICE, "none", 0, 1], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, text=True)
        config = lab.folder / f"bird{n}.conf"
        config.write_text(BIRD.format(n=n, asn=65100 + n))
        self.bird = self.host.start(["bird", "-f", "-c", config, "-s", lab.folder / f"bird{n}.ctl"])

    def hear(self):
        """Flows, by source port, of which anything came since the last time."""
        self.ears.stdin.write("?\n")
        self.ears.stdin.flush()
        flows = json.loads(self.ears.stdout.readline())["flows"]
        return {flow.rsplit(":", 1)[1]: numbers for flow, numbers in flows.items() if numbers["received"]}


def who_has(servers, seconds=1.0):
    for server in servers:
        server.hear()
    time.sleep(seconds)
    return {flow: n for n, server in enumerate(servers) for flow in server.hear()}


@pytest.mark.parametrize("consistent", (False, True))
def test_a_server_that_dies_loses_its_own_flows_alone(lab, consistent):
    """BFD misses it, BGP withdraws its route, and of the flows of others none moves and no packet is lost."""
    need(shutil.which("bird") or "/usr/sbin/bird")
    router = lab.router()
    client = lab.host("a", router.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
    ports = {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]}}
    ports |= {f"s{n}": {"device": f"v{n}", "addresses": [f"10.2.{n}.254/24"]} for n in range(SERVERS)}
    servers = [Server(lab, router, n) for n in range(SERVERS)]
    router.start({"ports": ports, "tables": {"consistent_ecmp": consistent}})
    frr = Frr(router, FRR.format(neighbors="\n".join(f" neighbor {s.address} peer-group servers" for s in servers)),
              ("zebra", "bgpd", "bfdd"))
    try:
        frr.start()

        def ways_now():
            return len((router.explain(SERVICE).get("next_hop") or {}).get("members", []))
        wait_for(lambda: ways_now() == SERVERS, 40, "a way to each server")
        wait_for(lambda: frr.ask("show bfd peers brief").count(" up") == SERVERS, 20, "BFD with each")
        talk = client.start([sys.executable, TALKER, "10.1.0.1", SERVICE, CLIENT_FLOWS, RATE / SLOWER],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        before = who_has(servers, SLOWER)
        assert len(before) == CLIENT_FLOWS and set(before.values()) == set(range(SERVERS)), before
        gone = 2
        for server in servers:
            server.hear()
        servers[gone].bird.send_signal(signal.SIGKILL)  # it still receives, and says nothing any more
        wait_for(lambda: ways_now() == SERVERS - 1, 10, "its route is gone")
        time.sleep(1)
        for n, server in enumerate(servers):
            if n != gone:
                stayed = {flow: numbers for flow, numbers in server.hear().items() if before[flow] == n}
                assert stayed and sum(numbers["lost"] for numbers in stayed.values()) == 0, stayed
        after = who_has(servers, SLOWER)
        assert set(after) == set(before)
        assert {flow for flow in before if after[flow] != before[flow]} == {
            flow for flow, n in before.items() if n == gone}
        end(talk)
    finally:
        frr.stop()


@pytest.mark.parametrize("consistent", (True, False))
def test_whichever_router_a_flow_enters_by_it_meets_the_same_server(lab, consistent):
    """Two routers, the same servers: one has had others before, has them in another order, by another way."""
    beds = []
    for number in range(2):
        router = lab.router(f"r{number}")
        a = lab.host(f"a{number}", router.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
        b = lab.host(f"b{number}", router.space, "vb", ["10.2.0.1/24"], ["10.2.0.254"])
        router.start({"ports": PORTS, "ecmp_seed": 7, "tables": {"consistent_ecmp": consistent}})
        neighbors(router)
        beds.append(type("Bed", (), {"router": router, "a": a, "b": b}))
    one, two = beds
    prefix, _ = group(one.router, 4)
    route_by_linux(one, 4, range(12))
    wait_for(lambda: members_now(one.router, 4) == 12, 5, "twelve members")
    one.router.linux_sh(f"ip route del {prefix}")
    route_by_linux(one, 4, range(3, 11))
    route_by_object(two, 4, list(reversed(range(3, 11))))

    def compare(count):
        for bed in beds:
            wait_for(lambda: members_now(bed.router, 4) == count, 5, f"{count} members")
        found = [ways(bed, 4) for bed in beds]
        assert all(len(each) == FLOWS for each in found)
        return found
    first = compare(8)
    if not consistent:  # what the test is about: it would see it
        assert first[0] != first[1]
        return
    assert first[0] == first[1]
    assert set(first[0].values()) == set(range(3, 11)), "a server without a flow"
    # One of them dies: each router moves its flows, no others, and both to the same.
    left = [m for m in range(3, 11) if m != 5]
    route_by_linux(one, 4, left)
    route_by_object(two, 4, left)
    second = compare(7)
    assert second[0] == second[1]
    assert {n for n in first[0] if first[0][n] != second[0][n]} == {n for n, m in first[0].items() if m == 5}
