"""IPFIX: what a collector that others wrote (nfcapd) makes of real traffic, and what becomes of the router
in a flood of flows and without a collector."""

import shutil
import struct
import subprocess
import time

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import make_pair
from lab import sh, wait_for
from test_sflow import indices, ports_of
from wire import Wire

COLLECTOR = "10.2.0.1"  # host b
needs_nfcapd = pytest.mark.skipif(shutil.which("nfcapd") is None, reason="apt-get install nfdump")


class Nfcapd:
    def __init__(self, lab, host, port=4739):
        self.folder = lab.folder / f"flows{port}"
        self.folder.mkdir()
        self.process = host.start(["nfcapd", "-p", str(port), "-l", str(self.folder), "-t", "600",
                                   "-I", "r"])
        wait_for(lambda: f":{port} " in host.sh("ss -uln"), 5, "nfcapd listens")

    def flows(self, expression):
        """Rows of nfdump: source, destination, ports, protocol, interfaces, packets, bytes, flags. Ends it."""
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(10)
        columns = "sa da sp dp pr in out pkt byt flg tos".split()
        out = subprocess.run(["nfdump", "-R", str(self.folder), "-q", "-N", "-6", "-o",
                              "fmt:" + ",".join(f"%{c}" for c in columns), expression],
                             stdout=subprocess.PIPE, text=True, check=True).stdout
        rows = [dict(zip(columns, (field.strip() for field in line.split(","))))
                for line in out.splitlines() if line.count(",") == len(columns) - 1]
        return rows, out


def start(lab, more=None, **ipfix):
    pair = make_pair(lab, {"ipfix": {"collectors": [COLLECTOR], "idle_s": 1, "active_s": 60, **ipfix},
                           **(more or {})}, start=False)
    return pair


def run(pair):
    pair.router.start(pair.config)
    for address in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(address, count=1, ok=False)
        pair.a.ping(address, count=1)
    pair.mac = ports_of(pair)["a0"]["mac"]
    return pair


def shown(pair):
    return pair.router.get("/v1/ipfix")


def frame(pair, size=400, sport=1000, dport=4444, six=False, layer=None):
    ip = IPv6(src="fd00:1::1", dst="fd00:2::1") if six else IP(src="10.1.0.1", dst="10.2.0.1", tos=0xb8)
    packet = Ether(dst=pair.mac, src=pair.a.mac) / ip / (layer or UDP(sport=sport, dport=dport))
    return bytes(packet / bytes(size - len(packet)))


def send(wire, frames, pace=100e-6):
    for each in frames:
        wire.send(each)
        time.sleep(pace)


def all_told(pair):
    def balanced():
        before = shown(pair)["samples"]["read"]
        time.sleep(0.5)
        answer = shown(pair)
        assert answer["samples"]["read"] == before, "samples still come"
        s = answer["samples"]
        assert s["read"] == s["told"] + s["under_way"] + s["no_flow"], s
        assert s["under_way"] == 0, s
        return answer
    answer = wait_for(balanced, 15, "no flow is under way")
    time.sleep(1.3)  # a message waits for others for a second
    return answer


@needs_nfcapd
def test_every_packet_is_in_a_flow(lab):
    """N = 1: flows, packets and bytes as they were sent, of both families, with interfaces and flags."""
    pair = start(lab, sampling=1)
    nfcapd = Nfcapd(lab, pair.b)
    run(pair)
    index = indices(pair)
    frames = [frame(pair, sport=1000 + n % 10) for n in range(500)]
    frames += [frame(pair, six=True) for _ in range(200)]
    frames += [frame(pair, size=100, layer=TCP(sport=1, dport=80, flags=flags)) for flags in "SAF"]
    with Wire(pair.a) as wire:
        send(wire, frames)
        all_told(pair)
    rows, out = nfcapd.flows("proto udp and dst port 4444 and ipv4")
    assert sorted(int(r["sp"]) for r in rows) == list(range(1000, 1010)), out
    assert {int(r["pkt"]) for r in rows} == {50}, out
    assert {int(r["byt"]) for r in rows} == {50 * 386}, out
    assert {(r["sa"], r["da"]) for r in rows} == {("10.1.0.1", "10.2.0.1")}, out
    assert {(r["in"], r["out"]) for r in rows} == {(str(index["a0"]), str(index["b0"]))}, out
    assert {r["tos"] for r in rows} == {"184"}, out
    rows, out = nfcapd.flows("proto udp and dst port 4444 and ipv6")
    assert [(r["sa"], r["da"], int(r["pkt"]), int(r["byt"])) for r in rows] == \
        [("fd00:1::1", "fd00:2::1", 200, 200 * 386)], out
    rows, out = nfcapd.flows("proto tcp and dst port 80")
    assert [int(r["pkt"]) for r in rows] == [3], out
    assert set(rows[0]["flg"].replace(".", "")) == set("SAF"), out


