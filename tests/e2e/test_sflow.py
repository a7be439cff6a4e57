"""sFlow: what collectors get of real traffic, and what becomes of the router when they do not."""

import math
import shutil
import struct
import subprocess
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1Q, Ether

from conftest import PORTS, make_pair
from lab import sh, wait_for
from sflow import INTERNAL, UNKNOWN, Collector
from test_top import Terminal
from wire import Wire

COLLECTOR = "10.2.0.1"  # host b: reached by the router's Linux side, as the file says


def start(lab, collectors=(COLLECTOR,), bed=None, listens=True, answer=None, **sflow):
    pair = make_pair(lab, {"sflow": {"collectors": list(collectors), **sflow}}, ports=bed,
                     start=False)
    if listens:
        pair.collector = Collector(lab, pair.b.name, COLLECTOR, answer=answer)
    pair.router.start(pair.config)
    for address in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(address, count=1, ok=False)
        pair.a.ping(address, count=1)
    pair.mac = ports_of(pair)["a0"]["mac"]
    return pair


def ports_of(pair):
    return {p["name"]: p for p in pair.router.get("/v1/ports")["ports"]}


def indices(pair):
    return {i["name"]: i["ifindex"] for i in pair.router.get("/v1/interfaces")["interfaces"]}


def shown(pair):
    return pair.router.get("/v1/sflow")


def settled(pair):
    """All that was sampled has left, or been counted as dropped."""
    def balanced():
        s = shown(pair)["samples"]
        assert s["waiting"] == 0 and s["taken"] == s["exported"] + s["dropped"], s
        return s
    first = wait_for(balanced, 5, "no sample waits")
    time.sleep(1.2)  # a datagram waits for others for a second
    return first


def frame(pair, number, size=200, dport=9, src="10.1.0.1", dst="10.2.0.1", ttl=64):
    return bytes(Ether(dst=pair.mac, src=pair.a.mac) / IP(src=src, dst=dst, ttl=ttl, id=number & 0xffff) /
                 UDP(sport=1000 + number % 50, dport=dport) /
                 (struct.pack("!I", number) + bytes(size - 46)))


def send(wire, frames, pace=50e-6):
    for each in frames:
        wire.send(each)
        time.sleep(pace)


def test_each_packet_byte_for_byte(lab):
    """N = 1: all packets, as they were sent, with the ports that they took and the route."""
    pair = start(lab, sampling=1, header_bytes=128, polling_s=0)
    collector = pair.collector
    settled(pair)
    index = indices(pair)
    frames = [frame(pair, n, size=64 + n * 13) for n in range(100)]
    with Wire(pair.a) as wire:
        send(wire, frames)
        settled(pair)
    collector.check()
    samples = [s for s in collector.flows(index["a0"]) if s.header[36:38] == b"\x00\x09"]
    assert [s.header for s in samples] == [f[:128] for f in frames]
    for sample, sent in zip(samples, frames):
        assert sample.length == len(sent) + 4 and sample.stripped == 4 and sample.protocol == 1
        assert (sample.rate, sample.source_type, sample.input_format, sample.input) == \
            (1, 0, 0, index["a0"]), sample
        assert (sample.output_format, sample.output) == (0, index["b0"]), sample
        assert sample.drops == 0
        assert vars(sample.router) == {"next_hop": "0.0.0.0", "source_length": 24,
                                       "destination_length": 24}, sample.router
    assert {d.agent for d in collector.datagrams} == {"10.1.0.254"}


def test_share_is_one_in_n(lab):
    """1 in 50 of 10,000: within five standard deviations of the binomial, which has more of them than
    skips drawn evenly have; and so for every fiftieth packet, which is of a kind of its own."""
    pair = start(lab, sampling=50, polling_s=0)
    collector = pair.collector
    count = 10_000
    with Wire(pair.a) as wire:
        before = shown(pair)["ports"]
        for n in range(count):
            wire.send(frame(pair, n, dport=10 if n % 50 == 0 else 9))
            if n % 50 == 0:
                time.sleep(0.002)
        settled(pair)
    collector.check()
    index = indices(pair)["a0"]
    pool = {p["name"]: p["packets"] for p in shown(pair)["ports"]}["a0"]
    seen = [s for s in collector.flows(index) if s.header[23:24] == b"\x11"]
    came = pool - {p["name"]: p["packets"] for p in before}["a0"]
    assert count * 0.9 <= came <= count + 100, "the wire lost too much to count by"
    for share, found in ((came, len(seen)),
                         (came / 50, sum(s.header[36:38] == b"\x00\x0a" for s in seen))):
        mean, deviation = share / 50, math.sqrt(share / 50 * (1 - 1 / 50))
        assert abs(found - mean) <= 5 * deviation + 3, (found, mean, deviation)
    assert {s.rate for s in seen} == {50}
    pools = [s.pool for s in seen]
    assert pools == sorted(pools) and pools[-1] <= pool


