"""A restart under a service manager that keeps descriptors: Linux's side does not notice."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import PORTS, make_pair
from lab import BUILD, sh, wait_for
from service_manager import ServiceManager
from stream import Stream
from test_ipsec import gateways
from test_routing_daemons import V4_ROUTES, V6_ROUTES, Frr, bird


STATE = ["state-0", "state-1"]


@pytest.fixture
def bed(lab):
    bed = make_pair(lab, start=False)
    bed.router.write(bed.config)
    bed.service = ServiceManager(bed.router)
    bed.service.start()
    for far in ("10.2.0.1", "fd00:2::1"):
        bed.a.ping(far, count=1, ok=False)
        bed.a.ping(far, count=1)
    return bed


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
    assert bed.service.kept() == [*STATE, "twin-a0", "twin-b0"]
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
    assert bed.service.kept() == [*STATE, "twin-a0"]
    bed.router.write(bed.config)
    bed.service.restart()
    bed.a.ping("10.2.0.1")


def test_a_port_that_a_reload_removes_and_brings_back(bed):
    router = bed.router
    router.write(dict(bed.config, ports={"a0": PORTS["a0"]}))
    router.cli("reload")
    assert "b0" not in links(router)
    wait_for(lambda: bed.service.kept() == [*STATE, "twin-a0"], 5, "it is kept no more")
    router.write(bed.config)
    router.cli("reload")
    wait_for(lambda: bed.service.kept() == [*STATE, "twin-a0", "twin-b0"], 5, "kept")
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


HUGE = Path("/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")


@pytest.fixture
def hugepages():
    before = HUGE.read_text().strip() if HUGE.exists() else None
    if before is None:
        pytest.skip("this kernel has no huge pages of 2 MiB")
    try:
        HUGE.write_text(str(int(before) + 400))
        if int(HUGE.read_text()) < int(before) + 400:
            pytest.skip("there is no memory for 400 huge pages")
        yield
    finally:
        HUGE.write_text(before)


def state_of(service):
    with service.lock:
        return "".join(os.pread(service.store[name], 1 << 20, 0).decode() for name in STATE)


def add_routes(router, count):
    """Of two kinds: half of them by b, the others nowhere."""
    batch = router.folder / "routes"
    batch.write_text("".join(
        f"route add {'' if i % 2 else 'blackhole '}20.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 "
        f"{'via 10.2.0.1 ' if i % 2 else ''}proto bgp\n" for i in range(count)))
    router.linux_sh(["ip", "-batch", batch])
    wait_for(lambda: router.route_count("bgp") == count, 60, "all routes are known")


@pytest.mark.parametrize("kill", [False, True], ids=["SIGTERM", "SIGKILL"])
def test_forwards_by_the_tables_of_the_run_before(hugepages, bed, kill):
    router = bed.router
    add_routes(router, 100_000)
    bed.b.sh("ip address add 20.0.0.1/32 dev lo")
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    assert any(name.startswith("table-") for name in bed.service.kept())
    before = sorted(bed.service.kept())
    with Stream(bed.a, bed.b, ["20.0.0.1", "20.0.0.2"]) as stream:
        bed.service.restart(kill)
        wait_for(lambda: "all is read; forwarding by it" in router.log(), 20, "its own tables")
    log = router.log()
    assert log.index("forwarding by the tables of the run before") < log.index("all is read;")
    # Half of them go nowhere, before and after.
    assert stream.received > 0 and stream.twice == 0
    wait_for(lambda: len(bed.service.kept()) == len(before), 10, "those of before are let go of")
    assert not {name for name in before if name.startswith("table-")} & set(bed.service.kept())
    assert router.route_count("bgp") == 100_000
    bed.a.ping("20.0.0.1")


def test_where_policy_rules_hold_no_tables_are_left(hugepages, bed):
    """Tables alone do not say how packets go then."""
    by_them = "forwarding by the tables of the run before"

    def log_of_restart():
        time.sleep(2.5)  # the state is written each second
        mark = len(bed.router.log())
        bed.service.restart()
        wait_for(lambda: "Linux's state is read" in bed.router.log()[mark:], 20, "Linux's routes")
        return bed.router.log()[mark:]
    bed.router.linux_sh("ip rule add to 20.0.0.0/8 blackhole pref 100")
    assert by_them not in log_of_restart()
    bed.a.ping("10.2.0.1")
    bed.router.linux_sh("ip rule del pref 100")
    assert by_them in log_of_restart()
    bed.a.ping("10.2.0.1")


ALL_READ = "all is read; forwarding by it"


def restart_till_read(bed):
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    mark = len(bed.router.log())
    bed.service.restart()
    wait_for(lambda: ALL_READ in bed.router.log()[mark:], 20, "its own tables")


def test_forwards_before_its_route_files_are_read(hugepages, bed):
    """By the tables of the run before, in which they are."""
    router, table = bed.router, bed.router.folder / "table.txt"
    table.write_text("".join(f"21.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 via 10.2.0.1\n" for i in range(200_000)))
    bed.b.sh("ip address add 21.3.13.63/32 dev lo")  # the last one
    bed.config["route_files"] = [str(table)]
    router.write(bed.config)
    restart_till_read(bed)
    mark = len(router.log())
    with Stream(bed.a, bed.b, ["21.3.13.63"]) as stream:
        restart_till_read(bed)
    log = router.log()[mark:]
    said = ["forwarding by the tables of the run before", f"200000 of {table}", ALL_READ]
    assert [log.count(line) for line in said] == [1, 1, 1] and sorted(said, key=log.index) == said
    assert stream.received > 0 and stream.twice == 0
    bed.a.ping("21.3.13.63")


def test_an_end_waits_for_route_files_while_packets_pass(hugepages, bed):
    """Here a pipe into which nobody writes, as a disk that hangs."""
    router, table = bed.router, bed.router.folder / "table.txt"
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    os.mkfifo(table)
    writer = os.open(table, os.O_RDWR)
    router.write(dict(bed.config, route_files=[str(table)]))
    bed.service.restart()
    bed.service.restart(kill=True)
    assert router.log().count("forwarding by the tables of the run before") == 2
    bed.a.ping("10.2.0.1")
    router.process.send_signal(signal.SIGTERM)
    wait_for(lambda: "route files are still being read" in router.log(), 10, "it waits")
    bed.a.ping("10.2.0.1")
    router.linux_sh("ip xfrm policy add src 10.1.0.0/24 dst 10.2.0.0/24 dir out action block")
    wait_for(lambda: router.get("/v1/ipsec")["policies"], 5, "it is followed")
    assert " 0 received" in bed.a.ping("10.2.0.1", count=2, timeout=1, ok=False)
    os.close(writer)
    assert router.process.wait(30) == 0


def test_without_the_tables_a_wrong_route_file_ends_the_start(hugepages, bed):
    """As at a first start: nothing is forwarded yet."""
    router, table = bed.router, bed.router.folder / "table.txt"
    wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
    table.write_text("21.0.0.0/24 via nowhere\n")
    router.write(dict(bed.config, ports={"a0": PORTS["a0"]}, route_files=[str(table)]))
    bed.service.stop()
    bed.service.start(wait=False)
    assert router.process.wait(30) == 1
    assert "tables of the run before are not used (ports or interfaces are others" in router.log()
    assert re.search(rf"error {table}:.*nowhere", router.log().splitlines()[-1])
    table.write_text("21.0.0.0/24 via 10.1.0.1\n")
    bed.service.start()
    assert router.explain("21.0.0.1")["verdict"] == "forward"


def rewrite_state(service, old, new):
    """As another version would have left it: with a sum that is right."""
    with service.lock:
        for name in STATE:
            fd = service.store[name]
            body = os.pread(fd, 1 << 20, 0).decode().rpartition("sum ")[0].replace(old, new)
            total = 14695981039346656037
            for byte in body.encode():
                total = (total ^ byte) * 1099511628211 & (1 << 64) - 1
            os.ftruncate(fd, 0)
            os.pwrite(fd, f"{body}sum {total:016x}\n".encode(), 0)


def test_what_another_version_left_is_not_forwarded_by(hugepages, bed):
    """Tables of another layout, and a state of another version: a cold start, and one line each."""
    router = bed.router
    add_routes(router, 1000)
    bed.b.sh("ip address add 20.0.0.1/32 dev lo")

    def lines(text):
        return sum(text in line for line in router.log().splitlines())

    def restart(change):
        wait_for(lambda: "tables" in state_of(bed.service), 10, "its tables are left")
        bed.service.stop()
        rewrite_state(bed.service, *change)
        bed.service.start()
        bed.a.ping("20.0.0.1")
        assert router.route_count("bgp") == 1000

    restart(("no such", "words"))  # the same version, and the sum as it was
    by_them = "forwarding by the tables of the run before"
    cold = "the tables of the run before are not used (they are of another version of hectod"
    assert lines(by_them) == 1 and lines(cold) == 0 and lines("is damaged") == 0
    restart(("number layout 1 ", "number layout 2 "))
    assert lines(by_them) == 1 and lines(cold) == 1 and lines("is damaged") == 0
    restart(("hecto state 1", "hecto state 2"))
    assert lines(by_them) == 1 and lines("is damaged or of another version") == 1
    restart(("no such", "words"))
    assert lines(by_them) == 2 and lines(cold) == 1
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
    frr = Frr(bed.router)
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
