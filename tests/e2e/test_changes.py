"""Changes while traffic runs: neighbors, routes, links, reloads, ports."""

import copy
import os
import re
import signal
import threading

import pytest

from conftest import PORTS, make_pair
from lab import wait_for
from stream import Stream


@pytest.mark.parametrize("far", ["10.2.0.1", "fd00:2::1"], ids=["v4", "v6"])
def test_a_host_changes_its_mac_under_traffic(pair, far):
    with Stream(pair.a, pair.b, far) as stream:
        pair.b.sh("sysctl -qw net.ipv4.conf.e0.arp_notify=1 net.ipv6.conf.e0.ndisc_notify=1")
        pair.b.sh("ip link set e0 down")
        pair.b.sh("ip link set e0 address 02:00:00:00:77:77")
        pair.b.sh("ip link set e0 up")
        pair.b.sh("ip -6 address replace fd00:2::1/64 dev e0 nodad")
        pair.b.sh("ip -6 route replace default via fd00:2::fe")
        # A host that moved says so, or is asked once its entry is stale.
        pair.b.ping("10.2.0.254", count=1, ok=False)
        pair.b.ping("fd00:2::fe", count=1, ok=False)
        wait_for(lambda: pair.router.neighbor(far)["mac"] == "02:00:00:00:77:77", 20,
                 "the new MAC is known")
        pair.b.sh("ip route replace default via 10.2.0.254")
        pair.a.ping(far, count=5)
    # What was lost was lost while nobody had the MAC: the last that were sent came.
    assert stream.last == stream.sent - 1 and stream.twice == 0
    assert len(stream.gaps) <= 2, stream.gaps


def test_only_untouched_prefixes_when_100000_routes_flap(pair):
    """100,000 routes come and go in Linux; the streams beside them lose nothing."""
    pair.b.sh("ip address add 10.9.0.1/32 dev lo")
    pair.router.linux_sh("ip route add 10.9.0.0/16 via 10.2.0.1 proto static")
    wait_for(lambda: pair.router.explain("10.9.0.1")["match"]["prefix"] == "10.9.0.0/16", 5,
             "the route is there")
    pair.a.ping("10.9.0.1")
    prefixes = [f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24" for i in range(100_000)]
    files = {}
    for verb in ("add", "del"):
        files[verb] = pair.lab.folder / verb
        files[verb].write_text("".join(f"route {verb} {p} via 10.2.0.1\n" for p in prefixes))
    with Stream(pair.a, pair.b, ["10.2.0.1", "10.9.0.1"]) as v4, \
            Stream(pair.a, pair.b, "fd00:2::1", port=7001) as v6:
        for _ in range(2):
            pair.router.linux_sh(["ip", "-batch", files["add"]])
            wait_for(lambda: pair.router.route_count() == 100_000, 60, "all routes are in")
            assert pair.router.explain("21.1.2.3")["match"]["prefix"] == "21.1.2.0/24"
            pair.router.linux_sh(["ip", "-batch", files["del"]])
            wait_for(lambda: pair.router.route_count() == 0, 60, "all routes are gone")
    v4.expect_no_loss()
    v6.expect_no_loss()


def test_link_goes_down_and_up_again(pair):
    pair.a.ping("10.2.0.1")
    pair.b.sh("ip link set e0 down")
    wait_for(lambda: not port(pair, "b0")["link"]["up"], 5, "b0's link is down")
    assert " 0 received" in pair.a.ping("10.2.0.1", count=2, timeout=1, ok=False)
    state = pair.router.linux_sh("ip link show b0")
    assert "NO-CARRIER" in state, state
    pair.b.sh("ip link set e0 up")
    pair.b.sh("ip route replace default via 10.2.0.254")
    wait_for(lambda: port(pair, "b0")["link"]["up"], 5, "b0's link is up")
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
             "packets flow again")


def port(pair, name):
    return next(p for p in pair.router.get("/v1/ports")["ports"] if p["name"] == name)


