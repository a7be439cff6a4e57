"""Frames that are sent to both: what is right, and everything near it that is not.

Each is made from a seed, carries its number where it comes back by (in its payload, which errors quote), and says
which wire it is sent on. The beds' addresses are those of beds.py.
"""

import random
import struct
from dataclasses import dataclass

from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import (ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, IPv6ExtHdrHopByHop,
                                IPv6ExtHdrRouting, PadN)
from scapy.layers.l2 import Dot1Q, Ether

A4, B4, A6, B6 = "10.1.0.1", "10.2.0.1", "fd00:1::1", "fd00:2::1"
ROUTER = {"a": ("10.1.0.254", "fd00:1::fe"), "b": ("10.2.0.254", "fd00:2::fe")}
TAG = b"hecto#"

# Where to: by what the router's tables say of it.
DESTINATIONS4 = {
    "neighbor": B4, "routed": "10.9.1.1", "back": "10.1.0.2", "own": "10.1.0.254", "own, other port": "10.2.0.254",
    "blackhole": "10.66.0.1", "unreachable": "10.67.0.1", "prohibit": "10.68.0.1", "no route": "192.0.2.1",
    "link broadcast": "10.2.0.255", "own link broadcast": "10.1.0.255", "network address": "10.2.0.0",
    "limited broadcast": "255.255.255.255", "multicast": "224.0.0.251", "multicast beyond the link": "239.1.2.3",
    "link-local": "169.254.7.7", "loopback": "127.0.0.1", "class E": "240.0.0.1", "zero": "0.0.0.0",
    "this network": "0.1.2.3",
}
DESTINATIONS6 = {
    "neighbor": B6, "routed": "fd00:9::1", "own": "fd00:1::fe", "own, other port": "fd00:2::fe",
    "blackhole": "fd00:66::1", "unreachable": "fd00:67::1", "prohibit": "fd00:68::1", "no route": "2001:db8::1",
    "link-local": "fe80::77", "all nodes": "ff02::1", "multicast beyond the link": "ff0e::1:2", "loopback": "::1",
    "unspecified": "::", "mapped": "::ffff:10.2.0.1", "subnet router": "fd00:2::",
}
SOURCES4 = {
    "host": A4, "beyond": "198.51.100.7", "router itself": "10.1.0.254", "router, other port": "10.2.0.254",
    "other link": "10.2.0.9", "link broadcast": "10.1.0.255", "limited broadcast": "255.255.255.255",
    "multicast": "224.0.0.5", "link-local": "169.254.7.8", "loopback": "127.0.0.1", "class E": "240.0.0.9",
    "zero": "0.0.0.0", "this network": "0.1.2.9",
}
SOURCES6 = {
    "host": A6, "beyond": "2001:db8:7::7", "router itself": "fd00:1::fe", "other link": "fd00:2::9",
    "multicast": "ff02::5", "link-local": "fe80::78", "loopback": "::1", "unspecified": "::",
    "mapped": "::ffff:10.1.0.1",
}
# One of these for most frames: odd ends have their turn, most packets are to get somewhere.
COMMON = 0.6


@dataclass
class Frame:
    number: int
    wire: str  # "a" or "b": the host's end that sends it
    what: str  # in words, for the report
    data: bytes


def tag(number):
    return TAG + struct.pack("!I", number)