def test_fates(lab):
    """Where it goes that is not forwarded: to Linux, or nowhere, and why."""
    pair = start(lab, sampling=1, polling_s=0)
    collector = pair.collector
    pair.router.linux_sh("ip route add blackhole 203.0.113.0/24")
    pair.router.linux_sh("ip route add 198.51.100.0/24 via 10.2.0.1")
    wait_for(lambda: pair.router.route_count() >= 2, 5, "the routes")
    index = indices(pair)
    with Wire(pair.a) as wire:
        for n, (dst, ttl) in enumerate([("203.0.113.9", 64), ("10.1.0.254", 64), ("10.2.0.1", 1),
                                        ("198.51.100.7", 64)]):
            wire.send(frame(pair, n, dst=dst, ttl=ttl, dport=700 + n))
        bad = bytearray(frame(pair, 4, dport=704))
        bad[24] ^= 0xff  # the checksum
        wire.send(bytes(bad))
        wire.send(b"\xff" * 6 + frame(pair, 5)[6:12] + b"\x88\xcc" + bytes(50))  # LLDP, cut
        settled(pair)
    collector.check()
    found = {struct.unpack("!H", s.header[36:38])[0]: s for s in collector.flows(index["a0"])
             if s.header[12:14] == b"\x08\x00" and s.header[23] == 17}
    way = {n: (s.output_format, s.output) for n, s in found.items()}
    assert way[700] == (1, 256), way  # a blackhole has no number of its own
    assert way[701] == (0, INTERNAL) and way[702] == (0, INTERNAL), way
    assert way[703] == (0, index["b0"]), way
    assert vars(found[703].router) == {"next_hop": "10.2.0.1", "source_length": 24,
                                       "destination_length": 24}
    assert way[704] == (1, 256), way
    assert found[700].router is None and found[701].router is None
    lldp = [s for s in collector.flows(index["a0"]) if s.header[12:14] == b"\x88\xcc"]
    assert [(s.output_format, s.output) for s in lldp] == [(0, INTERNAL)]


def test_tags_ipv6_and_chosen_ports(lab):
    ports = {name: dict(port) for name, port in PORTS.items()}
    ports["a0"]["vlans"] = {100: {"addresses": ["10.9.0.254/24"]}}
    pair = start(lab, sampling=1, polling_s=0, header_bytes=64, bed=ports, agent="192.0.2.1",
                 ports=["a0"])
    collector = pair.collector
    index = indices(pair)
    tagged = bytes(Ether(dst=pair.mac, src=pair.a.mac) / Dot1Q(vlan=100) /
                   IP(src="10.9.0.1", dst="10.2.0.1") / UDP(sport=5, dport=800) / bytes(100))
    six = bytes(Ether(dst=pair.mac, src=pair.a.mac) / IPv6(src="fd00:1::1", dst="fd00:2::1") /
                UDP(sport=5, dport=801) / bytes(100))
    with Wire(pair.a) as wire:
        send(wire, [tagged, six] * 20, 1e-3)
        pair.b.ping("10.1.0.1", count=5)
        settled(pair)
    collector.check()
    assert {s.source for s in collector.flows()} == {index["a0"]}, "b0 is not sampled"
    assert sum(s.header == tagged[:64] for s in collector.flows()) == 20
    of_six = [s for s in collector.flows() if s.header == six[:64]]
    assert len(of_six) == 20
    assert vars(of_six[0].router) == {"next_hop": "::", "source_length": 64,
                                      "destination_length": 64}
    assert {d.agent for d in collector.datagrams} == {"192.0.2.1"}
    assert [p["name"] for p in shown(pair)["ports"]] == ["a0"]


