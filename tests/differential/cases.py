"""Frames for one question each: the MTUs of routes, redirects, Linux's switches."""

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from frames import A4, A6, B4, B6, Frame, tag


class Made:
    """Numbered frames from a wire's host to the router."""

    def __init__(self, macs, first=1):
        self.macs, self.next = macs, first

    def udp(self, source, destination, size=0, wire="a", ttl=64, flags=0, what=""):
        """`size`: bytes of the IP packet; 0: as short as it can be."""
        number, self.next = self.next, self.next + 1
        if ":" in destination:
            head = IPv6(src=source, dst=destination, hlim=ttl, fl=number & 0xFFFF)
        else:
            head = IP(src=source, dst=destination, ttl=ttl, id=number & 0xFFFF, flags=flags)
        data = head / UDP(sport=number & 0x7FFF | 0x8000, dport=9) / tag(number)
        data = data / (b"x" * max(0, size - len(data)))
        host, router = self.macs[wire]
        words = f"udp from {source} to {destination}, TTL {ttl}, {len(data)} bytes {flags} {what}"
        return Frame(number, wire, f"IPv{head.version} {words}", (Ether(dst=router, src=host) / data).build())


# Of routes with an MTU, by either of its forms: what is longer is cut or answered, what fits goes.
MTU_ROUTES = [
    "route add 10.91.0.0/16 via 10.2.0.1 mtu 1300", "route add 10.92.0.0/16 via 10.2.0.1 mtu lock 1300",
    "route add 10.93.0.0/16 via 10.2.0.1 mtu 1500",
    "nexthop add id 7 via 10.2.0.1 dev b0", "route add 10.95.0.0/16 nhid 7 mtu 1300",
    "route add fd00:91::/32 via fd00:2::1 mtu 1300", "route add fd00:92::/32 via fd00:2::1 mtu lock 1300",
]


def of_mtus(made):
    for network in (91, 92, 93, 95):
        for size in (1299, 1300, 1301, 1400, 1500):
            for flags in (0, "DF"):
                yield made.udp(A4, f"10.{network}.0.1", size, flags=flags)
    for network in (91, 92):
        for size in (1299, 1300, 1301, 1400, 1500):
            yield made.udp(A6, f"fd00:{network}::1", size)


# A wire with more hosts than two, and next hops on it.
REDIRECT_COMMANDS = [f"neigh replace 10.1.0.{host} lladdr 02:00:00:00:0a:{host:02x} dev a0 nud permanent"
                     for host in range(11, 20)]
REDIRECT_COMMANDS += [f"neigh replace fd00:1::{host} lladdr 02:00:00:00:0a:{host:02x} dev a0 nud permanent"
                      for host in range(11, 20)]
REDIRECT_COMMANDS += ["neigh replace fd00:1::2 lladdr 02:00:00:00:0a:02 dev a0 nud permanent",
                      "neigh replace fe80::99 lladdr 02:00:00:00:0a:99 dev a0 nud permanent",
                      "route add 203.0.113.0/24 via 10.1.0.2",
                      "route add 2001:db8:99::/48 via fe80::99 dev a0",
                      "route add 2001:db8:98::/48 via fd00:1::2 dev a0"]


def of_redirects(made):
    """Each of a source of its own: Linux tells one sender less and less often."""
    yield made.udp("10.1.0.11", "10.1.0.2"), True
    yield made.udp("10.1.0.12", "203.0.113.7"), True
    yield made.udp("10.1.0.13", "203.0.113.7", 1400, flags="DF"), True
    yield made.udp("10.1.0.14", "203.0.113.7", ttl=1), False  # has expired
    yield made.udp("198.51.100.7", "203.0.113.7"), False  # is not on the wire
    yield made.udp("10.1.0.15", B4), False
    yield made.udp("fd00:1::11", "fd00:1::2"), True
    yield made.udp("fd00:1::12", "2001:db8:99::7"), True
    yield made.udp("fd00:1::13", "2001:db8:99::8", 1400), True
    yield made.udp("fd00:1::14", "2001:db8:98::7"), False  # RFC 4861 §8.2: by a global address
    yield made.udp("fd00:1::15", "2001:db8:99::9", ttl=1), False
    yield made.udp("fd00:1::16", B6), False


def of_switches(made):
    """What the switches decide on, from both wires."""
    yield made.udp(A4, B4)
    yield made.udp(B4, A4, wire="b")
    yield made.udp(A6, B6)
    yield made.udp(B6, A6, wire="b")
    yield made.udp(A4, "10.1.0.254")
    yield made.udp(A6, "fd00:1::fe")
    yield made.udp("10.2.0.9", B4, what="from the other link")
    yield made.udp("10.2.0.1", "10.1.0.254", ttl=1, what="from the other link")
    yield made.udp("192.0.2.77", B4, what="from nowhere")
    yield made.udp("192.0.2.77", B4, wire="b", what="from nowhere, back")
    yield made.udp("10.2.0.1", "10.9.1.1", ttl=1, what="from the other link, at its end")
    yield made.udp("fd00:2::9", B6, what="from the other link")


# (sysctl below net, its value and the one that it has by default, what hectod must have seen of a0). The last two it
# need not see.
SWITCHES = [
    ("ipv4.conf.a0.forwarding", 0, 1, {"forwarding_ipv4": False}),
    ("ipv4.ip_forward", 0, 1, {"forwarding_ipv4": False}),
    ("ipv6.conf.all.forwarding", 0, 1, {"forwarding_ipv6": False}),
    ("ipv4.conf.a0.rp_filter", 1, 0, {"rp_filter": "strict"}),
    ("ipv4.conf.all.rp_filter", 2, 0, {"rp_filter": "loose"}),
    ("ipv4.conf.a0.accept_local", 1, 0, {"accept_local": True}),
    ("ipv4.icmp_errors_use_inbound_ifaddr", 1, 0, {}),
    ("ipv6.conf.a0.forwarding", 0, 1, {}),
]
