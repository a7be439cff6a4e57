"""IPsec never leaks: forged plaintext by every way in, plaintext by every way out.

What is sent carries MARK; where it must not arrive, no frame with it may be seen. The kernel of the
test's machine need not have ESP: SAs and policies are the file's, and what Linux would have made is
put on a twin by hand.
"""

import ctypes
import json
import os
import socket
import struct

from scapy.layers.inet import IP, UDP, IPOption
from scapy.layers.inet6 import IPv6, IPv6ExtHdrHopByHop
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether

from conftest import make_pair
from esp import Tunnel, ipsec_section, is_esp
from lab import wait_for
from test_features import port_mac
from wire import CLONE_NEWNET, Wire, libc

MARK = b"in the clear, where nobody should see it"
HERE, THERE = "10.2.0.254", "10.2.0.1"
FAR = "10.100.1.1"  # behind the tunnel
FAR6 = "fd00:100::1"
NOPS = [IPOption(b"\x01" * 4)]
RECORD_ROUTE = [IPOption(b"\x07\x07\x04" + b"\0" * 4 + b"\0")]


def marked(frame):
    return MARK in bytes(frame)


def tunnels(**options):
    """Of both families between what is behind a and what is behind the peer at b."""
    return [Tunnel(1, "aes-128-gcm", HERE, THERE, "10.1.0.0/16", "10.100.0.0/16", **options),
            Tunnel(2, "aes-128-gcm", HERE, THERE, "fd00:1::/64", "fd00:100::/64", **options)]


def policy(direction, source, destination, **more):
    return {"direction": direction, "source": source, "destination": destination, **more}


def bed(lab, made=None, policies=(), **more):
    section = ipsec_section(tunnels() if made is None else made)
    section["policies"] += list(policies)
    config = {"routes": [{"to": "10.100.0.0/16", "via": THERE},
                         {"to": "fd00:100::/32", "via": "fd00:2::1"}],
              "ipsec": section, **more}
    pair = make_pair(lab, config=config)
    for address in (THERE, "fd00:2::1"):
        wait_for(lambda address=address: " 1 received" in pair.a.ping(address, count=1, ok=False),
                 10, f"{address} answers")
    wait_for(lambda: pair.router.has_neighbor("10.1.0.1")
             and pair.router.has_neighbor("fd00:1::1"), 5, "the inner hosts are known")
    return pair


def inside(namespace, call):
    """What `call` gives inside the network namespace."""
    here = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    there = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
    try:
        if libc.setns(there, CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")
        try:
            return call()
        finally:
            libc.setns(here, CLONE_NEWNET)
    finally:
        os.close(here)
        os.close(there)


def listener(router, address, port):
    """A UDP socket of the router's own."""
    def make():
        made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET,
                             socket.SOCK_DGRAM)
        made.bind((address, port))
        made.settimeout(0.2)
        return made
    return inside(router.linux, make)


def heard(sock):
    try:
        return sock.recv(2048)
    except socket.timeout:
        return None


class Twin:
    """Frames as Linux sends them by the twin `name`."""

    def __init__(self, router, name):
        def make():
            made = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
            made.bind((name, 0))
            return made
        self.socket = inside(router.linux, make)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame):
        self.socket.send(bytes(frame))


def linux_only_host(lab, router, name, own, address):
    """A host behind a device that Linux alone has, in the router's namespace."""
    space = lab.namespace(name)
    router.linux_sh(["ip", "link", "add", f"only-{name}", "type", "veth", "peer", "name", "e0",
                     "netns", space.name])
    space.sh("ethtool -K e0 tx off", check=False)
    for run, device, prefix in ((router.linux_sh, f"only-{name}", own), (space.sh, "e0", address)):
        run(["ip", "address", "add", prefix, "dev", device])
        run(["ip", "link", "set", device, "up"])
    space.sh(["ip", "route", "add", "default", "via", own.split("/")[0]])
    return space


# ---- what comes in