def test_counters_are_those_of_ports(lab):
    pair = start(lab, sampling=1000, polling_s=1)
    collector = pair.collector
    index = indices(pair)
    pair.a.ping("10.2.0.1", count=20)
    done = ports_of(pair)
    for name in ("a0", "b0"):
        # b0 sends datagrams, so it never rests: what is told is at some time what was shown.
        wait_for(lambda: collector.counters(index[name])
                 and collector.counters(index[name])[-1].in_packets >= done[name]["rx"]["packets"],
                 10, f"counters of {name}")
    time.sleep(2.5)
    collector.check()
    rest = ports_of(pair)
    told = collector.counters(index["a0"])
    assert len(told) >= 2
    last = told[-1]
    assert last.in_packets <= rest["a0"]["rx"]["packets"] <= last.in_packets + 10
    assert last.in_bytes <= rest["a0"]["rx"]["bytes"]
    assert last.out_packets <= rest["a0"]["tx"]["packets"] <= last.out_packets + 10
    assert done["a0"]["rx"]["bytes"] <= last.in_bytes and done["a0"]["tx"]["bytes"] <= last.out_bytes
    assert (last.index, last.type, last.status, last.name) == (index["a0"], 6, 3, "a0")
    assert last.in_multicast == UNKNOWN and last.out_discards == UNKNOWN
    assert last.in_errors == 0 and last.promiscuous == 2
    speed = rest["a0"]["link"]["speed_mbps"]
    assert last.speed == (speed or 0) * 1_000_000


def test_collectors_that_are_not_there(lab):
    """One listens and answers with rubbish, one refuses, one has no host, one no route: forwarding goes
    on, and each has its own counts and one line in the log."""
    pair = start(lab, ["10.2.0.1:6343", "10.2.0.1:7000", "10.2.0.99", "203.0.113.1", "[fd00:2::1]"],
                 answer=3, sampling=1, polling_s=1)
    good = pair.collector
    six = Collector(lab, pair.b.name, "fd00:2::1")
    for _ in range(3):
        pair.a.ping("10.2.0.1", count=10)
        time.sleep(1.1)
    wait_for(lambda: shown(pair)["collectors"][1]["refused"] > 0, 10, "a refusal")
    wait_for(lambda: shown(pair)["collectors"][2]["refused"] > 0, 15, "no neighbor")
    settled(pair)
    good.check()
    six.check()
    assert len(good.flows()) >= 60
    by = {c["address"]: c for c in shown(pair)["collectors"]}
    assert by["10.2.0.1:6343"]["failed"] == 0 and by["10.2.0.1:6343"]["trouble"] is None
    assert by["10.2.0.1:7000"]["trouble"] == "nobody listens at collector 10.2.0.1:7000"
    assert "o route to host" in by["10.2.0.99:6343"]["trouble"], by
    assert by["203.0.113.1:6343"]["datagrams"] == 0 and by["203.0.113.1:6343"]["failed"] > 0
    assert "nreachable" in by["203.0.113.1:6343"]["trouble"], by
    assert by["[fd00:2::1]:6343"]["datagrams"] > 0
    log = pair.router.log()
    for address in ("10.2.0.1:7000", "203.0.113.1:6343"):
        lines = [line for line in log.splitlines() if f"collector {address}" in line]
        assert len(lines) == 1, lines
    text = pair.router.cli("show", "sflow")
    assert "! nobody listens at collector 10.2.0.1:7000" in text, text
    assert "nobody listens" in pair.router.cli("show", "summary")
    pair.router.linux_sh("ip route add 203.0.113.0/24 via 10.2.0.1")
    pair.b.sh("ip address add 203.0.113.1/32 dev e0")
    wait_for(lambda: next(c for c in shown(pair)["collectors"]
                          if c["address"] == "203.0.113.1:6343")["datagrams"] > 0, 10, "found later")


def test_flood_with_every_packet_sampled(lab):
    """More than control takes: forwarding is what counts, and each sample is exported or dropped."""
    pair = start(lab, sampling=1, polling_s=0, header_bytes=1024)
    collector = pair.collector
    frames = [frame(pair, n, size=1200) for n in range(64)]
    sent = 0
    with Wire(pair.a) as wire:
        end = time.monotonic() + 4
        while time.monotonic() < end:
            for each in frames:
                try:
                    wire.send(each)
                except OSError:
                    time.sleep(1e-3)
            sent += len(frames)
    samples = settled(pair)
    assert samples["taken"] >= sent * 0.5, (samples, sent)
    pair.a.ping("10.2.0.1", count=3)
    collector.check(lost=True)
    s = settled(pair)
    assert s["taken"] == s["exported"] + s["dropped"], s
    assert sum(p["samples"] for p in shown(pair)["ports"]) == s["taken"]
    print("taken", s, "sent", sent)