@needs_nfcapd
def test_a_collector_scales_by_what_options_say(lab):
    """1 in 4 of 2,000: nfcapd learns the sampling from options, within five standard deviations."""
    pair = start(lab, sampling=4)
    nfcapd = Nfcapd(lab, pair.b)
    run(pair)
    with Wire(pair.a) as wire:
        send(wire, [frame(pair, dport=5555)] * 2000)
        all_told(pair)
    rows, out = nfcapd.flows("proto udp and dst port 5555")
    packets = sum(int(r["pkt"]) for r in rows)
    assert abs(packets - 2000) < 5 * 4 * 500 ** 0.5, (packets, out)
    assert sum(int(r["byt"]) for r in rows) == packets * 386, out


@needs_nfcapd
def test_entries_of_the_flow_table(lab):
    """Exact counts of entries, at their end and while they stay; nothing is sampled."""
    pair = start(lab, {"flows": {"interfaces": ["a0"]}}, records="flow_table", active_s=2)
    nfcapd = Nfcapd(lab, pair.b)
    run(pair)
    index = indices(pair)
    pair.router.cli("flow", "add", "from", "10.1.0.1", "to", "10.2.0.1", "protocol", "udp", "dport",
                    "4444", "accept")
    pair.router.cli("flow", "add", "from", "10.1.0.1", "to", "10.2.0.1", "protocol", "udp", "dport",
                    "4445", "output", "b0")
    with Wire(pair.a) as wire:
        send(wire, [frame(pair)] * 300)
        send(wire, [frame(pair, dport=4445)] * 100)
        wait_for(lambda: shown(pair)["flows"]["told"] >= 2, 10, "both are told")
        send(wire, [frame(pair)] * 77)
        time.sleep(0.2)
    told = shown(pair)["flows"]["told"]
    pair.router.cli("flow", "delete", "from", "10.1.0.1", "to", "10.2.0.1", "protocol", "udp", "dport",
                    "4444")
    wait_for(lambda: shown(pair)["flows"]["told"] > told, 5, "the rest")
    time.sleep(1.3)
    assert shown(pair)["samples"] is None
    assert pair.router.get("/v1/sflow")["samples"]["taken"] == 0
    rows, out = nfcapd.flows("proto udp and dst port 4444")
    assert sum(int(r["pkt"]) for r in rows) == 377, out
    assert sum(int(r["byt"]) for r in rows) == 377 * 386, out
    assert len(rows) >= 2, out
    rows, out = nfcapd.flows("proto udp and dst port 4445")
    assert sum(int(r["pkt"]) for r in rows) == 100, out
    assert {r["out"] for r in rows} == {str(index["b0"])}, out
    assert "all packets of the entries of the flow table" in pair.router.cli("show", "ipfix")


