"""Path MTU discovery, and packets of 9000 bytes."""

import json
import re

import pytest

from conftest import PORTS, make_pair
from lab import wait_for
from test_changes import port
from test_ports import pages

assert pages  # a fixture

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
    wait_for(lambda: pair.router.has_neighbor("10.2.0.1"), 5, "none is punted for want of its neighbor")
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


def by_link(pair, mtu):
    """Both twins are asked for the MTU; returns what it is then, and what was said."""
    for name in ("a0", "b0"):
        pair.router.linux_sh(f"ip link set {name} mtu {mtu}")

        def settled():
            link, = json.loads(pair.router.linux_sh(f"ip -json link show {name}"))
            now = port(pair, name)["mtu"]
            return link["mtu"] == now and (now == mtu or f"port {name}: MTU {mtu} is above" in
                                           pair.router.log())
        wait_for(settled, 5, f"{name} and its twin agree on an MTU")
    return port(pair, "b0")["mtu"], pair.router.log()


def by_reload(pair, mtu):
    for each in pair.config["ports"].values():
        each["mtu"] = mtu
    pair.router.write(pair.config)
    status, answer = pair.router.request("POST", "/v1/reload")
    assert (status == 200) == (port(pair, "b0")["mtu"] == mtu), answer
    return port(pair, "b0")["mtu"], str(answer)


@pytest.mark.parametrize("change", [by_link, by_reload])
def test_a_larger_mtu_holds_or_is_refused(pages, lab, change):
    """On AF_XDP, while it runs: what is taken passes, what is not is told with the most there is."""
    pair = make_pair(lab, mtu=3400, ports={name: {**each, "mtu": 1500}
                                           for name, each in PORTS.items()})
    assert pages in pair.router.log()
    assert {p["driver"] for p in pair.router.get("/v1/ports")["ports"]} == {"net_af_xdp"}
    pair.a.ping("10.2.0.1", count=1, ok=False)

    def crosses(mtu):
        for far in ("10.2.0.1", "10.1.0.254"):
            pair.a.ping(far, "-M", "do", "-s", mtu - 28, count=3)
        assert [p["rx"]["missed"] for p in pair.router.get("/v1/ports")["ports"]] == [0, 0]

    most, held = 3400, []
    for mtu in (1700, 2400, 3600):
        now, said = change(pair, mtu)
        if now == mtu:
            held.append(mtu)
            crosses(mtu)
            continue
        assert now == held[-1]
        crosses(now)
        most = int(re.search(rf"MTU {mtu} is above (\d+), the most", said)[1])
    assert 1700 in held and most < 3600
    assert change(pair, most)[0] == most
    crosses(most)
