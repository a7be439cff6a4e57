"""Broken and lying packets: each is dropped under its name or given to Linux, never forwarded."""

import random
import struct

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import ARP, Dot1Q, Ether

from conftest import PORTS, make_pair
from lab import Lab, wait_for
from wire import Wire

A4, B4, A6, B6 = "10.1.0.1", "10.2.0.1", "fd00:1::1", "fd00:2::1"
BODY = b"hostile-packet-body"
# From a host that is not there: a's own entry in the router stays what it is.
WHO_HAS = ARP(hwsrc="02:00:00:00:00:77", psrc="10.1.0.77", pdst="10.1.0.254")


def v4(**fields):
    return IP(src=A4, dst=B4, **fields) / UDP(sport=1, dport=9) / BODY


def patched(packet, offset, value):
    data = bytearray(bytes(packet))
    data[offset:offset + len(value)] = value
    return bytes(data)


def checksummed(packet):
    """An IPv4 packet whose header was patched, its checksum made right again."""
    data = bytearray(packet)
    data[10:12] = b"\0\0"
    total = sum(struct.unpack("!10H", bytes(data[:20])))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    data[10:12] = struct.pack("!H", ~total & 0xFFFF)
    return bytes(data)


def v6(**fields):
    return IPv6(src=A6, dst=B6, **fields) / UDP(sport=1, dport=9) / BODY


# name: (bytes after the Ethernet header, EtherType, reason)
CASES = {
    "ipv4 of one byte": (b"\x45", 0x0800, "truncated"),
    "ipv4 without its last header byte": (bytes(v4())[:19], 0x0800, "truncated"),
    "ipv6 of 20 bytes": (bytes(v6())[:20], 0x86DD, "truncated"),
    "nothing after the Ethernet header": (b"", 0x0800, "truncated"),
    "version 6 in an IPv4 frame": (patched(v4(), 0, b"\x65"), 0x0800, "bad_version"),
    "version 4 in an IPv6 frame": (patched(v6(), 0, b"\x40"), 0x86DD, "bad_version"),
    "header length 4": (checksummed(patched(v4(), 0, b"\x44")), 0x0800, "bad_header_length"),
    "header length beyond the packet": (checksummed(patched(v4()[IP], 0, b"\x4f"))[:40], 0x0800,
                                        "truncated|bad_total_length|bad_header_length"),
    "total length beyond the packet": (checksummed(patched(v4(), 2, b"\x05\x00")), 0x0800,
                                       "bad_total_length"),
    "total length below the header": (checksummed(patched(v4(), 2, b"\x00\x10")), 0x0800,
                                      "bad_total_length"),
    "total length zero": (checksummed(patched(v4(), 2, b"\x00\x00")), 0x0800, "bad_total_length"),
    "ipv6 payload length beyond the packet": (patched(v6(), 4, b"\x20\x00"), 0x86DD,
                                              "bad_total_length|truncated"),
    "wrong checksum": (patched(v4(), 10, b"\xde\xad"), 0x0800, "bad_checksum"),
    "source equals destination": (bytes(IP(src=B4, dst=B4) / UDP() / BODY), 0x0800, "looped"),
    "ipv6 source equals destination": (bytes(IPv6(src=B6, dst=B6) / UDP() / BODY), 0x86DD,
                                       "looped"),
    "source 127.0.0.1": (bytes(IP(src="127.0.0.1", dst=B4) / UDP() / BODY), 0x0800,
                         "martian_source"),
    "source 0.0.0.0": (bytes(IP(src="0.0.0.0", dst=B4) / UDP() / BODY), 0x0800, "martian_source"),
    "multicast source": (bytes(IP(src="224.0.0.5", dst=B4) / UDP() / BODY), 0x0800,
                         "martian_source"),
    "source 240.0.0.1": (bytes(IP(src="240.0.0.1", dst=B4) / UDP() / BODY), 0x0800,
                         "martian_source"),
    "ipv6 source ::1": (bytes(IPv6(src="::1", dst=B6) / UDP() / BODY), 0x86DD, "martian_source"),
    "ipv6 multicast source": (bytes(IPv6(src="ff02::1", dst=B6) / UDP() / BODY), 0x86DD,
                              "martian_source"),
    "destination 127.0.0.1": (bytes(IP(src=A4, dst="127.0.0.1") / UDP() / BODY), 0x0800,
                              "martian_destination"),
    "destination 240.0.0.1": (bytes(IP(src=A4, dst="240.0.0.1") / UDP() / BODY), 0x0800,
                              "martian_destination"),
    "ipv6 destination ::1": (bytes(IPv6(src=A6, dst="::1") / UDP() / BODY), 0x86DD,
                             "martian_destination"),
}
PUNTED = {
    "zero TTL": (bytes(v4(ttl=0)), 0x0800, "ttl_expired"),
    "TTL 1": (bytes(v4(ttl=1)), 0x0800, "ttl_expired"),
    "hop limit 0": (bytes(v6(hlim=0)), 0x86DD, "ttl_expired"),
    "hop limit 1": (bytes(v6(hlim=1)), 0x86DD, "ttl_expired"),
    "record route": (bytes(IP(src=A4, dst=B4, options=b"\x07\x07\x04\0\0\0\0\0") / UDP() / BODY),
                     0x0800, "options"),
    "hop-by-hop header": (bytes(IPv6(src=A6, dst=B6) / IPv6ExtHdrHopByHop() / UDP() / BODY),
                          0x86DD, "options"),
    "LLDP": (bytes(50), 0x88CC, "other_protocol"),
    "unknown EtherType": (bytes(50), 0x1234, "other_protocol"),
    "ARP": (bytes(WHO_HAS), 0x0806, "arp"),
}


