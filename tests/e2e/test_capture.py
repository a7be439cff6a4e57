"""`hecto capture`: what is in the file, what becomes of keys, and who ends it."""

import json
import os
import signal
import stat
import subprocess
import time

import pytest
import yaml
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.ipsec import ESP, SecurityAssociation
from scapy.layers.l2 import Ether

import pcapng
from conftest import make_pair
from esp import Tunnel, ipsec_section, is_esp
from lab import HECTO, wait_for
from test_features import port_mac
from test_ipsec import HERE, INSIDE, THERE, inner_packet, start
from wire import Wire

ETHERNET, RAW_IP = 1, 101


class Capture:
    """A `hecto capture` in the background, and its file by scapy once it has ended."""

    def __init__(self, router, *words):
        self.router, self.file = router, router.folder / "capture.pcapng"
        begun = router.log().count(": begun")
        self.process = subprocess.Popen(
            [HECTO, "--socket", router.socket, "capture", "--write", self.file, *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: router.log().count(": begun") > begun or self.process.poll() is not None,
                 10, "the capture has begun")

    def end(self):
        """What it said, the interfaces and the packets."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=30)
        assert self.process.returncode == 0, said
        interfaces, packets = pcapng.read(self.file)
        for packet in packets:
            assert abs(packet.time - time.time()) < 300
        for one in interfaces:
            assert one.received == len(at(packets, one.name)) and one.dropped == 0, one
        return said, interfaces, packets


def at(packets, interface):
    return [packet for packet in packets if packet.interface == interface]


def only(packets, interface, text):
    """The one packet there that holds `text`."""
    found = [packet for packet in at(packets, interface) if text in packet.data]
    assert len(found) == 1, (interface, found)
    return found[0]


def associations(file):
    """scapy's, by SPI, of nothing but the lines of the file of keys."""
    by_spi = {}
    for line in file.read_text().splitlines():
        words = [word.strip('"') for word in line.split(",")]
        assert words[0] == "IPv4" and words[4] == "AES-GCM with 16 octet ICV [RFC4106]", words
        spi = int(words[3], 16)
        by_spi[spi] = SecurityAssociation(
            ESP, spi=spi, crypt_algo="AES-GCM", crypt_key=bytes.fromhex(words[5][2:]),
            tunnel_header=IP(src=words[1], dst=words[2]))
    return by_spi


def test_a_tunnel_from_inside_and_outside_with_its_keys(lab):
    tunnel = Tunnel(1, "aes-128-gcm", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    pair = start(lab, [tunnel], log={"level": "debug"},
                 ipsec={**ipsec_section([tunnel]), "export_keys": True})
    keys = pair.router.folder / "esp_sa"
    capture = Capture(pair.router, "--where", "rx,inner,outer,tx,drop", "--esp-keys", keys)
    sent = inner_packet(tunnel, True, b"out of the tunnel")
    back = inner_packet(tunnel, False, b"into the tunnel")
    sealed = tunnel.to_hecto.seal(back)
    forged = bytearray(tunnel.to_hecto.seal(back))
    forged[-1] ^= 1
    ether = bytes(Ether(dst=port_mac(pair.router, "b0"), type=0x800))
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        at_a.send(Ether(dst=port_mac(pair.router, "a0")) / sent)
        wire = at_b.receive(lambda p: is_esp(p, tunnel.from_hecto.spi), 1)
        at_b.send(ether + sealed)
        at_b.send(ether + bytes(forged))
        assert at_a.receive(lambda p: UDP in p and b"into the tunnel" in bytes(p), 1)
    assert len(wire) == 1
    wait_for(lambda: pair.router.dropped("esp_bad_icv") == 1, 5, "the forged one is dropped")
    said, interfaces, packets = capture.end()
    assert f"{len(packets)} packets captured, 0 lost" in said, said
    assert stat.S_IMODE(os.stat(capture.file).st_mode) == 0o600
    for one in interfaces:
        inside_of_ip = one.name.startswith(("encap", "decap"))
        assert one.link_type == (RAW_IP if inside_of_ip else ETHERNET), one

    assert only(packets, "a0 rx", b"out of the tunnel").data[14:] == bytes(sent)
    spi_out, spi_in = (f"SPI {sa.spi:#010x}" for sa in (tunnel.from_hecto, tunnel.to_hecto))
    before = only(packets, "encap inner", b"out of the tunnel")
    assert IP(before.data).ttl == sent.ttl - 1 and before.comment == spi_out
    assert bytes(IP(before.data).payload) == bytes(sent.payload)
    outer = at(packets, "encap outer")[0]  # host a answers what came in, behind it
    assert outer.comment == spi_out and outer.direction == 2
    assert only(packets, "b0 tx", outer.data[20:]).data == bytes(wire[0])
    assert [packet.data for packet in at(packets, "decap outer")] == [sealed, bytes(forged)]
    inside = only(packets, "decap inner", b"into the tunnel")
    assert inside.data == bytes(back) and inside.comment == spi_in and inside.direction == 1
    dropped = [packet for packet in at(packets, "drop") if "esp_bad_icv" in packet.comment]
    assert len(dropped) == 1 and dropped[0].comment.startswith("dropped, esp_bad_icv: "), dropped

    # The keys of the file open what was captured, and that is what was inside.
    assert stat.S_IMODE(os.stat(keys).st_mode) == 0o600
    by_spi = associations(keys)
    assert set(by_spi) == {tunnel.from_hecto.spi, tunnel.to_hecto.spi}
    assert bytes(by_spi[tunnel.from_hecto.spi].decrypt(IP(outer.data))) == before.data
    assert bytes(by_spi[tunnel.to_hecto.spi].decrypt(IP(sealed))) == inside.data

    # Nothing secret anywhere else; that it may be had, and was had, is in the log.
    log = pair.router.log()
    assert "ipsec.export_keys" in log and "keys of all SAs were given" in log
    for text in (log, said, pair.router.cli("show", "ipsec", "--json"),
                 pair.router.cli("show", "config", "--json"), pair.router.cli("show", "summary")):
        for sa in (tunnel.to_hecto, tunnel.from_hecto):
            assert sa.key.hex() not in text.lower()
    seteuid_cannot_have_keys(pair.router)


def seteuid_cannot_have_keys(router):
    """Somebody who may open the socket, and is not root."""
    for path, mode in ((router.lab.folder, 0o711), (router.folder, 0o711), (router.socket, 0o666)):
        os.chmod(path, mode)
    os.seteuid(65534)
    try:
        status, answer = router.request("GET", "/v1/capture/keys")
        assert status == 403 and "root only" in answer["error"], answer
        assert router.request("GET", "/v1/version")[0] == 200
    finally:
        os.seteuid(0)


def test_keys_are_refused_where_the_file_does_not_allow_them(lab):
    tunnel = Tunnel(1, "aes-256-gcm", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    pair = start(lab, [tunnel])
    keys = pair.router.folder / "esp_sa"
    told = pair.router.cli("capture", "--esp-keys", keys, check=False)
    assert told == ("hecto: keys are not given away: write \"ipsec: {export_keys: true}\" in the "
                    "configuration file and restart hectod\n")
    assert not keys.exists()
    file = pair.router.folder / "other.yaml"
    config = yaml.safe_load(pair.router.file.read_text())
    config["ipsec"]["export_keys"] = True
    file.write_text(yaml.safe_dump(config))
    told = pair.router.cli("reload", file, check=False)
    assert "ipsec.export_keys: false runs, true" in told and "restart" in told, told
    assert pair.router.request("GET", "/v1/capture/keys")[0] == 403
    told = [line for line in pair.router.log().splitlines() if "audit: " not in line]
    assert not any("export_keys" in line for line in told), told


def test_a_capture_filters_counts_and_goes_away_with_its_client(lab):
    pair = make_pair(lab)
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 15,
             "b answers")
    out = pair.router.folder / "pings.pcapng"
    capture = subprocess.Popen(
        [HECTO, "--socket", pair.router.socket, "capture", "-w", out, "--port", "a0", "--from",
         "10.2.0.1", "-n", "3", "--where", "tx", "--snaplen", "34", "--json"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: "capture 1: begun" in pair.router.log(), 10, "it has begun")
    status, answer = pair.router.request("POST", "/v1/capture", {})
    assert status == 409 and answer["error"].startswith("capture 1 runs"), answer
    pair.a.ping("10.2.0.1", count=5)
    counts, _ = capture.communicate(timeout=30)
    assert json.loads(counts) == {"id": 1, "captured": 3, "lost": 0}
    _, packets = pcapng.read(out)
    assert len(packets) == 3
    for packet in packets:
        assert (len(packet.data), packet.length, packet.interface) == (34, 98, "a0 tx")
        assert IP(packet.data[14:]).src == "10.2.0.1"
    # A client that dies leaves nothing behind for long.
    killed = Capture(pair.router)
    killed.process.kill()
    killed.process.communicate()
    wait_for(lambda: "has not read for 10 s" in pair.router.log(), 20, "it is noticed")
    again = Capture(pair.router, "--seconds", "0.1")
    again.process.wait(20)
    assert again.process.returncode == 0


def test_a_trace_finds_what_comes_in_a_tunnel(lab):
    tunnel = Tunnel(1, "aes-128-gcm", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    pair = start(lab, [tunnel])
    back = inner_packet(tunnel, False, b"into the tunnel")
    begun = pair.router.request("POST", "/v1/trace", {"to": back.dst, "protocol": "udp",
                                                      "count": 1})[1]
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        at_b.send(bytes(Ether(dst=port_mac(pair.router, "b0"), type=0x800)) +
                  tunnel.to_hecto.seal(back))
        assert at_a.receive(lambda p: UDP in p and b"into the tunnel" in bytes(p), 1)
    answer = wait_for(lambda: (t := pair.router.get(f"/v1/trace?id={begun['id']}"))["done"] and t,
                      10, "the trace has it")
    trace = answer["traces"][0]
    assert trace["packet"].startswith(f"IPv4 {back.src} > {back.dst} UDP"), trace
    assert trace["outcome"] == "transmit", trace
    assert [step["stage"] for step in trace["steps"]] == ["decap", "lookup", "rewrite",
                                                          "transmit"], trace
    assert f"SPI {tunnel.to_hecto.spi:#x}: IPv4 {back.src}" in trace["steps"][0]["text"], trace


def test_a_capture_as_lines_by_protocol_and_port(lab):
    pair = make_pair(lab)
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 15,
             "b answers")
    capture = subprocess.Popen(
        [HECTO, "--socket", pair.router.socket, "capture", "--text", "--where", "rx", "--port",
         "a0", "--protocol", "udp", "--transport-port", "4242", "-n", "2"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: "capture 1: begun" in pair.router.log(), 10, "it has begun")
    ether = Ether(dst=port_mac(pair.router, "a0"), src=pair.a.mac)
    ip = IP(src="10.1.0.1", dst="10.2.0.1")
    with Wire(pair.a) as at_a:
        at_a.send(ether / ip / UDP(sport=4000, dport=4241))
        at_a.send(ether / ip / UDP(sport=4000, dport=4242))
        at_a.send(ether / ip / TCP(sport=4242, dport=4242))
        at_a.send(ether / ip / UDP(sport=4242, dport=4000))
    lines, said = capture.communicate(timeout=30)
    shown = [line.split(" ", 1)[1] for line in lines.splitlines()]
    assert shown == ["a0 rx    IPv4 10.1.0.1 > 10.2.0.1 UDP 4000 > 4242, 28 bytes, TTL 64",
                     "a0 rx    IPv4 10.1.0.1 > 10.2.0.1 UDP 4242 > 4000, 28 bytes, TTL 64"], lines
    assert said == "hecto: capture: 2 packets captured, 0 lost\n", said


@pytest.mark.parametrize("words", [("--text",), ("--write", "-")])
def test_a_capture_ends_with_the_reader_of_its_pipe(lab, words):
    """As in `hecto capture --text | head -1`, and nothing comes after that line."""
    pair = make_pair(lab)
    capture = subprocess.Popen(
        [HECTO, "--socket", pair.router.socket, "capture", *words, "--endless", "--where", "rx",
         "--protocol", "udp"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_for(lambda: "capture 1: begun" in pair.router.log(), 10, "it has begun")
    with Wire(pair.a) as at_a:
        at_a.send(Ether(dst=port_mac(pair.router, "a0")) /
                  IP(src="10.1.0.1", dst="10.2.0.1") / UDP(sport=4000, dport=4242))
    assert capture.stdout.read(1)
    capture.stdout.close()
    assert capture.wait(5) == 0, capture.stderr.read()
    assert "capture 1: ended" in pair.router.log()
    assert pair.router.request("POST", "/v1/capture", {})[0] == 200  # there is room for another