def test_wrong_reload_changes_nothing(pair):
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        before = pair.router.get("/v1/config")["yaml"]
        wrong = {**pair.config, "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"},
                                           {"to": "10.8.0.0/16", "via": "10.77.0.1"}]}
        pair.router.write(wrong)
        status, answer = pair.router.request("POST", "/v1/reload")
        assert status == 409 and any("10.77.0.1" in p for p in answer["problems"]), answer
        pair.router.file.write_text("ports: {a0: {device: va, mtuu: 1400}}\n")
        out = pair.router.cli("reload", check=False)
        assert "hecto.yaml:1" in out and "mtuu" in out, out
        pair.router.write({**pair.config, "workers": {0: [0]}, "tables": {"groups": 64}})
        status, answer = pair.router.request("POST", "/v1/reload")
        assert status == 409 and any("tables.groups" in p for p in answer["problems"]), answer
        assert pair.router.get("/v1/config")["yaml"] == before
        assert pair.router.explain("10.9.0.1")["match"] is None
    stream.expect_no_loss()


def test_a_reload_that_fails_amid_takes_all_back(pair):
    """Linux has a device of the new twin's name: seen only when ports are made."""
    pair.lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"])
    pair.router.linux_sh("ip link add c0 type veth peer name c0peer")
    wider = {**pair.config, "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"}],
             "ports": {**pair.config["ports"],
                       "c0": {"device": "vc", "addresses": ["10.3.0.254/24"]}}}
    before = pair.router.get("/v1/config")["yaml"]
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        pair.router.write(wider)
        status, answer = pair.router.request("POST", "/v1/reload")
        assert status == 409, answer
        assert answer["problems"][0].endswith("; all is as it was before"), answer
        assert pair.router.get("/v1/config")["yaml"] == before
        assert [p["name"] for p in pair.router.get("/v1/ports")["ports"]] == ["a0", "b0"]
        assert pair.router.explain("10.9.0.1")["match"] is None
    stream.expect_no_loss()
    pair.router.linux_sh("ip link del c0")
    pair.router.cli("reload")
    wait_for(lambda: " 1 received" in pair.a.ping("10.3.0.1", count=1, timeout=1, ok=False), 10,
             "c answers through the port that was refused before")


def test_right_reload_loses_nothing(lab):
    ports = copy.deepcopy(PORTS)
    ports["b0"]["vlans"] = {8: {"addresses": ["10.8.0.1/24"]}}  # AF_XDP would take no tags later
    pair = make_pair(lab, ports=ports)
    for far in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(far, count=1, ok=False)
        pair.a.ping(far, count=1)
    with Stream(pair.a, pair.b, "10.2.0.1") as v4, \
            Stream(pair.a, pair.b, "fd00:2::1", port=7001) as v6:
        config = {**copy.deepcopy(pair.config), "burst": 32, "punt": {"arp": 100},
                  "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"},
                             {"to": "10.66.0.0/16", "type": "blackhole"}]}
        config["ports"]["b0"] = {**config["ports"]["b0"], "urpf": "loose", "counters": True,
                                 "vlans": {7: {"addresses": ["10.7.0.1/24"]},
                                           8: {"addresses": ["10.8.0.1/24"]}}}
        pair.router.write(config)
        out = pair.router.cli("reload")
        assert "10.9.0.0/16" in out and "b0" in out, out
        names = [i["name"] for i in pair.router.get("/v1/interfaces")["interfaces"]]
        assert "b0.7" in names
        assert pair.router.explain("10.66.1.1")["verdict"] == "drop"
        pair.router.write(pair.config | {"routes": []})
        pair.router.cli("reload")
        assert pair.router.explain("10.9.0.1")["match"] is None
        assert "b0.7" not in [i["name"] for i in pair.router.get("/v1/interfaces")["interfaces"]]
    v4.expect_no_loss()
    v6.expect_no_loss()


def test_control_goes_on_while_a_route_file_is_read(pair):
    """However long it takes: the file is a pipe into which nobody writes yet."""
    pipe = pair.router.folder / "routes"
    os.mkfifo(pipe)
    before = pair.router.get("/v1/config")["yaml"]
    pair.router.write({**pair.config, "route_files": [str(pipe)]})
    answers = []
    asker = threading.Thread(
        target=lambda: answers.append(pair.router.request("POST", "/v1/reload")))
    asker.start()
    try:
        with Stream(pair.a, pair.b, "10.2.0.1") as stream:
            with open(pipe, "w") as routes:  # from here on it is being read
                for i in range(20):
                    routes.write(f"10.{100 + i}.0.0/16 via 10.2.0.1\n")
                    routes.flush()
                    status, _ = pair.router.request("GET", "/v1/ports", timeout=5)
                    assert status == 200
                pair.router.linux_sh("ip route add 10.99.0.0/16 via 10.2.0.1")
                wait_for(lambda: pair.router.explain("10.99.0.1")["match"], 5, "Linux is followed")
                assert pair.router.get("/v1/config")["yaml"] == before
                assert pair.router.explain("10.100.0.1")["match"] is None
                assert not answers
        stream.expect_no_loss()
    finally:
        asker.join(60)
    assert answers and answers[0][0] == 200, answers
    for i in range(20):
        assert pair.router.explain(f"10.{100 + i}.0.1")["match"]["prefix"] == f"10.{100 + i}.0.0/16"


