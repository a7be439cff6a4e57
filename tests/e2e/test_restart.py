"""A restart under a service manager that keeps descriptors: Linux's side does not notice."""

import json
import os
import re
import subprocess
import time

import pytest

from conftest import PORTS, make_pair
from lab import BUILD, sh, wait_for
from service_manager import ServiceManager
from stream import Stream
from test_ipsec import gateways
from test_routing_daemons import V4_ROUTES, V6_ROUTES, ZEBRA, Frr, bird


STATE = ["state-0", "state-1"]


def served_pair(lab):
    bed = make_pair(lab, start=False)
    bed.router.write(bed.config)
    bed.service = ServiceManager(bed.router)
    bed.service.start()
    for far in ("10.2.0.1", "fd00:2::1"):
        bed.a.ping(far, count=1, ok=False)
        bed.a.ping(far, count=1)
    return bed


@pytest.fixture
def bed(lab):
    return served_pair(lab)


def kept(bed):
    """But for the tables: they are kept when huge pages happen to be free."""
    return [name for name in bed.service.kept() if not name.startswith("table-")]


def links(router):
    """But for the mark of a running hectod, which says that the namespace is in use."""
    return {link["ifname"]: (link["ifindex"], link.get("address"), link["flags"], link["mtu"])
            for link in json.loads(router.linux_sh("ip -j link")) if link["ifname"] != "hecto-use"}


def has_carrier(router, name):
    return "LOWER_UP" in links(router)[name][2]


class Monitor:
    """Everything that a routing daemon would hear of links, addresses and routes."""

    def __init__(self, router):
        self.file = router.folder / "monitor"
        with open(self.file, "w") as out:
            self.process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{router.linux}", "ip", "-ts", "-o", "monitor",
                 "link", "address", "route"], stdout=out)
        router.lab.cleanups.append(self.process.kill)

    def heard(self):
        return [line for line in self.file.read_text().splitlines() if "hecto-use" not in line and (
                "Deleted" in line or "NO-CARRIER" in line or "state DOWN" in line)]


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
def test_nobody_in_linux_hears_of_it(bed, kill):
    router = bed.router
    router.linux_sh("ip route add 198.51.100.0/24 via 10.2.0.1 proto bgp")
    router.linux_sh("ip route add 203.0.113.0/24 nexthop via 10.2.0.1 nexthop via 10.1.0.1")
    before, routes = links(router), router.linux_sh("ip route")
    assert kept(bed) == [*STATE, "twin-a0", "twin-b0"]
    with_monitor = Monitor(router)
    for _ in range(2):
        bed.service.restart(kill)
        bed.a.ping("10.2.0.1")
        bed.a.ping("fd00:2::1")
        wait_for(lambda: router.route_count("bgp") == 1, 5, "the BGP route is there again")
    assert links(router) == before
    assert router.linux_sh("ip route") == routes
    assert not with_monitor.heard()
    assert "taken over" in router.log()