@pytest.fixture(scope="module")
def shared():
    """One router for all cases: what one packet breaks shows in the next."""

    lab = Lab()
    try:
        bed = make_pair(lab)
        for far in (B4, B6):
            bed.a.ping(far, count=1, ok=False)
            bed.a.ping(far, count=1)
        bed.mac = next(p["mac"] for p in bed.router.get("/v1/ports")["ports"]
                       if p["name"] == "a0")
        yield bed
        for far in (B4, B6):  # after all of it the router still routes
            bed.a.ping(far)
        bed.router.finish()
    finally:
        lab.close(check=False)


def counted(router, reasons):
    drops = router.get("/v1/drops")
    return sum(entry["packets"] for entry in drops["drops"] + drops["punts"]
               if entry["reason"] in reasons.split("|"))


def frame(bed, payload, ether_type):
    return Ether(dst=bed.mac, src=bed.a.mac, type=ether_type) / payload


@pytest.mark.parametrize("case", CASES)
def test_dropped_under_its_name(shared, case):
    payload, ether_type, reasons = CASES[case]
    before = counted(shared.router, reasons)
    with Wire(shared.b) as at_b, Wire(shared.a) as at_a:
        # Short frames stay short on a veth: no padding hides the end.
        at_a.send(frame(shared, payload, ether_type), count=3)
        wait_for(lambda: counted(shared.router, reasons) == before + 3, 3,
                 f"3 packets are counted as {reasons}; "
                 f"{shared.router.get('/v1/drops')['drops']}")
        assert not at_b.receive(lambda p: BODY in bytes(p), 1, 0.1)


@pytest.mark.parametrize("case", PUNTED)
def test_given_to_linux(shared, case):
    payload, ether_type, reasons = PUNTED[case]
    before = counted(shared.router, reasons)
    with Wire(shared.a) as at_a:
        at_a.send(frame(shared, payload, ether_type), count=3)
        # Or more: IGMP and MLD reports of the peer are "options" as well.
        wait_for(lambda: counted(shared.router, reasons) >= before + 3, 10, f"counted as {reasons}")


def test_frames_of_every_short_length(shared):
    """0 to 60 bytes after the Ethernet header, of a packet that is right at full length."""
    before, sent = shared.router.get("/v1/drops")["totals"]["received"], 0
    with Wire(shared.a) as at_a:
        for whole, ether_type in ((bytes(v4()), 0x0800), (bytes(v6()), 0x86DD),
                                  (bytes(WHO_HAS), 0x0806),
                                  (bytes(Dot1Q(vlan=5) / v4()), 0x8100)):
            for length in range(len(whole)):
                at_a.send(frame(shared, whole[:length], ether_type))
                sent += 1
    wait_for(lambda: shared.router.get("/v1/drops")["totals"]["received"] >= before + sent, 5,
             f"all {sent} are received")
    shared.router.check_balance()


def test_random_bytes(shared):
    """Frames of noise behind a right MAC and EtherType."""

    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    noise = random.Random(seed)
    before = shared.router.get("/v1/drops")["totals"]["received"]
    with Wire(shared.a) as at_a:
        for _ in range(3000):
            ether_type = noise.choice((0x0800, 0x86DD, 0x8100, 0x0806, noise.randrange(65536)))
            data = noise.randbytes(noise.randrange(0, 200))
            if ether_type in (0x0800, 0x86DD) and data and noise.random() < 0.8:
                data = (b"\x45" if ether_type == 0x0800 else b"\x60") + data[1:]
            at_a.send(frame(shared, data, ether_type))
    wait_for(lambda: shared.router.get("/v1/drops")["totals"]["received"] >= before + 3000, 5,
             "all are received")
    shared.router.check_balance()


def test_other_stations_and_our_own_mac(shared):
    before = {r: shared.router.dropped(r) for r in ("not_for_us", "looped")}
    with Wire(shared.a) as at_a:
        at_a.send(Ether(dst="02:00:00:00:99:99", src=shared.a.mac) / v4(), count=4)
        at_a.send(Ether(dst=shared.mac, src=shared.mac) / v4(), count=2)
    wait_for(lambda: shared.router.dropped("looped") == before["looped"] + 2, 3, "our own MAC")
    # A port that is not promiscuous may filter by itself.
    assert shared.router.dropped("not_for_us") - before["not_for_us"] in (0, 4)


def test_frames_of_nearly_16_kib(lab):
    """Longer than the router's MTU on a wire that carries them: refused, and nothing breaks."""
    pair = make_pair(lab, ports=PORTS, start=False, mtu=16000)
    pair.router.start({"ports": {n: {**p, "mtu": 9000} for n, p in PORTS.items()}})
    pair.a.ping(B4, count=1, ok=False)
    mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    # hectod sets its end's MTU: longer frames are let in again to see what it does with them.
    pair.router.space.sh("ip link set va mtu 16000", check=False)
    long = Ether(dst=mac, src=pair.a.mac) / IP(src=A4, dst=B4) / UDP() / bytes(15900)
    with Wire(pair.b) as at_b, Wire(pair.a) as at_a:
        at_a.send(long, count=20)
        assert not at_b.receive(lambda p: len(p) > 9100, 1, 0.5)
    pair.a.ping(B4, "-s", "8972", "-M", "do", count=3)


def test_flood_of_punts_is_held_back(shared):
    """TTL 1 at full speed: the bucket lets 500 a second through, forwarding goes on."""
    packet = frame(shared, v4(ttl=1), 0x0800)
    data = bytes(packet)
    with Wire(shared.a) as at_a:
        at_a.send(data, count=20_000)
    wait_for(lambda: shared.router.dropped("ttl_expired") > 5000, 5, "the bucket is empty")
    shared.a.ping(B4)
