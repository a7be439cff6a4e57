"""Ports that come and go, and what a kernel interface loses in front of the router."""

import signal
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from conftest import make_pair
from lab import HECTOD, wait_for
from test_changes import port
from wire import Wire


def pools(pair):
    return pair.router.get("/v1/pools")["pools"]


def reload(pair, config):
    pair.router.write(config)
    return pair.router.cli("reload")


def with_c(pair, **more):
    c = {"device": "vc", "addresses": ["10.3.0.254/24"], **more}
    return {**pair.config, "ports": {**pair.config["ports"], "c0": c}}


@pytest.fixture(params=["pages_as_reserved", "hugepages"])
def pages(request):
    """What hectod says of its pages. With hugepages a pool lies in many pieces, else in one."""
    if request.param == "pages_as_reserved":
        yield "pages"
        return
    file = Path("/proc/sys/vm/nr_hugepages")
    reserved = int(file.read_text())
    wanted = reserved + 128  # 256 MiB, and a pair takes 110
    try:
        file.write_text(str(wanted))
    except OSError as error:
        pytest.skip(f"no hugepages can be reserved: {error}")
    try:
        if int(file.read_text()) < wanted:
            pytest.skip("no hugepages can be reserved: no memory in one piece")
        yield "; hugepages, "
    finally:
        file.write_text(str(reserved))


def test_an_af_xdp_port_comes_back_as_one_and_keeps_no_buffers(pages, pair):
    """Frames pour into the port while it goes: those, too, give their buffers back."""
    assert pages in pair.router.log()
    c = pair.lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"])
    flood = Ether(dst="ff:ff:ff:ff:ff:ff", src=c.mac) / IP(src="10.3.0.1", dst="10.2.0.1") / \
        UDP(sport=1, dport=9) / bytes(200)
    before = pools(pair)[0]["in_use"]
    for _ in range(4):
        reload(pair, with_c(pair))
        assert port(pair, "c0")["driver"] == "net_af_xdp", port(pair, "c0")["refused"]
        wait_for(lambda: " 1 received" in c.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
                 "c reaches b through the new port")
        with Wire(c) as wire:
            wire.send(flood, 3000)
            reload(pair, pair.config)
            wire.send(flood, 100)
        # A frame that meets a full ring can stay in the kernel's hands: one a queue, not a ring.
        wait_for(lambda: pools(pair)[0]["in_use"] < before + 64, 5, "the buffers are back")


def test_what_the_kernel_drops_in_front_of_a_socket_is_missed(pair):
    frame = Ether(dst="02:00:00:00:00:01", src=pair.a.mac) / IP(src="10.1.0.1", dst="10.2.0.1") / \
        UDP(sport=1, dport=9) / bytes(60)
    before = port(pair, "a0")["rx"]
    assert before["missed"] == 0
    pair.router.process.send_signal(signal.SIGSTOP)
    try:
        with Wire(pair.a) as wire:
            wire.send(frame, 5000)
    finally:
        pair.router.process.send_signal(signal.SIGCONT)

    def all_told():
        rx = port(pair, "a0")["rx"]
        return rx["packets"] - before["packets"] + rx["missed"] >= 5000
    wait_for(all_told, 5, "received and missed are what was sent")
    rx = port(pair, "a0")["rx"]
    assert rx["missed"] > 3000, rx
    assert rx["packets"] - before["packets"] + rx["missed"] < 5010, rx


def test_the_pool_of_a_removed_port_is_freed(lab):
    pair = make_pair(lab, {"memory": "1GiB"})
    lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"], mtu=9000)
    names = [pool["name"] for pool in pools(pair)]
    for _ in range(2):
        reload(pair, with_c(pair, mtu=9000))
        assert len(pools(pair)) == 2, pools(pair)
        reload(pair, pair.config)
        wait_for(lambda: [pool["name"] for pool in pools(pair)] == names, 5, "its pool is gone")


def test_the_log_level_of_the_command_line_outlives_a_reload(lab):
    pair = make_pair(lab, start=False)
    pair.router.write(pair.config)
    with open(pair.router.log_file, "a") as log:
        pair.router.process = subprocess.Popen(
            pair.router.space.words([HECTOD, "--log-level", "warn", pair.router.file]),
            stdout=log, stderr=log)
    pair.router.wait_ready()
    out = reload(pair, {**pair.config, "burst": 32, "log": {"level": "info"}})
    assert "burst" in out and "log" not in out, out
    assert "level: warn" in pair.router.get("/v1/config")["yaml"]
    assert " info " not in pair.router.log(), pair.router.log()