def test_what_the_file_has_no_more_goes(bed):
    router = bed.router
    config = dict(bed.config, routes=[{"to": "192.0.2.0/24", "type": "blackhole"},
                                      {"to": "198.51.100.0/24", "via": "10.2.0.1"},
                                      {"to": "203.0.113.0/24", "via": "10.2.0.1"}],
                  neighbors=[{"interface": "b0", "address": "10.2.0.77",
                              "mac": "02:00:00:00:00:77"}])
    config["ports"] = {**config["ports"], "b0": {**PORTS["b0"], "addresses": [
        *PORTS["b0"]["addresses"], "10.3.0.254/24"]}}
    router.write(config)
    bed.service.restart()
    wait_for(lambda: "blackhole 192.0.2.0/24" in router.linux_sh("ip route"), 5, "written")
    assert "10.3.0.254" in router.linux_sh("ip address show b0")
    router.linux_sh("ip address add 10.4.0.1/24 dev b0")  # somebody else's

    # The blackhole of before must not win over what the file says now; one route stays as it is.
    config["routes"] = [{"to": "192.0.2.0/24", "via": "10.2.0.1"},
                        {"to": "203.0.113.0/24", "via": "10.2.0.1"}]
    config["neighbors"] = []
    config["ports"]["b0"] = PORTS["b0"]
    router.write(config)
    monitor = Monitor(router)
    bed.service.restart()
    wait_for(lambda: "192.0.2.0/24 via 10.2.0.1" in router.linux_sh("ip route"), 5, "replaced")
    routes = router.linux_sh("ip route")
    assert "blackhole" not in routes and "198.51.100.0/24" not in routes
    assert "203.0.113.0/24 via 10.2.0.1" in routes
    assert not any("203.0.113.0" in line for line in monitor.heard())
    addresses = router.linux_sh("ip address show b0")
    assert "10.3.0.254" not in addresses and "10.4.0.1/24" in addresses
    assert "10.2.0.77" not in router.linux_sh("ip neighbor")
    assert router.explain("192.0.2.9")["verdict"] == "forward"


def test_a_port_that_the_file_has_no_more_goes(bed):
    bed.router.write(dict(bed.config, ports={"a0": PORTS["a0"]}))
    bed.service.restart()
    wait_for(lambda: "b0" not in links(bed.router), 5, "its twin is gone")
    assert kept(bed) == [*STATE, "twin-a0"]
    bed.router.write(bed.config)
    bed.service.restart()
    bed.a.ping("10.2.0.1")


def test_a_port_that_a_reload_removes_and_brings_back(bed):
    router = bed.router
    router.write(dict(bed.config, ports={"a0": PORTS["a0"]}))
    router.cli("reload")
    assert "b0" not in links(router)
    wait_for(lambda: kept(bed) == [*STATE, "twin-a0"], 5, "it is kept no more")
    router.write(bed.config)
    router.cli("reload")
    wait_for(lambda: kept(bed) == [*STATE, "twin-a0", "twin-b0"], 5, "kept")
    before = links(router)
    bed.service.restart(kill=True)
    assert links(router) == before
    bed.a.ping("10.2.0.1")


def test_twins_that_others_took_away_meanwhile(bed):
    """Deleted, and renamed: both are made anew, and said."""
    router = bed.router
    bed.service.stop()
    router.linux_sh("ip link del a0")
    router.linux_sh("ip link set b0 name c0")
    bed.service.start()
    bed.a.ping("10.2.0.1")
    now = links(router)
    assert "a0" in now and "b0" in now
    wait_for(lambda: "c0" not in links(router), 5, "the renamed one is let go of")
    log = router.log()
    assert re.search(r"TAP a0: .*made anew", log) and re.search(r"TAP b0: .*c0.*made anew", log)


def test_damaged_state_is_said_and_the_rest_goes_on(bed):
    bed.service.stop()
    with bed.service.lock:
        for name in STATE:
            os.ftruncate(bed.service.store[name], 40)
    bed.service.start()
    assert "is damaged" in bed.router.log()
    bed.a.ping("10.2.0.1")
    bed.service.restart()
    assert bed.router.log().count("is damaged") == 1
    bed.a.ping("10.2.0.1")


def test_a_link_that_is_down_after_the_restart_is_told_later(bed):
    bed.service.stop()
    bed.b.sh("ip link set e0 down")
    bed.service.start()
    assert has_carrier(bed.router, "b0")  # the port gets some seconds
    wait_for(lambda: not has_carrier(bed.router, "b0"), 10, "the twin has lost its carrier")
    bed.b.sh("ip link set e0 up")
    wait_for(lambda: has_carrier(bed.router, "b0"), 10, "and has it again")