def test_forged_plaintext_by_every_way_past_the_look_up(lab):
    """From the peer's side, as if from behind its tunnel: options, hop-by-hop, link-local senders, a
    route that only Linux has, a device that only Linux has, TTL 1, the router's own sockets."""
    pair = bed(lab, policies=[
        policy("forward", "169.254.0.0/16", "10.1.0.0/16", action="discard", priority=1),
        policy("in", "169.254.0.0/16", "10.1.0.0/16", action="discard", priority=1),
        policy("forward", "10.100.0.0/16", "10.3.0.0/16", action="discard", priority=1)])
    router = pair.router
    c = linux_only_host(lab, router, "c", "10.3.0.254/24", "10.3.0.1/24")
    # Known to Linux by a rule, in a table that nobody mirrors.
    pair.a.sh("ip address add 10.1.7.1/24 dev e0")
    router.linux_sh("ip rule add to 10.1.7.0/24 lookup 77")
    router.linux_sh("ip route add 10.1.7.0/24 via 10.1.0.1 table 77")
    wait_for(lambda: " 1 received" in pair.a.ping("10.3.0.1", count=1, ok=False), 10,
             "the host behind Linux's device answers")
    ether = Ether(dst=port_mac(router, "b0"))

    def forged(number, **fields):
        whole = {"src": FAR, "dst": "10.1.0.1", **fields}
        return ether / IP(**whole) / UDP(sport=7, dport=9) / (MARK + bytes([number]))

    own = listener(router, "10.1.0.254", 9)
    packets = [forged(0, options=NOPS), forged(1, options=RECORD_ROUTE),
               forged(2, src="169.254.7.7"), forged(3, dst="10.1.7.1"),
               forged(4, dst="10.3.0.1"), forged(5, dst="10.3.0.1", options=NOPS),
               forged(6, ttl=1), forged(7, dst="10.1.0.254"),
               forged(8, dst="10.1.0.254", options=NOPS),
               forged(9, dst="10.1.0.254", src="169.254.7.7"),
               Ether(dst="ff:ff:ff:ff:ff:ff") / forged(10)[IP],
               Ether(dst=ether.dst) / Dot1AD(vlan=9) / forged(11)[IP],
               ether / IPv6(src=FAR6, dst="fd00:1::1") / IPv6ExtHdrHopByHop(options=[])
               / UDP(sport=7, dport=9) / MARK]
    with Wire(pair.a) as at_a, Wire(c) as at_c, Wire(pair.b) as at_b:
        for packet in packets:
            at_b.send(packet)
        assert not at_a.receive(marked, 1, 1.5), "it reached the protected host"
        assert not at_c.receive(marked, 1, 0.5), "it reached the host behind Linux's device"
        assert heard(own) is None, "it reached the router's own socket"
        refused = router.dropped("policy_mismatch") + router.dropped("policy_discard")
        assert refused == len(packets), [(d["reason"], d["packets"]) for d in router.get("/v1/drops")["drops"]]
        # The same ways are open to whom no policy knows.
        at_b.send(ether / IP(src=THERE, dst="10.1.0.1", options=NOPS) / UDP(sport=7, dport=9) / MARK)
        assert at_a.receive(marked, 1), router.get("/v1/drops")
        at_b.send(ether / IP(src=THERE, dst="10.1.7.1") / UDP(sport=7, dport=9) / MARK)
        assert at_a.receive(marked, 1), router.get("/v1/drops")
        at_b.send(ether / IP(src=THERE, dst="10.3.0.1") / UDP(sport=7, dport=9) / MARK)
        assert at_c.receive(marked, 1), router.get("/v1/drops")
        at_b.send(ether / IP(src=THERE, dst="10.1.0.254", options=NOPS) / UDP(dport=9) / MARK)
        assert heard(own) == MARK, router.get("/v1/drops")
    own.close()


