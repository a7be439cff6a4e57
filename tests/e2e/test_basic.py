"""Ping, traceroute and iperf3: what everyone tries first."""

import json
import re

import pytest

from lab import wait_for

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
    assert udp["end"]["sum"]["lost_percent"] < 5, udp["end"]["sum"]
    assert udp["end"]["sum"]["packets"] > 1000