def test_port_comes_and_goes_by_reload(pair):
    """A third host is attached to the running router, reached, and taken away again."""
    c = pair.lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"])
    wider = {**pair.config,
             "ports": {**pair.config["ports"],
                       "c0": {"device": "vc", "addresses": ["10.3.0.254/24"]}}}
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        for _ in range(2):
            pair.router.write(wider)
            pair.router.cli("reload")
            wait_for(lambda: " 1 received" in pair.a.ping("10.3.0.1", count=1, timeout=1, ok=False),
                     10, "c answers through the new port")
            c.ping("10.2.0.1")
            pair.router.write(pair.config)
            pair.router.cli("reload")
            assert [p["name"] for p in pair.router.get("/v1/ports")["ports"]] == ["a0", "b0"]
            assert " c0: " not in pair.router.linux_sh("ip link")
    stream.expect_no_loss()


def test_sighup_reloads(pair):
    pair.router.write({**pair.config, "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"}]})
    pair.router.process.send_signal(signal.SIGHUP)
    wait_for(lambda: pair.router.explain("10.9.0.1")["match"], 5, "the route is there")


def test_linux_changes_are_followed(pair):
    """Addresses, MTU, routes of every kind and metrics, as `ip` changes them."""
    router = pair.router
    router.linux_sh("ip address add 10.77.0.1/24 dev b0")
    wait_for(lambda: router.explain("10.77.0.1")["verdict"] == "punt", 5, "a new local address")
    router.linux_sh("ip link set b0 mtu 1300")
    wait_for(lambda: port(pair, "b0")["mtu"] == 1300 or next(
        i for i in router.get("/v1/interfaces")["interfaces"] if i["name"] == "b0")["mtu"] == 1300,
        5, "the MTU is taken over")
    router.linux_sh("ip route add 10.9.0.0/16 via 10.2.0.1 metric 50")
    router.linux_sh("ip route add blackhole 10.9.0.0/16 metric 10")
    wait_for(lambda: router.explain("10.9.0.1")["reason"] == "blackhole", 5, "metric 10 wins")
    router.linux_sh("ip route del blackhole 10.9.0.0/16 metric 10")
    wait_for(lambda: router.explain("10.9.0.1")["verdict"] == "forward", 5, "metric 50 is left")
    router.linux_sh("ip -6 nexthop add id 9 via fd00:2::1 dev b0")
    router.linux_sh("ip -6 route add 2001:db8:9::/48 nhid 9")
    wait_for(lambda: router.explain("2001:db8:9::1")["verdict"] == "forward", 5, "next-hop object")
    router.linux_sh("ip nexthop del id 9")
    wait_for(lambda: router.explain("2001:db8:9::1")["match"] is None, 5, "and its end")


@pytest.mark.parametrize("kind, said", [("blackhole", None), ("unreachable", "Unreachable"),
                                        ("prohibit", "prohibited|filtered|Prohibited")])
def test_routes_that_refuse(pair, kind, said):
    pair.router.linux_sh(["ip", "route", "add", kind, "10.66.0.0/16"])
    wait_for(lambda: pair.router.explain("10.66.0.1")["reason"] == kind, 5, "the route is there")
    out = pair.a.ping("10.66.0.1", count=2, timeout=1, ok=False)
    if said is None:
        assert pair.router.dropped("blackhole") == 2, out
    else:
        assert re.search(said, out), out
        assert pair.router.punted(kind) == 2


