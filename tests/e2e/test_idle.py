"""What workers do between packets: each mode forwards, gives its core back as it says, and is woken."""

import os
import re
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from conftest import PORTS, make_pair
from lab import wait_for
from stream import Stream
from test_features import port_mac
from wire import Wire

MODES = ["sleep", "poll", "interrupt", "adaptive"]
RESTING = ["sleep", "interrupt", "adaptive"]


def workers(router):
    return router.get("/v1/workers")["workers"]


def start(lab, mode, ports=None, **config):
    pair = make_pair(lab, {"idle": mode, **config}, ports=ports)
    for address in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(address, count=1, ok=False)
        pair.a.ping(address, count=1)
    return pair


def cpu_share(router, seconds=2.0, waited=False):
    """Of the worker threads, by the scheduler's clock: 1 is one CPU. `waited`: with the time for which
    they were ready and had none."""
    def ran():
        total = 0
        folder = f"/proc/{hectod(router)}/task"
        for task in os.listdir(folder):
            with open(f"{folder}/{task}/comm") as name:
                if "-worker-" not in name.read():
                    continue
            with open(f"{folder}/{task}/schedstat") as stat:
                total += sum(int(ns) for ns in stat.read().split()[:2 if waited else 1])
        assert total > 0, "worker threads are found by their name"
        return total
    before, began = ran(), time.monotonic()
    time.sleep(seconds)
    return (ran() - before) / 1e9 / (time.monotonic() - began)


def hectod(router):
    """nsenter becomes the program that it starts."""
    with open(f"/proc/{router.process.pid}/comm") as name:
        assert name.read().strip() == "hectod"
    return router.process.pid


def burst(pair, packets):
    frame = Ether(dst=port_mac(pair.router, "a0"), src=pair.a.mac) / IP(
        src="10.1.0.1", dst="10.2.0.1") / UDP(sport=7, dport=9) / bytes(64)
    before = pair.router.get("/v1/drops")["totals"]["transmitted"]
    with Wire(pair.a) as at_a:
        for _ in range(packets):
            at_a.send(frame)
    wait_for(lambda: pair.router.get("/v1/drops")["totals"]["transmitted"] >= before + packets, 5,
             "the burst leaves")


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_forwards_and_loses_nothing(lab, mode):
    pair = start(lab, mode)
    worker, = workers(pair.router)
    assert (worker["idle"], worker["idle_in_force"], worker["no_wakeup"]) == (mode, mode, [])
    for _ in range(3):  # after a rest, and then another one
        time.sleep(0.5)
        pair.a.ping("10.2.0.1")
        pair.a.ping("10.1.0.254")
        burst(pair, 300)
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        time.sleep(1)
    stream.expect_no_loss()
    totals = pair.router.check_balance()
    assert totals["dropped"] == 0, pair.router.cli("show", "drops")
    assert mode in pair.router.cli("show", "workers")
    assert f"idle {mode}" in pair.router.log()


@pytest.mark.parametrize("mode", RESTING)
def test_a_worker_at_rest_gives_its_core_back(lab, mode):
    pair = start(lab, mode, idle_sleep_us=500)
    time.sleep(1)
    share = cpu_share(pair.router)
    assert share < 0.10, f"{share:.1%}"
    if mode == "interrupt":
        assert share < 0.02, f"{share:.1%}"


