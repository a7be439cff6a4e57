"""Interfaces with two tags, and with one of 802.1ad, of the file: by packets on the wire.

    a: 10.7.0.1 at 100.10    ── va  router  vb ── b 10.2.0.1
       10.8.0.1 at 100 (802.1ad)
       10.9.0.1 at 200.10 (802.1Q in 802.1Q)
"""

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether

from conftest import PORTS, make_pair
from lab import wait_for
from test_capture import Capture
from test_static import know_the_router, static_config
from wire import Wire

MAC = "02:00:00:00:07:01"
VLANS = {100: {"protocol": "802.1ad", "addresses": ["10.8.0.254/24"],
               "vlans": {10: {"addresses": ["10.7.0.254/24", "fd00:7::fe/64"]}}},
         200: {"vlans": {10: {"addresses": ["10.9.0.254/24"]}}}}
NEIGHBORS = {"10.7.0.1": "a0.100.10", "fd00:7::1": "a0.100.10", "10.8.0.1": "a0.100", "10.9.0.1": "a0.200.10"}
TAGS = {"10.7.0.1": ((0x88a8, 100), (0x8100, 10)), "10.8.0.1": ((0x88a8, 100),),
        "10.9.0.1": ((0x8100, 200), (0x8100, 10)), "fd00:7::1": ((0x88a8, 100), (0x8100, 10))}


def ports():
    return {"a0": {**PORTS["a0"], "vlans": VLANS, "counters": True}, "b0": dict(PORTS["b0"])}


def static_pair(lab):
    pair = make_pair(lab, start=False)
    config = static_config(pair)
    config["ports"] = ports()
    config["neighbors"] += [{"address": address, "interface": interface, "mac": MAC}
                            for address, interface in NEIGHBORS.items()]
    pair.router.start(config)
    know_the_router(pair)
    return pair


def mac_of(pair, port="a0"):
    return next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == port)


def tagged(head, tags, payload):
    """`tags`: pairs of TPID and VLAN."""
    frame = head
    for tpid, vlan in tags:
        frame = frame / (Dot1AD if tpid == 0x88a8 else Dot1Q)(vlan=vlan)
    return frame / payload


def tags_of(frame):
    """Of a received one, as it was on the wire."""
    data, tags, at = bytes(frame), [], 12
    while (tpid := int.from_bytes(data[at:at + 2], "big")) in (0x8100, 0x88a8):
        tags.append((tpid, int.from_bytes(data[at + 2:at + 4], "big") & 0xfff))
        at += 4
    return tuple(tags)


def interface(pair, name):
    return next(i for i in pair.router.get("/v1/interfaces")["interfaces"] if i["name"] == name)


@pytest.mark.parametrize("address", TAGS)
def test_both_ways_in_static_mode(lab, address):
    pair = static_pair(lab)
    ipv6 = ":" in address
    far = "fd00:2::1" if ipv6 else "10.2.0.1"
    ip, echo = (IPv6, ICMPv6EchoRequest) if ipv6 else (IP, ICMP)
    with Wire(pair.a, promiscuous=True) as wire:
        for number in range(20):
            wire.send(tagged(Ether(dst=mac_of(pair), src=MAC), TAGS[address],
                             ip(src=address, dst=far) / echo(id=7, seq=number)))
        back = wire.receive(lambda p: p[Ether].dst == MAC, 20)
    assert len(back) == 20, pair.router.get("/v1/drops")
    assert {tags_of(frame) for frame in back} == {TAGS[address]}
    assert all(frame[ip].src == far for frame in back)
    counters = interface(pair, NEIGHBORS[address])["counters"]
    assert counters["rx_packets"] == counters["tx_packets"] == 20, counters
    assert pair.router.check_balance()["punted"] == 0


def test_tags_that_nobody_has_are_dropped_by_name(lab):
    pair = static_pair(lab)
    head = Ether(dst=mac_of(pair), src=MAC)
    payload = IP(src="10.7.0.1", dst="10.2.0.1") / UDP(sport=1, dport=9) / bytes(40)
    unknown = [((0x8100, 101), (0x8100, 10)), ((0x8100, 200), (0x8100, 11)), ((0x88a8, 101), (0x8100, 10)),
               ((0x88a8, 101),), ((0x88a8, 100), (0x8100, 4095)), ((0x8100, 10), (0x8100, 200))]
    third = ((0x88a8, 100), (0x8100, 10), (0x8100, 5))  # for Linux, which there is none of here
    priority = ((0x88a8, 100), (0x8100, 0))
    with Wire(pair.a) as wire, Wire(pair.b) as far:
        for tags in unknown:
            wire.send(tagged(head, tags, payload))
        wire.send(tagged(head, third, payload))
        wire.send(tagged(head, priority, IP(src="10.8.0.1", dst="10.2.0.1") / UDP(sport=1, dport=9)))
        whole = bytes(tagged(head, TAGS["10.7.0.1"], payload))
        for end in (14, 16, 18, 20, 22, 30, 41):
            wire.send(whole[:end])
        came = far.receive(lambda p: UDP in p and p[UDP].dport == 9, 2, 2)
    assert [p[IP].src for p in came] == ["10.8.0.1"], "the priority tag says nothing"
    wait_for(lambda: pair.router.dropped("unknown_vlan") == len(unknown), 5, "unknown tags are counted")
    assert pair.router.dropped("no_linux") >= 1
    assert pair.router.dropped("truncated") >= 4, pair.router.get("/v1/drops")
    pair.router.check_balance()


