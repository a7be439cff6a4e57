"""VLAN devices of Linux on VLAN devices over hectod's twins: two tags, 802.1ad or 802.1Q outside."""

import pytest
from scapy.layers.inet import ICMP, IP
from scapy.layers.l2 import ARP, Dot1AD, Dot1Q, Ether

import lab as labs
from wire import Wire

COUNT = 30
MAC = "02:00:00:00:07:01"


def interfaces(bed):
    return {i["name"]: i for i in bed.api("interfaces")["interfaces"]}


def tagged(head, tags, payload):
    for tpid, vlan in tags:
        head = head / (Dot1AD if tpid == 0x88a8 else Dot1Q)(vlan=vlan)
    return head / payload


def tags_of(frame):
    data, tags, at = bytes(frame), [], 12
    while (tpid := int.from_bytes(data[at:at + 2], "big")) in (0x8100, 0x88a8):
        tags.append((tpid, int.from_bytes(data[at + 2:at + 4], "big") & 0xfff))
        at += 4
    return tuple(tags)


def port_mac(bed, name):
    return next(p["mac"] for p in bed.api("ports")["ports"] if p["name"] == name)


def make(bed, name, on, protocol, vlan):
    bed.linux(f"ip link add link {on} name {name} type vlan proto {protocol} id {vlan}")
    bed.linux(f"ip link set {name} up")


@pytest.mark.parametrize("protocol, tpid", (("802.1ad", 0x88a8), ("802.1Q", 0x8100)))
def test_two_tags(bed, protocol, tpid):
    """ARP and a first packet by Linux, all others by the fast path, each with both tags."""
    both = ((tpid, 100), (0x8100, 10))
    make(bed, "s100", "rl0", protocol, 100)
    try:
        make(bed, "c10", "s100", "802.1Q", 10)
        bed.linux("ip link set c10 master red")
        bed.linux("ip address add 10.77.0.254/24 dev c10")
        labs.wait_for(lambda: interfaces(bed).get("c10", {}).get("up"), 10, "it is an interface")
        shown = interfaces(bed)["c10"]
        assert (shown["vlan"], shown["outer_vlan"], shown["tag_protocol"], shown["port"], shown["vrf"]) == \
            (10, 100, protocol.lower(), "rl0", "red"), shown
        assert interfaces(bed)["s100"]["tag_protocol"] == protocol.lower()
        head = Ether(dst=port_mac(bed, "rl0"), src=MAC)
        with Wire(bed.hosts["rl0"], promiscuous=True, device="rl0") as wire:
            wire.send(tagged(Ether(dst="ff:ff:ff:ff:ff:ff", src=MAC), both,
                             ARP(psrc="10.77.0.1", pdst="10.77.0.254", hwsrc=MAC)))
            reply, = wire.receive(lambda p: ARP in p and p[ARP].op == 2 and p[ARP].psrc == "10.77.0.254", 1, 5)
            assert tags_of(reply) == both
            labs.wait_for(lambda: bed.ping("rr0", "10.2.0.254", 1) == 1, 10, "the far host is known")
            labs.wait_for(lambda: "10.77.0.1" in str(bed.api("neighbors")), 10, "Linux has learned it")
            wire.send(tagged(head, both, IP(src="10.77.0.1", dst="10.2.0.1") / ICMP(id=1)))
            assert wire.receive(lambda p: ICMP in p, 1, 5), bed.logs()
            punted = bed.totals()["punted"]
            for number in range(COUNT):
                wire.send(tagged(head, both, IP(src="10.77.0.1", dst="10.2.0.1") / ICMP(id=2, seq=number)))
            back = wire.receive(lambda p: ICMP in p and p[ICMP].id == 2, COUNT, 5)
            assert len(back) == COUNT, bed.logs()
            assert {tags_of(frame) for frame in back} == {both}
            assert bed.totals()["punted"] - punted < COUNT / 2, "by the fast path"
            # An inner tag that is nobody's.
            before = bed.drops("unknown_vlan")
            wire.send(tagged(head, ((tpid, 100), (0x8100, 11)), IP(src="10.77.0.1", dst="10.2.0.1") / ICMP(id=3)))
            labs.wait_for(lambda: bed.drops("unknown_vlan") == before + 1, 5, "it is counted")
        # The outer one's own, as long as it is there.
        bed.linux("ip link del c10")
        labs.wait_for(lambda: "c10" not in interfaces(bed), 10, "it is gone")
        assert "s100" in interfaces(bed)
    finally:
        bed.linux("ip link del s100")
    labs.wait_for(lambda: "s100" not in interfaces(bed), 10, "all are gone")
    assert bed.ping("rl0", "10.2.0.1", 3) == 3


def test_one_tag_of_a_provider(bed):
    only = ((0x88a8, 300),)
    make(bed, "s300", "rl0", "802.1ad", 300)
    try:
        bed.linux("ip link set s300 master red")
        bed.linux("ip address add 10.78.0.254/24 dev s300")
        bed.linux(f"ip neigh replace 10.78.0.1 lladdr {MAC} dev s300")
        labs.wait_for(lambda: "10.78.0.1" in str(bed.api("neighbors")), 10, "the neighbor is known")
        labs.wait_for(lambda: bed.ping("rr0", "10.2.0.254", 1) == 1, 10, "the far host is known")
        with Wire(bed.hosts["rl0"], promiscuous=True, device="rl0") as wire:
            wire.send(tagged(Ether(dst=port_mac(bed, "rl0"), src=MAC), only,
                             IP(src="10.78.0.1", dst="10.2.0.1") / ICMP(id=5)))
            back, = wire.receive(lambda p: ICMP in p and p[ICMP].id == 5, 1, 5)
        assert tags_of(back) == only
    finally:
        bed.linux("ip link del s300")


def test_what_is_not_carried_is_said(bed):
    make(bed, "q8", "rl0", "802.1Q", 8)
    try:
        make(bed, "q8.9", "q8", "802.1Q", 9)
        make(bed, "q8.9.10", "q8.9", "802.1Q", 10)
        make(bed, "q8.s", "q8", "802.1ad", 11)
        labs.wait_for(lambda: "q8.9" in interfaces(bed), 10, "two tags are an interface")
        labs.wait_for(lambda: "Linux's q8.s is a VLAN of 802.1ad within another" in str(bed.api("summary")), 10,
                      "802.1ad inside is said")
        assert "Linux's q8.9.10 is a VLAN with three tags, on q8.9" in str(bed.api("summary"))
        assert not {"q8.9.10", "q8.s"} & set(interfaces(bed))
    finally:
        bed.linux("ip link del q8")