def test_reload(lab):
    """Off, on, other words: nothing is restarted, and the sequence goes on."""
    pair = start(lab, sampling=1, polling_s=0)
    collector = pair.collector
    pair.a.ping("10.2.0.1", count=5)
    settled(pair)
    pair.router.write({**pair.config, "sflow": {"collectors": []}})
    assert "sflow.collectors" in pair.router.cli("reload")
    wait_for(lambda: "sflow is off" in pair.router.cli("show", "sflow"), 2, "off")
    time.sleep(0.3)
    before = len(collector.flows())
    pair.a.ping("10.2.0.1", count=5)
    time.sleep(1.3)
    assert len(collector.flows()) == before
    pair.router.write({**pair.config, "sflow": {"collectors": [COLLECTOR], "sampling": 2,
                                                "header_bytes": 40}})
    out = pair.router.cli("reload")
    assert "sflow.sampling: 1 -> 2" in out or "sflow.sampling: 1000 -> 2" in out, out
    pair.a.ping("10.2.0.1", count=20)
    settled(pair)
    collector.check()
    late = collector.flows()[before:]
    assert late and {(s.rate, len(s.header)) for s in late} == {(2, 40)}
    pair.router.write({**pair.config, "sflow": {"collectors": [COLLECTOR], "ports": ["a9"]}})
    out = pair.router.cli("reload", check=False)
    assert "sflow.ports[0]: a9 is no port; did you mean a0?" in out, out


def test_from_the_host(lab):
    """`from: host`: by the namespace that hectod was started in, here another one than its Linux's."""
    pair = make_pair(lab, {"sflow": {"collectors": ["127.0.0.1"], "from": "host", "sampling": 1,
                                     "polling_s": 0}})
    collector = Collector(lab, pair.router.space.name, "127.0.0.1")
    pair.a.ping("10.2.0.1", count=1, ok=False)
    pair.a.ping("10.2.0.1", count=5)
    settled(pair)
    collector.check()
    assert len(collector.flows()) >= 10


def test_static_mode(lab):
    """Without a Linux side an interface has its number and one."""
    pair = make_pair(lab, {"linux": False, "neighbors": [
        {"address": "10.1.0.1", "interface": "a0", "mac": "02:00:00:00:00:0a"},
        {"address": "10.2.0.1", "interface": "b0", "mac": "02:00:00:00:00:0b"}],
        "sflow": {"collectors": ["127.0.0.1:6000"], "sampling": 1, "polling_s": 0}})
    collector = Collector(lab, pair.router.space.name, "127.0.0.1", 6000)
    pair.mac = ports_of(pair)["a0"]["mac"]
    with Wire(pair.a) as wire:
        send(wire, [frame(pair, n) for n in range(20)], 1e-3)
        settled(pair)
    collector.check()
    ids = {i["name"]: i["id"] + 1 for i in pair.router.get("/v1/interfaces")["interfaces"]}
    ways = {(s.input, s.output) for s in collector.flows() if s.header[23] == 17}
    assert (ids["a0"], ids["b0"]) in ways, (ways, ids)