@pytest.mark.parametrize("mode", ["interrupt", "adaptive"])
def test_the_first_packet_after_a_rest_wakes_it(lab, mode):
    """Not the end of its wait, which comes after 10 ms."""
    pair = start(lab, mode)
    times = []
    for _ in range(15):
        time.sleep(0.2)
        out = pair.a.ping("10.2.0.1", count=1)
        times.append(float(re.search(r"time=([\d.]+) ms", out).group(1)))
    assert sorted(times)[len(times) // 2] < 3, times


@pytest.mark.parametrize("mode", ["interrupt", "adaptive"])
def test_what_linux_sends_leaves_at_once(lab, mode):
    """By the slow path, to the worker that has the transmit queue: it is woken."""
    pair = start(lab, mode)
    times = []
    for _ in range(15):
        time.sleep(0.2)
        out = pair.router.linux_sh("ping -n -c 1 -W 2 10.2.0.1")
        times.append(float(re.search(r"time=([\d.]+) ms", out).group(1)))
    assert sorted(times)[len(times) // 2] < 5, times


def test_a_reload_changes_the_mode_while_packets_pass(lab):
    pair = start(lab, "poll")
    assert cpu_share(pair.router, waited=True) > 0.9
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        for mode in ("interrupt", "adaptive", "sleep", "poll", {"0-4000": "adaptive"}, "interrupt"):
            pair.router.write({**pair.config, "idle": mode})
            out = pair.router.cli("reload")
            assert "idle" in out, out
            word = mode if isinstance(mode, str) else "adaptive"
            assert workers(pair.router)[0]["idle_in_force"] == word
            time.sleep(0.3)
    stream.expect_no_loss()
    time.sleep(1)
    assert cpu_share(pair.router) < 0.10


def test_a_port_that_wakes_nobody_is_told_and_its_worker_sleeps(lab):
    ports = {**PORTS, "m0": {"device": f"net_memif0,role=server,socket={lab.folder}/m.sock,socket-abstract=no",
                             "addresses": ["10.3.0.1/24"]}}
    pair = make_pair(lab, {"idle": "interrupt"}, ports=ports)
    worker, = workers(pair.router)
    assert (worker["idle"], worker["idle_in_force"]) == ("interrupt", "sleep")
    why, = worker["no_wakeup"]
    assert why == "m0: the driver net_memif has no receive interrupts"
    assert "was asked for interrupt and sleeps for idle_sleep_us where it would wait: m0" in \
        pair.router.log()
    assert "idle: interrupt, but it sleeps where it would wait: m0" in \
        " ".join(pair.router.cli("show", "workers").split())
    pair.a.ping("10.2.0.1", count=1, ok=False)
    pair.a.ping("10.2.0.1")
    # Without that port it waits.
    pair.router.write(pair.config | {"ports": PORTS})
    pair.router.cli("reload")
    assert workers(pair.router)[0]["idle_in_force"] == "interrupt"
    time.sleep(1)
    assert cpu_share(pair.router) < 0.02
    pair.a.ping("10.2.0.1")


def test_receive_interrupts_of_a_driver(lab):
    """net_tap has them."""
    tap = {"device": "net_tap0,iface=ti0", "queues": 2, "addresses": ["10.3.0.1/24"]}
    pair = make_pair(lab, {"idle": "interrupt"}, ports={**PORTS, "t0": tap})
    worker, = workers(pair.router)
    assert (worker["idle_in_force"], worker["no_wakeup"]) == ("interrupt", [])
    pair.router.space.sh("ip link set ti0 address 02:00:00:00:00:77")  # the port has its own
    pair.router.space.sh("ip addr add 10.3.0.2/24 dev ti0")
    pair.router.space.sh("ip link set ti0 up")
    time.sleep(1)
    assert cpu_share(pair.router) < 0.02
    ping = "ping -n -i 0.3 -c 5 -W 2 10.3.0.1"
    pair.router.space.sh("ping -n -c 1 -W 2 10.3.0.1", check=False)
    out = pair.router.space.sh(ping)
    assert " 5 received" in out, out
    pair.router.check_balance()


def test_a_port_set_up_while_nobody_waited_says_so(lab):
    tap = {"device": "net_tap0,iface=ti0", "queues": 2, "addresses": ["10.3.0.1/24"]}
    pair = make_pair(lab, {"idle": "poll"}, ports={**PORTS, "t0": tap})
    pair.router.write({**pair.config, "idle": "interrupt"})
    pair.router.cli("reload")
    worker, = workers(pair.router)
    assert worker["idle_in_force"] == "sleep"
    assert worker["no_wakeup"] == [
        "t0: it was set up without receive interrupts: restart, or add the port anew"]
    assert "t0: it was set up without receive interrupts" in pair.router.log()


def test_af_packet_wakes_its_worker(lab):
    ports = {name: {**port, "device": f"net_af_packet_{name},iface={port['device']}"}
             for name, port in PORTS.items()}
    pair = start(lab, "interrupt", ports=ports)
    assert all(p["driver"] == "net_af_packet" for p in pair.router.get("/v1/ports")["ports"])
    assert workers(pair.router)[0]["idle_in_force"] == "interrupt"
    time.sleep(1)
    assert cpu_share(pair.router) < 0.02
    pair.a.ping("10.2.0.1")
    burst(pair, 300)