def test_a_restart_under_traffic(bed):
    """Packets are lost while nobody forwards, and none goes elsewhere."""
    with Stream(bed.a, bed.b, "10.2.0.1") as stream:
        bed.service.restart()
        bed.service.restart(kill=True)
        bed.a.ping("10.2.0.1")
    assert stream.received > 100 and stream.twice == 0
    assert stream.last > stream.sent - 100, "it flows again"
    bed.router.check_balance()


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
def test_sas_of_the_file_give_out_no_number_twice(lab, kill):
    """The far gateway would drop what comes with a number again; the near one must not forget."""
    first, second, a, _ = gateways(lab)
    managers = [ServiceManager(first), ServiceManager(second)]
    for manager in managers:
        manager.stop()
    for manager in managers:
        manager.start()
    wait_for(lambda: " 1 received" in a.ping("10.2.0.1", count=1, timeout=1, ok=False), 15,
             "the tunnel is there")
    a.ping("10.2.0.1", "-i", "0.01", count=300)

    def sequence(router):
        return max(sa["sequence"] for sa in router.get("/v1/ipsec")["sas"] if sa["sequence"])

    before = sequence(first)
    for manager in managers:
        manager.restart(kill)
        wait_for(lambda: " 1 received" in a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
                 "the tunnel is there again")
        a.ping("10.2.0.1", count=3)
    assert sequence(first) > before
    assert sequence(first) < before + (100 if not kill else 1 << 26)
    for router in (first, second):
        assert router.dropped("esp_replay") == 0, router.get("/v1/drops")


def test_sessions_of_frr_outlive_it(bed):
    """BGP and OSPF of FRR in the namespace, BIRD on host b: neither sees that hectod was away."""
    frr = Frr(bed.router, ZEBRA)
    try:
        frr.start()
        bird(bed)
        wait_for(lambda: bed.router.route_count("ospf") >= 1, 40, "the OSPF route is there")
        wait_for(lambda: bed.router.route_count("bgp") == V4_ROUTES + V6_ROUTES, 120,
                 "all BGP routes are in the FIB", step=0.5)

        def sessions():
            bgp, ospf = (json.loads(text[text.index("{"):]) for text in (
                frr.ask("show bgp neighbors json"), frr.ask("show ip ospf neighbor detail json")))
            return ({name: (peer["bgpState"], peer["connectionsEstablished"])
                     for name, peer in bgp.items() if "bgpState" in peer},
                    re.findall(r'"(?:nbrState|state)": ?"(\w+)', json.dumps(ospf)),
                    re.findall(r'"lastPrgrsvChangeMsec": ?(\d+)', json.dumps(ospf)))

        before = sessions()
        assert {state for state, _ in before[0].values()} == {"Established"}
        for kill in (False, True):
            bed.service.restart(kill)
            bed.a.ping("10.2.0.1")
            time.sleep(5)  # OSPF would have noticed by now
        after = sessions()
        assert after[0] == before[0] and after[1] == before[1], (before, after)
        # How long ago the adjacency last moved: it has only grown.
        assert [int(ms) for ms in after[2]] >= [int(ms) + 10_000 for ms in before[2]]
        wait_for(lambda: bed.router.route_count("bgp") == V4_ROUTES + V6_ROUTES, 30, "all again")
        assert bed.router.route_count("ospf") >= 1
    finally:
        frr.stop()


def test_bench_measures_restarts(tmp_path):
    result = tmp_path / "restart.json"
    out = sh([BUILD / "bench" / "hecto-bench", "restart", "--restarts", "2", "--routes", "100", "--json", result])
    found = json.loads(result.read_text())
    assert len(found["restarts"]) == 2 and found["routes"] == 100
    for one in found["restarts"]:
        assert one["lost"] > 0 and one["stop_ms"] > 0 and one["start_ms"] > 0
        # The packets that are missing are those of the time that is told.
        assert 0.5 < one["lost"] / (one["blackout_ms"] / 1e3 * found["pps"]) < 1.5, one
    assert "without forwarding" in out
    assert not re.search(r"^hb\d+[abr]", sh("ip netns"), re.M)