def test_overrun_of_netlink_is_followed_by_a_resync(lab):
    """hectod is held still while Linux changes more than a socket holds; then all is as in Linux."""
    pair = make_pair(lab)
    pair.a.ping("10.2.0.1", count=1, ok=False)
    resyncs = pair.router.get("/v1/summary")["mirror"]["resyncs"]
    add = pair.lab.folder / "add"
    add.write_text("".join(f"route add {20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24 via "
                           "10.2.0.1\n" for i in range(150_000)))
    rest = pair.lab.folder / "rest"
    rest.write_text("".join(f"route del {20 + i // 65536}.{i // 256 % 256}.{i % 256}.0/24\n"
                            for i in range(0, 150_000, 2)))
    os.kill(pair.router.process.pid, signal.SIGSTOP)
    try:
        pair.router.linux_sh(["ip", "-batch", add])
        pair.router.linux_sh(["ip", "-batch", rest])
    finally:
        os.kill(pair.router.process.pid, signal.SIGCONT)
    wait_for(lambda: pair.router.route_count() == 75_000, 60, "the state of Linux is read")
    wait_for(lambda: pair.router.get("/v1/summary")["mirror"]["state"] == "in sync", 30, "in sync")
    assert pair.router.get("/v1/summary")["mirror"]["resyncs"] > resyncs, pair.router.log()
    assert pair.router.explain("20.0.1.1")["match"]["prefix"] == "20.0.1.0/24"
    assert pair.router.explain("20.0.2.1")["match"] is None
    pair.a.ping("10.2.0.1")


def by(router, address):
    """The gateway to it."""
    return router.explain(address)["next_hop"]["members"][0]["gateway"]


def test_a_prepended_route_is_followed_at_once(pair):
    router = pair.router
    resyncs = router.get("/v1/summary")["mirror"]["resyncs"]
    router.linux_sh("ip route add 10.9.0.0/16 via 10.2.0.1")
    wait_for(lambda: by(router, "10.9.0.1") == "10.2.0.1", 5, "the first route")
    router.linux_sh("ip route prepend 10.9.0.0/16 via 10.1.0.1")
    wait_for(lambda: by(router, "10.9.0.1") == "10.1.0.1", 5, "the one before it")
    router.linux_sh("ip route append 10.9.0.0/16 via 10.2.0.9")
    assert "via 10.1.0.1" in router.linux_sh("ip route get 10.9.0.1")
    router.linux_sh("ip route del 10.9.0.0/16 via 10.1.0.1")
    wait_for(lambda: by(router, "10.9.0.1") == "10.2.0.1", 5, "the first again")
    assert router.get("/v1/summary")["mirror"]["resyncs"] == resyncs, "nothing was read again"


def test_a_neighbor_without_arp_has_the_mac_that_it_was_given(pair):
    router = pair.router
    for address in ("10.2.0.1", "fd00:2::1"):
        assert router.neighbor(address)["mac"] == pair.b.mac
        router.linux_sh(f"ip neigh replace {address} lladdr 02:00:00:00:55:55 nud noarp dev b0")
        wait_for(lambda: router.neighbor(address)["mac"] == "02:00:00:00:55:55", 5, "the MAC is taken over")
        assert router.neighbor(address)["state"] == "noarp" and router.has_neighbor(address)
        rewrite = router.explain(address)["next_hop"]["members"][0]["rewrite"]
        assert rewrite["destination"] == "02:00:00:00:55:55"


def test_a_route_of_the_file_has_the_metric_that_linux_gives_it(lab):
    pair = make_pair(lab, {"routes": [{"to": "2001:db8:9::/48", "via": "fd00:2::1"},
                                      {"to": "10.9.0.0/16", "via": "10.2.0.1"}]})
    router = pair.router
    for address, metric in (("2001:db8:9::1", 1024), ("10.9.0.1", 0)):
        wait_for(lambda: router.explain(address)["match"], 5, "the route is there")
        metrics = {route["origin"]: route["metric"] for route in router.explain(address)["candidates"]}
        assert metrics["file"] == metric and set(metrics.values()) == {metric}, metrics
    assert "metric 1024" in router.linux_sh("ip -6 route show 2001:db8:9::/48")
    router.linux_sh("ip -6 route add 2001:db8:9::/48 via fd00:1::1 metric 1023")
    wait_for(lambda: by(router, "2001:db8:9::1") == "fd00:1::1", 5, "1023 wins here as in Linux")
    assert "via fd00:1::1" in router.linux_sh("ip -6 route get 2001:db8:9::1")
    pair.router.write({**pair.config, "routes": []})
    pair.router.cli("reload")
    router.linux_sh("ip -6 route del 2001:db8:9::/48 metric 1023")
    wait_for(lambda: router.explain("2001:db8:9::1")["match"] is None, 5, "both are gone")