def test_a_flood_of_flows(lab):
    """Each packet a flow of its own, and room for few: memory stays, forwarding goes on, and the sum holds."""
    pair = run(start(lab, sampling=1, flows=1000))
    base = bytearray(frame(pair, size=64))
    with Wire(pair.a) as wire:
        end = time.monotonic() + 4
        sent = 0
        while time.monotonic() < end:
            for _ in range(64):
                struct.pack_into("!I", base, 26, 0x0a010000 + sent % 60_000)
                struct.pack_into("!H", base, 34, sent % 50_000)
                base[24:26] = b"\0\0"
                struct.pack_into("!H", base, 24, checksum(bytes(base[14:34])))
                try:
                    wire.send(bytes(base))
                except OSError:
                    time.sleep(1e-3)
                sent += 1
        pair.a.ping("10.2.0.1", count=3)
    before = shown(pair)
    assert before["flows"]["under_way"] <= 1000 == before["flows"]["room"], before
    assert before["flows"]["memory_bytes"] < 1 << 20, before
    answer = all_told(pair)
    assert answer["flows"]["before_time"] > 1000, answer
    assert answer["samples"]["read"] > 2000, answer
    text = pair.router.cli("show", "ipfix")
    assert "for want of room" in text, text


def checksum(header):
    total = sum(struct.unpack("!10H", header))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


@needs_nfcapd
def test_collectors_that_are_not_there(lab):
    """One does not listen, one has no route: each is counted and told once; who comes late gets templates
    soon, though they are due once an hour."""
    pair = run(start(lab, sampling=1, templates_s=3600,
                     collectors=["10.2.0.1", "203.0.113.1:7000"]))
    wait_for(lambda: shown(pair)["collectors"][0]["refused"] > 0, 10, "a refusal")
    by = {c["address"]: c for c in shown(pair)["collectors"]}
    assert by["10.2.0.1:4739"]["trouble"] == "nobody listens at collector 10.2.0.1:4739"
    assert by["203.0.113.1:7000"]["failed"] > 0 and by["203.0.113.1:7000"]["messages"] == 0
    log = pair.router.log()
    assert len([line for line in log.splitlines() if "ipfix" in line and "10.2.0.1:4739" in line]) == 1, log
    assert "! nobody listens at collector 10.2.0.1:4739" in pair.router.cli("show", "ipfix")
    assert "ipfix: nobody listens" in pair.router.cli("show", "summary")
    nfcapd = Nfcapd(lab, pair.b)
    before = by["10.2.0.1:4739"]["messages"]
    time.sleep(5.5)  # templates come each five seconds meanwhile
    with Wire(pair.a) as wire:
        send(wire, [frame(pair, dport=6666)] * 50)
        all_told(pair)
    assert shown(pair)["collectors"][0]["messages"] > before
    rows, out = nfcapd.flows("proto udp and dst port 6666")
    assert sum(int(r["pkt"]) for r in rows) == 50, out


def test_reload_metrics_and_refusals(lab):
    pair = run(start(lab, sampling=1))
    text = sh(["curl", "-s", "--unix-socket", pair.router.socket, "http://x/metrics"])
    assert "hecto_ipfix_flows_limit 65536" in text, text
    assert 'hecto_ipfix_messages_total{collector="10.2.0.1:4739"}' in text
    pair.router.write({**pair.config, "ipfix": {"collectors": [COLLECTOR], "sampling": 1},
                       "sflow": {"collectors": [COLLECTOR]}})
    out = pair.router.cli("reload", check=False)
    assert "ipfix.sampling: 1 is not sflow.sampling (1000), and packets are sampled once for both" in out, out
    pair.router.write({**pair.config, "ipfix": {"collectors": [COLLECTOR], "records": "flow_table"}})
    out = pair.router.cli("reload", check=False)
    assert "ipfix.records: flow_table, and no interface is under flows" in out, out
    pair.router.write({**pair.config, "ipfix": {}})
    out = pair.router.cli("reload")
    assert "ipfix.collectors" in out, out
    wait_for(lambda: "ipfix is off" in pair.router.cli("show", "ipfix"), 5, "the exporter is off")
    taken = pair.router.get("/v1/sflow")["samples"]["taken"]
    pair.a.ping("10.2.0.1", count=3)
    assert pair.router.get("/v1/sflow")["samples"]["taken"] == taken
