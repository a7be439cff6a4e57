"""Path MTU discovery, and packets of 9000 bytes."""

import re

import pytest

from conftest import PORTS, make_pair

SMALL = {name: {**port, "mtu": 1400} if name == "b0" else port for name, port in PORTS.items()}


@pytest.mark.parametrize("far, near, fits", [("10.2.0.1", "10.1.0.254", 1372),
                                             ("fd00:2::1", "fd00:1::fe", 1352)], ids=["v4", "v6"])
def test_path_mtu_is_found(lab, far, near, fits):
    pair = make_pair(lab, ports=SMALL)
    pair.a.ping(far, count=1, ok=False)
    pair.a.ping(far, count=1)
    refusal = pair.a.sh(["ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s", fits + 1, far],
                        check=False)
    # The first one is answered by the router, from its address on this side, with the MTU.
    assert re.search(rf"From {re.escape(near)} .*(mtu|MTU) ?= ?1400", refusal), refusal
    assert pair.router.punted("too_big") == 1
    route = pair.a.sh(["ip", "route", "get", far])
    assert "mtu 1400" in route, route
    pair.a.ping(far, "-M", "do", "-s", fits, count=2)


def test_ipv4_without_df_is_fragmented(lab):
    pair = make_pair(lab, ports=SMALL)
    pair.b.sh("ip link set e0 mtu 1400")
    pair.a.ping("10.2.0.1", count=1, ok=False)
    pair.a.ping("10.2.0.1", "-M", "dont", "-s", "1460", count=3)
    assert pair.router.punted("too_big") >= 3


@pytest.mark.parametrize("far, payload", [("10.2.0.1", 8972), ("fd00:2::1", 8952)],
                         ids=["v4", "v6"])
def test_9000_bytes_cross(lab, far, payload):
    pair = make_pair(lab, mtu=9000)
    assert [p["mtu"] for p in pair.router.get("/v1/ports")["ports"]] == [9000, 9000], (
        pair.router.get("/v1/ports"))
    pair.a.ping(far, count=1, ok=False)
    before = pair.router.get("/v1/drops")["totals"]["transmitted"]
    pair.a.ping(far, "-M", "do", "-s", payload, count=5)
    assert pair.router.get("/v1/drops")["totals"]["transmitted"] - before >= 10
