"""Ports that come and go, and what a kernel interface loses in front of the router.

HECTO_RESTARTS is how often it starts and ends under load on each kind of port (3).
"""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Dot1Q, Ether

from conftest import PORTS, make_pair
from flood import Flood
from lab import HECTOD, wait_for
from stream import Stream
from test_changes import port
from wire import Wire

RESTARTS = int(os.environ.get("HECTO_RESTARTS", 3))
AF_PACKET = {
    "a0": {**PORTS["a0"], "device": "net_af_packet0,iface=va"},
    "b0": {**PORTS["b0"], "device": "net_af_packet1,iface=vb"},
}


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
    told = [line for line in pair.router.log().splitlines() if "audit: " not in line]
    assert not any(" info " in line for line in told), told


def test_when_it_is_ready_twins_have_the_carrier_of_their_ports(lab):
    """A link that comes up while it starts: Linux takes a next hop there at the first answer."""
    pair = make_pair(lab, start=False)
    pair.router.write(pair.config)
    for _ in range(5):
        pair.b.sh("ip link set e0 down")
        pair.router.launch()
        wait_for(lambda: pair.router.linux_sh("ip link show b0"), 20, "b0 has its twin", step=0.002)
        pair.b.sh("ip link set e0 up")
        pair.router.wait_ready()
        pair.router.linux_sh("ip nexthop add id 1 via 10.2.0.1 dev b0")
        pair.router.stop()


@pytest.mark.parametrize("ports", [PORTS, AF_PACKET], ids=["af_xdp", "af_packet"])
def test_it_starts_hears_and_ends_under_load(lab, ports):
    pair = make_pair(lab, ports=ports, start=False)
    pair.router.write(pair.config)
    mac = json.loads(pair.router.space.sh("ip -json link show va"))[0]["address"]
    frame = Ether(dst=mac, src=pair.a.mac) / IP(src="10.1.0.1", dst="10.2.0.1") / \
        UDP(sport=7, dport=9) / bytes(22)
    for _ in range(RESTARTS):
        with Flood(pair.a, [bytes(frame)], 4) as flood:
            pair.router.launch()
            pair.router.wait_ready()
            pair.b.sh("ip neigh flush dev e0")
            pair.b.ping("10.2.0.254")
            pair.router.stop()
        assert flood.sent > 1000


@pytest.mark.parametrize("ports", [PORTS, AF_PACKET], ids=["af_xdp", "af_packet"])
def test_the_second_start_under_a_stream_forwards_it(lab, ports):
    """The stream never stops: it meets the second router as it met the first."""
    pair = make_pair(lab, ports=ports, start=False)
    pair.router.write(pair.config)
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        for _ in range(2):
            pair.router.launch()
            pair.router.wait_ready()
            sent = pair.router.get("/v1/drops")["totals"]["transmitted"]
            wait_for(lambda sent=sent: pair.router.get("/v1/drops")["totals"]["transmitted"] > sent + 2000, 15,
                     "it forwards the stream")
            pair.a.sh("ip link set e0 down")  # nothing is under way: what came and what went can be held together
            pair.router.check_balance()
            pair.a.sh("ip link set e0 up")
            pair.a.sh("ip route replace default via 10.1.0.254")
            pair.router.stop()
    assert stream.twice == 0 and stream.received > 4000, (stream.received, stream.sent)
    # Once they flow they all come: what is missing is missing where no router was, and where a's link was down.
    assert len(stream.gaps) <= 4, stream.gaps


def test_a_first_vlan_needs_one_reload(pair):
    """A port of AF_XDP, which shows no tags, is opened anew as one that does."""
    assert port(pair, "b0")["driver"] == "net_af_xdp"
    twin = pair.router.linux_sh("ip -json link show b0")
    pair.config["ports"]["b0"]["vlans"] = {7: {"addresses": ["10.7.0.254/24"]}}
    reload(pair, pair.config)
    assert port(pair, "b0")["driver"] == "net_af_packet"
    assert "port b0: opened anew as net_af_packet" in str(pair.router.get("/v1/summary")["warnings"])
    after = pair.router.linux_sh("ip -json link show b0")
    assert json.loads(after)[0]["ifindex"] == json.loads(twin)[0]["ifindex"]
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10,
             "untagged packets pass")
    request = Ether(dst="ff:ff:ff:ff:ff:ff", src=pair.b.mac) / Dot1Q(vlan=7) / \
        ARP(psrc="10.7.0.1", pdst="10.7.0.254", hwsrc=pair.b.mac)
    with Wire(pair.b) as wire:
        wire.send(request)
        reply, = wire.receive(lambda p: Dot1Q in p and ARP in p and p[ARP].op == 2, 1)
    assert reply[Dot1Q].vlan == 7 and reply[ARP].psrc == "10.7.0.254"