def test_fragments_past_policies_with_ports_are_dropped_both_ways(lab):
    """A fragment has no ports to be judged by (RFC 4301 section 7)."""
    ports = [policy(way, *ends, protocol="udp", destination_port=9, action="discard")
             for way, ends in (("out", ("10.1.0.0/24", "10.2.0.0/24")),
                               ("forward", ("10.2.0.0/24", "10.1.0.0/24")))]
    pair = bed(lab, made=[], policies=ports)
    router = pair.router
    datagram = bytes(UDP(sport=7, dport=9, len=8 + 1200) / MARK.ljust(1200, b"."))

    def fragments(source, destination):
        return [IP(src=source, dst=destination, proto=17, flags="MF", id=9) / datagram[:600],
                IP(src=source, dst=destination, proto=17, frag=75, id=9) / (MARK + datagram[600:])]

    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        for at, port, ends in ((at_a, "a0", ("10.1.0.1", "10.2.0.1")),
                               (at_b, "b0", ("10.2.0.1", "10.1.0.1"))):
            for fragment in fragments(*ends):
                at.send(Ether(dst=port_mac(router, port)) / fragment)
        assert not at_b.receive(marked, 1, 1) and not at_a.receive(marked, 1, 0.5)
        assert router.dropped("policy_unjudged") == 4, router.get("/v1/drops")
        # Whole, with other ports.
        at_a.send(Ether(dst=port_mac(router, "a0")) / IP(src="10.1.0.1", dst="10.2.0.1")
                  / UDP(dport=10) / MARK)
        assert at_b.receive(marked, 1), router.get("/v1/drops")


# ---- what leaves

def test_what_linux_sends_is_protected_or_dropped_however_it_is_packed(lab):
    made = tunnels()
    pair = bed(lab, made=made, policies=[
        policy("out", "10.2.0.254/32", "10.2.0.77/32", protocol="udp", destination_port=4242,
               action="discard")])
    router = pair.router
    head = Ether(src=port_mac(router, "b0"), dst=pair.b.mac)
    packet = IP(src="10.1.0.254", dst=FAR) / UDP(sport=7, dport=9) / MARK
    packet6 = IPv6(src="fd00:1::fe", dst=FAR6) / UDP(sport=7, dport=9) / MARK
    with Wire(pair.b, promiscuous=True) as at_b, Twin(router, "b0") as twin:
        for number, frame in enumerate((head / packet, head / Dot1Q(vlan=0, prio=5) / packet,
                                        head / Dot1Q(vlan=7) / packet)):
            twin.send(frame)
            came = at_b.receive(lambda p: is_esp(p, made[0].from_hecto.spi) or marked(p), 1)
            assert came and not marked(came[0]), (number, router.get("/v1/drops"))
            assert MARK in bytes(made[0].from_hecto.open(bytes(came[0])[14:]))
        twin.send(head / packet6)
        assert at_b.receive(lambda p: is_esp(p, made[1].from_hecto.spi), 1)
        unjudged = [head / Dot1AD(vlan=7) / packet, head / Dot1Q(vlan=7) / Dot1Q(vlan=8) / packet,
                    Ether(src=head.src, dst="01:00:5e:00:00:05") / packet,
                    Ether(src=head.src, dst="33:33:00:00:00:05") / packet6,
                    bytes(head / packet) + b"padding", bytes(head / packet)[:14 + 12],
                    head / IP(src="10.2.0.254", dst="10.2.0.77", proto=17, frag=75) / MARK]
        for frame in unjudged:
            twin.send(frame)
        assert not at_b.receive(marked, 1, 1.5), "it left in the clear"
        assert router.dropped("policy_unjudged") == len(unjudged), router.get("/v1/drops")
        # What no policy is for goes as Linux sent it.
        twin.send(head / Dot1AD(vlan=7) / IP(src="10.2.0.254", dst=THERE) / UDP(dport=9) / MARK)
        assert at_b.receive(marked, 1), router.get("/v1/drops")