def test_a_kernel_interface_shows_both_protocols_as_one(lab):
    """AF_PACKET tells a tag of 802.1ad as one of 802.1Q: both come in by the same interface, what leaves is right."""
    pair = static_pair(lab)
    with Wire(pair.a, promiscuous=True) as wire:
        wire.send(tagged(Ether(dst=mac_of(pair), src=MAC), ((0x8100, 100), (0x8100, 10)),
                         IP(src="10.7.0.1", dst="10.2.0.1") / ICMP(id=9)))
        back, = wire.receive(lambda p: p[Ether].dst == MAC, 1)
    assert tags_of(back) == TAGS["10.7.0.1"]


def test_twins_of_the_file_have_no_tags(lab):
    """With a Linux side: ARP by the twin of a VLAN within one, and a reload that takes it away."""
    pair = make_pair(lab, ports=ports())
    with Wire(pair.a, promiscuous=True) as wire:
        for tags, own, host in ((TAGS["10.7.0.1"], "10.7.0.254", "10.7.0.1"),
                                (TAGS["10.8.0.1"], "10.8.0.254", "10.8.0.1"),
                                (TAGS["10.9.0.1"], "10.9.0.254", "10.9.0.1")):
            wire.send(tagged(Ether(dst="ff:ff:ff:ff:ff:ff", src=MAC), tags,
                             ARP(psrc=host, pdst=own, hwsrc=MAC)))
            reply, = wire.receive(lambda p, own=own: ARP in p and p[ARP].op == 2 and p[ARP].psrc == own, 1)
            assert tags_of(reply) == tags and reply[ARP].hwdst == MAC
        pair.a.ping("10.2.0.1")
        wait_for(lambda: pair.router.has_neighbor("10.7.0.1"), 5, "Linux has learned it")
        wire.send(tagged(Ether(dst=mac_of(pair), src=MAC), TAGS["10.7.0.1"],
                         IP(src="10.7.0.1", dst="10.2.0.1") / ICMP(id=3)))
        back, = wire.receive(lambda p: ICMP in p and p[Ether].dst == MAC, 1)
        assert tags_of(back) == TAGS["10.7.0.1"]
        shown = interface(pair, "a0.100.10")
        assert (shown["vlan"], shown["outer_vlan"], shown["tag_protocol"], shown["tap"]) == \
            (10, 100, "802.1ad", "a0.100.10"), shown
        assert "802.1ad 100.10" in pair.router.cli("show", "interfaces")
        pair.config["ports"]["a0"] = {**pair.config["ports"]["a0"], "vlans": {200: VLANS[200]}}
        pair.router.write(pair.config)
        pair.router.cli("reload")
        wire.send(tagged(Ether(dst=mac_of(pair), src=MAC), TAGS["10.7.0.1"],
                         IP(src="10.7.0.1", dst="10.2.0.1") / ICMP(id=4)))
        wait_for(lambda: pair.router.dropped("unknown_vlan") == 1, 5, "its tag is unknown now")
        # Another protocol is another interface, of the same name.
        pair.config["ports"]["a0"]["vlans"] = {200: {**VLANS[200], "protocol": "802.1ad"}}
        pair.router.write(pair.config)
        assert "vlan a0.200: protocol 802.1q -> 802.1ad" in pair.router.cli("reload")
        now = ((0x88a8, 200), (0x8100, 10))
        wire.send(tagged(Ether(dst="ff:ff:ff:ff:ff:ff", src=MAC), now,
                         ARP(psrc="10.9.0.1", pdst="10.9.0.254", hwsrc=MAC)))
        reply, = wire.receive(lambda p: ARP in p and p[ARP].op == 2 and p[ARP].psrc == "10.9.0.254", 1)
        assert tags_of(reply) == now
    wait_for(lambda: "a0.100" not in pair.router.linux_sh("ip -o link show"), 5, "its twins are gone")
    pair.router.check_balance()


def test_a_capture_takes_an_interfaces_frames_alone(lab):
    pair = static_pair(lab)
    capture = Capture(pair.router, "--interface", "a0.100.10")
    with Wire(pair.a, promiscuous=True) as wire:
        for source, tags in TAGS.items():
            if ":" not in source:
                wire.send(tagged(Ether(dst=mac_of(pair), src=MAC), tags,
                                 IP(src=source, dst="10.2.0.1") / ICMP(id=11) / source.encode()))
        assert len(wire.receive(lambda p: p[Ether].dst == MAC, 3)) == 3
    _, _, packets = capture.end()
    assert [p.interface for p in packets] == ["a0 rx", "a0 tx"], packets
    assert all(b"10.7.0.1" in p.data for p in packets)


def test_frames_longer_than_the_port_takes_are_said(lab):
    """AF_PACKET lets a frame be one tag of 802.1Q longer than the MTU."""
    pair = static_pair(lab)
    lines = next(i for i in pair.router.get("/v1/mtu")["interfaces"] if i["name"] == "a0.100.10")["mismatches"]
    assert any("behind its tags net_af_packet carries 1492" in line for line in lines), lines
    assert "interface a0.200.10: with its tags frames of 1500 bytes are longer than net_af_packet takes" in \
        str(pair.router.get("/v1/summary")["warnings"])