class Maker:
    """Frames by number; the same seed gives the same ones."""

    def __init__(self, seed, macs):
        self.random = random.Random(seed)
        self.macs = macs  # by wire: (the host's, the router's)

    def make(self, number):
        wire = "a"
        family = self.random.choice((4, 6))
        packet, what = self.ipv4(number) if family == 4 else self.ipv6(number)
        data, kind = bytes(packet), 0x0800 if family == 4 else 0x86DD
        if self.random.random() < 0.15:
            data, how = self.damage(data, family)
            what += f"; {how}"
        frame, how = self.ethernet(wire, kind, data)
        return Frame(number, wire, f"IPv{family} {what}{how}", frame)

    def ethernet(self, wire, kind, data):
        host, router = self.macs[wire]
        chance = self.random.random()
        if chance < 0.02:
            return bytes(Ether(dst="02:00:00:00:99:99", src=host, type=kind) / data), "; to another station"
        if chance < 0.03:
            return bytes(Ether(dst=router, src=router, type=kind) / data), "; from the router's MAC"
        if chance < 0.04:
            return bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=host, type=kind) / data), "; to the broadcast MAC"
        if chance < 0.05:
            return bytes(Ether(dst=router, src=host) / Dot1Q(vlan=77, type=kind) / data), "; tag 77"
        return bytes(Ether(dst=router, src=host, type=kind) / data), ""

    def pick(self, table):
        name = next(iter(table)) if self.random.random() < COMMON else self.random.choice(list(table))
        return name, table[name]

    def upper(self, number, family):
        """What is inside, by name."""
        load = tag(number) + bytes(self.random.choice((0, 1, 8, 22, 100)))
        kind = self.random.choice(("udp", "udp", "tcp", "echo", "protocol 253"))
        if kind == "udp":
            return UDP(sport=number & 0x7FFF | 0x8000, dport=9) / load, kind, 17
        if kind == "tcp":
            return TCP(sport=number & 0x7FFF | 0x8000, dport=9, seq=number, flags="S") / load, kind, 6
        if kind == "echo":
            echo = ICMP(id=number & 0xFFFF) if family == 4 else ICMPv6EchoRequest(id=number & 0xFFFF)
            return echo / load, kind, 1 if family == 4 else 58
        return load, kind, 253

    def ttl(self):
        return self.random.choice((64, 64, 64, 64, 255, 2, 1, 0))

    def ipv4(self, number):
        to, destination = self.pick(DESTINATIONS4)
        source_name, source = self.pick(SOURCES4)
        if self.random.random() < 0.01:
            source_name, source = "its destination", destination
        upper, kind, protocol = self.upper(number, 4)
        fields = {"ttl": self.ttl(), "tos": self.random.choice((0, 0, 1, 0x2E << 2)), "id": number & 0xFFFF}
        what = f"{kind} from {source_name} to {to}, TTL {fields['ttl']}"
        chance = self.random.random()
        if chance < 0.08:
            fields["options"] = self.random.choice((b"\x01\x01\x01\x00", b"\x07\x07\x04\0\0\0\0\0",
                                                    b"\x94\x04\0\0", b"\x83\x07\x04\x0a\x02\0\x01\0", b"\x07\x02\0\0"))
            what += f", options {fields['options'].hex()}"
        elif chance < 0.14:
            fields["flags"], fields["frag"] = self.random.choice((("MF", 0), (0, 185), ("MF", 185), ("DF+MF", 0)))
            what += f", fragment {fields['flags']} {fields['frag']}"
        elif chance < 0.4:
            fields["flags"] = "DF"
        return IP(src=source, dst=destination, proto=protocol, **fields) / upper, what

    def ipv6(self, number):
        to, destination = self.pick(DESTINATIONS6)
        source_name, source = self.pick(SOURCES6)
        if self.random.random() < 0.01:
            source_name, source = "its destination", destination
        upper, kind, protocol = self.upper(number, 6)
        head = IPv6(src=source, dst=destination, hlim=self.ttl(), tc=self.random.choice((0, 0, 1, 0xB8)),
                    fl=number & 0xFFFF)
        what = f"{kind} from {source_name} to {to}, hop limit {head.hlim}"
        chance = self.random.random()
        if chance < 0.04:
            head, what = head / IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(4))]), what + ", hop-by-hop"
        elif chance < 0.08:
            head, what = head / IPv6ExtHdrDestOpt(options=[PadN(optdata=bytes(4))]), what + ", destination options"
        elif chance < 0.11:
            head, what = head / IPv6ExtHdrFragment(offset=0, m=1, id=number), what + ", first fragment"
        elif chance < 0.13:
            head, what = head / IPv6ExtHdrFragment(offset=185, m=0, id=number), what + ", last fragment"
        elif chance < 0.15:
            head, what = head / IPv6ExtHdrRouting(type=0, addresses=[B6]), what + ", routing header 0"
        last = head.lastlayer()
        last.nh = protocol
        return head / upper, what

    def damage(self, data, family):
        """One field wrong, of the fixed header."""
        data = bytearray(data)
        cases = ["cut", "version", "too long a length", "too short a length", "padding"]
        if family == 4:
            cases += ["header length", "checksum"]
        case = self.random.choice(cases)
        at = 2 if family == 4 else 4
        if case == "cut":
            data = data[:self.random.randrange(1, len(data))]
            case = f"cut to {len(data)} bytes"
        elif case == "version":
            data[0] = (data[0] & 0x0F) | (self.random.choice((0, 5, 7, 15, 10 - family)) << 4)
        elif case == "too long a length":
            data[at:at + 2] = struct.pack("!H", len(data) + self.random.randrange(1, 2000))
        elif case == "too short a length":
            data[at:at + 2] = struct.pack("!H", self.random.randrange(0, 20))
        elif case == "padding":
            data += bytes(self.random.randrange(1, 40))
        elif case == "header length":
            data[0] = (data[0] & 0xF0) | self.random.choice((0, 4, 6, 15))
        elif case == "checksum":
            data[10] ^= 0x55
            return bytes(data), "wrong checksum"
        if family == 4 and len(data) >= 20:
            checksum(data)
        return bytes(data), case


def checksum(data):
    """Makes the header checksum right for what the header says now, as far as it goes."""
    header = min((data[0] & 15) * 4, len(data)) & ~1
    if header < 20:
        header = 20
    data[10:12] = b"\0\0"
    total = sum(struct.unpack(f"!{header // 2}H", bytes(data[:header])))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    data[10:12] = struct.pack("!H", ~total & 0xFFFF)