def test_esp_that_linux_made_does_not_leave(lab):
    """By SAs that hectod has: IPv4, IPv6, in UDP, with tags, in fragments."""
    made = tunnels() + [Tunnel(3, "aes-128-gcm", HERE, THERE, "10.5.0.0/24", "10.6.0.0/24",
                               natt=True),
                        Tunnel(4, "aes-128-gcm", "fd00:2::fe", "fd00:2::1", "10.7.0.0/24",
                               "10.8.0.0/24")]
    pair = bed(lab, made=made)
    router = pair.router
    head = Ether(src=port_mac(router, "b0"), dst=pair.b.mac)
    head6 = Ether(src=head.src, dst=head.dst, type=0x86dd)
    inner = IP(src="10.1.0.254", dst=FAR) / UDP(sport=7, dport=9) / MARK
    v4, natt, v6 = (made[i].from_hecto.seal(inner) for i in (0, 2, 3))
    esp = IP(v4)
    first = IP(src=HERE, dst=THERE, proto=50, flags="MF", id=3) / bytes(esp.payload)[:48]
    later = IP(src=HERE, dst=THERE, proto=50, frag=6, id=3) / bytes(esp.payload)[48:]
    frames = [bytes(head / esp), bytes(head6) + v6, bytes(head / IP(natt)),
              bytes(head / Dot1Q(vlan=0) / esp), bytes(head / Dot1AD(vlan=9) / esp),
              bytes(head / first), bytes(head / later)]

    def of_linux(frame):
        data = bytes(frame)
        return any(struct.pack("!I", t.from_hecto.spi) in data for t in made)

    with Wire(pair.b) as at_b, Twin(router, "b0") as twin:
        for frame in frames:
            twin.send(frame)
        assert not at_b.receive(of_linux, 1, 1.5), "a number of ours left twice"
        assert router.dropped("esp_of_linux") == len(frames), router.get("/v1/drops")
        # One of an SA that is none of hectod's.
        stranger = Tunnel(9, "aes-128-gcm", HERE, THERE, "10.9.0.0/24", "10.10.0.0/24").from_hecto
        twin.send(bytes(head) [:12] + b"\x08\0" + stranger.seal(inner))
        assert at_b.receive(lambda p: is_esp(p, stranger.spi), 1), router.get("/v1/drops")


def test_routes_by_a_device_of_linux_alone_do_not_leave_in_clear(lab):
    guarded = Tunnel(3, "aes-128-gcm", HERE, THERE, "10.1.0.0/24", "10.3.0.0/25")
    lost = Tunnel(4, "aes-128-gcm", HERE, "10.3.0.200", "10.1.0.0/24", "10.9.0.0/24")
    pair = bed(lab, made=[guarded, lost],
               policies=[policy("out", "10.1.0.0/24", "10.3.0.140/32", action="discard")])
    router = pair.router
    c = linux_only_host(lab, router, "c", "10.3.0.254/24", "10.3.0.1/24")
    c.sh("ip address add 10.3.0.130/24 dev e0")
    router.linux_sh("ip route add 10.9.0.0/24 via 10.3.0.1")
    wait_for(lambda: " 1 received" in pair.a.ping("10.3.0.130", count=1, ok=False), 10,
             "the host behind Linux's device answers")
    wait_for(lambda: "10.9.0.0/24" in json.dumps(router.explain("10.9.0.1")), 5, "its route")
    ether = Ether(dst=port_mac(router, "a0"))

    def to(destination, **fields):
        return ether / IP(src="10.1.0.1", dst=destination, **fields) / UDP(dport=9) / MARK

    with Wire(pair.a) as at_a, Wire(pair.b) as at_b, Wire(c) as at_c:
        at_a.send(to("10.3.0.130"))  # no policy's
        assert at_c.receive(marked, 1), router.get("/v1/drops")
        at_a.send(to("10.3.0.1"))
        came = at_b.receive(lambda p: is_esp(p, guarded.from_hecto.spi), 1)
        assert came, router.get("/v1/drops")
        at_a.send(to("10.3.0.1", options=NOPS))  # Linux's hand alone can carry it
        at_a.send(to("10.9.0.1"))                # the tunnel's end is behind Linux's device
        at_a.send(to("10.3.0.140"))
        assert not at_c.receive(marked, 1, 1.5), "it left in the clear"
        assert not at_b.receive(marked, 1, 0.5)
    for reason in ("policy_unjudged", "tunnel_unreachable"):
        assert router.dropped(reason) == 1, (reason, router.get("/v1/drops"))