@pytest.mark.skipif(shutil.which("sfcapd") is None, reason="apt-get install nfdump-sflow nfdump")
def test_a_collector_that_others_wrote(lab):
    """sfcapd reads the datagrams, nfdump finds the flows, scaled, with both interfaces."""
    pair = start(lab, listens=False, sampling=4, polling_s=1)
    flows = lab.folder / "flows"
    flows.mkdir()
    sfcapd = pair.b.start(["sfcapd", "-p", "6343", "-l", str(flows), "-t", "60", "-I", "r"])
    time.sleep(0.5)
    index = indices(pair)
    with Wire(pair.a) as wire:
        send(wire, [frame(pair, n, size=400, dport=4444) for n in range(2000)], 100e-6)
        settled(pair)
    sfcapd.terminate()
    sfcapd.wait(10)
    files = [f for f in flows.iterdir() if f.name.startswith("nfcapd")]
    assert files
    out = subprocess.run(["nfdump", "-R", str(flows), "-q", "-o", "fmt:%sa %da %dp %in %out %pkt %byt",
                          "-N", "proto udp and dst port 4444"], stdout=subprocess.PIPE, text=True,
                         check=True).stdout
    rows = [line.split() for line in out.splitlines() if line.split()[2:3] == ["4444"]]
    assert rows, out
    assert {tuple(r[:2]) for r in rows} == {("10.1.0.1", "10.2.0.1")}
    assert {tuple(r[3:5]) for r in rows} == {(str(index["a0"]), str(index["b0"]))}
    packets = sum(int(r[5]) for r in rows)
    assert abs(packets - 2000) < 5 * 4 * math.sqrt(500), packets


def test_metrics(lab):
    pair = start(lab, sampling=1, polling_s=0)
    pair.a.ping("10.2.0.1", count=3)
    settled(pair)
    text = sh(["curl", "-s", "--unix-socket", pair.router.socket, "http://x/metrics"])
    line = next(l for l in text.splitlines() if l.startswith("hecto_sflow_samples_total{")
                and "exported" in l)
    assert float(line.split()[-1]) > 0
    assert 'hecto_sflow_datagrams_total{collector="10.2.0.1:6343"}' in text


def test_top_flows(pair):
    """Without sFlow: samples are taken while somebody asks, of each packet where there are few."""
    assert pair.router.get("/v1/flows/top")["seconds"] == 0
    mac = ports_of(pair)["a0"]["mac"]
    pair.mac = mac
    end = time.monotonic() + 5
    with Wire(pair.a) as wire:
        n = 0
        while time.monotonic() < end:
            wire.send(frame(pair, 0, size=1000, dport=4444))
            if n % 4 == 0:
                wire.send(frame(pair, 1, size=1000, dport=4445))
            n += 1
            time.sleep(2e-3)
            if n % 200 == 0:
                pair.router.get("/v1/flows/top?seconds=3&limit=5")
    answer = pair.router.get("/v1/flows/top?seconds=3&limit=5")
    assert answer["seconds"] == 3 and answer["by"] == "bytes"
    first, second = answer["flows"][:2]
    assert (first["source"], first["destination"], first["destination_port"]) == \
        ("10.1.0.1", "10.2.0.1", 4444)
    assert (first["protocol"], first["in"], first["out"]) == ("udp", "a0", "b0")
    assert second["destination_port"] == 4445
    assert 3 <= first["bps"] / second["bps"] <= 5
    assert first["bps"] / first["pps"] == pytest.approx(8 * 1000, rel=0.05)
    assert answer["total"]["bps"] >= first["bps"] + second["bps"]
    out = pair.router.cli("top", "flows", "--once")
    assert "flows seen" in out, out
    for wrong in ("seconds=0", "seconds=31", "by=size", "limit=0", "x=1"):
        assert pair.router.request("GET", f"/v1/flows/top?{wrong}")[0] == 400, wrong
    assert pair.router.request("POST", "/v1/flows/top")[0] == 405


def test_top_flows_on_a_screen(pair):
    """Its pane asks for flows, and only it does; keys sort it."""
    pair.a.start("ping -n -i 0.05 -s 1000 10.2.0.1")
    terminal = Terminal(pair.lab, pair.router.socket, columns=100)
    wait_for(lambda: "egress" in terminal.text(), what="a picture of all")
    assert pair.router.get("/v1/sflow")["samples"]["taken"] == 0, "nobody has asked"
    terminal.press("6b")
    wait_for(lambda: "10.1.0.1" in terminal.text() and "icmp" in terminal.text(),
             what="the flow")
    assert "± " in terminal.text() or "> 100 %" in terminal.text(), terminal.text()
    terminal.press("0")
    wait_for(lambda: "egress" in terminal.text(), what="all again")
    terminal.press("q")
    terminal.ended(0)
    taken = []

    def rests():
        taken.append(pair.router.get("/v1/sflow")["samples"]["taken"])
        return len(taken) > 4 and taken[-1] == taken[-5]
    wait_for(rests, 20, "samples end ten seconds behind the last question", step=0.5)
