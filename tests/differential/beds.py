"""Two routers set up alike between hosts that say nothing of themselves: hectod, and Linux alone.

Both get the same interfaces, MACs and addresses, the same `ip` and `sysctl` commands; their neighbors are permanent,
so that what leaves does not depend on who answered first.
"""

import socket
import struct
import time

from lab import Namespace, sh, wait_for
from wire import PACKET_AUXDATA, SOL_PACKET, Wire, socket_in

MACS = {"a": ("02:00:00:00:0a:01", "02:00:00:00:0a:fe"), "b": ("02:00:00:00:0b:01", "02:00:00:00:0b:fe")}
ADDRESSES = {"a": ("10.1.0.254/24", "fd00:1::fe/64"), "b": ("10.2.0.254/24", "fd00:2::fe/64")}
SYSCTLS = ("net.ipv4.icmp_ratelimit=0 net.ipv4.icmp_msgs_per_sec=1000000 net.ipv4.icmp_msgs_burst=1000000 "
           "net.ipv6.icmp.ratelimit=0 net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0 "
           "net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0")
NEIGHBORS = [("10.1.0.1", "a"), ("10.1.0.2", "a"), ("10.2.0.1", "b"), ("fd00:1::1", "a"), ("fd00:2::1", "b")]
COMMANDS = [f"neigh replace {address} lladdr {MACS[wire][0]} dev {wire}0 nud permanent" for address, wire in NEIGHBORS] + [
    "route add 198.51.100.0/24 via 10.1.0.1", "route add 2001:db8:7::/48 via fd00:1::1",
    "route add 10.9.0.0/16 via 10.2.0.1", "route add fd00:9::/32 via fd00:2::1",
    "route add blackhole 10.66.0.0/16", "route add unreachable 10.67.0.0/16", "route add prohibit 10.68.0.0/16",
    "route add blackhole fd00:66::/32", "route add unreachable fd00:67::/32", "route add prohibit fd00:68::/32",
]


class SilentHost:
    """A wire's end that takes and sends frames and never answers one."""

    def __init__(self, lab, name, router_space, interface, wire, mtu=1500):
        self.name = Namespace(lab, name).name
        mine, theirs = MACS[wire]
        sh(["ip", "link", "add", "e0", "netns", self.name, "address", mine, "mtu", mtu, "type", "veth",
            "peer", "name", interface, "address", theirs, "netns", router_space.name, "mtu", mtu])
        self.sh("sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.e0.disable_ipv6=1")
        self.sh("ethtool -K e0 tx off", check=False)
        self.sh("ip link set e0 arp off up")
        router_space.sh(["ip", "link", "set", interface, "up"])

    def sh(self, command, **more):
        return sh(["nsenter", f"--net=/run/netns/{self.name}", "--", *command.split()], **more)


class Bed:
    """A router of either kind with its two hosts: send(), then collect() what came out where."""

    def __init__(self, hosts, run_in_linux):
        self.hosts, self.in_linux = hosts, run_in_linux
        self.sockets = {}
        for wire, host in hosts.items():
            opened = self.sockets[wire] = socket_in(host.name)
            opened.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16 << 20)
            index = int(host.sh("ip -o link show e0").split(":")[0])
            opened.setsockopt(SOL_PACKET, 1, struct.pack("IHH8s", index, 1, 0, b""))  # promiscuous
            opened.setblocking(False)

    def set_up(self, commands=()):
        self.in_linux(f"sysctl -qw {SYSCTLS} net.ipv4.conf.a0.send_redirects=0 net.ipv4.conf.b0.send_redirects=0 "
                      "net.ipv4.conf.a0.rp_filter=0 net.ipv4.conf.b0.rp_filter=0")
        for command in [*COMMANDS, *commands]:
            self.in_linux(f"ip {command}")

    def send(self, frame):
        self.sockets[frame.wire].send(frame.data)

    def collect(self, quiet=0.06, most=2.0):
        """(wire, frame) of all that came in, until nothing has for a while."""
        came, last = [], time.monotonic()
        end = last + most
        while time.monotonic() - last < quiet and time.monotonic() < end:
            before = len(came)
            for wire, opened in self.sockets.items():
                while True:
                    try:
                        data, extra, _, address = opened.recvmsg(65536, 256)
                    except BlockingIOError:
                        break
                    if address[2] != socket.PACKET_OUTGOING:
                        came.append((wire, Wire._with_tag(data, extra)))
            if len(came) > before:
                last = time.monotonic()
            else:
                time.sleep(0.005)
        return came

    def close(self):
        for opened in self.sockets.values():
            opened.close()


def hectod_bed(lab, config=None, commands=()):
    router = lab.router("h")
    hosts = {wire: SilentHost(lab, f"h{wire}", router.space, f"v{wire}", wire) for wire in "ab"}
    reasons = ("arp local multicast broadcast link_local options ttl_expired too_big glean no_route unreachable "
               "prohibit policy_rule other_protocol").split()
    whole = {"ports": {f"{wire}0": {"device": f"v{wire}", "addresses": list(ADDRESSES[wire])} for wire in "ab"},
             "punt": {reason: "100kpps" for reason in reasons}, **(config or {})}
    router.start(whole)
    bed = Bed(hosts, router.linux_sh)
    bed.router = router
    bed.set_up(commands)
    wait_for(lambda: router.explain("fd00:68::1")["match"] is not None
             and router.explain("10.9.1.1")["match"] is not None
             and all(router.has_neighbor(address) for address, _ in NEIGHBORS), 10, "hectod has taken it over")
    return bed


def linux_bed(lab, commands=()):
    space = Namespace(lab, "l")
    hosts = {wire: SilentHost(lab, f"l{wire}", space, f"{wire}0", wire) for wire in "ab"}
    for wire in "ab":  # a veth leaves checksums to hardware
        space.sh(f"ethtool -K {wire}0 tx off")
    space.sh("sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.forwarding=1")
    for wire, addresses in ADDRESSES.items():
        for address in addresses:
            space.sh(f"ip address add {address} dev {wire}0" + (" nodad" if ":" in address else ""))
    bed = Bed(hosts, space.sh)
    bed.space = space
    bed.set_up(commands)
    return bed
