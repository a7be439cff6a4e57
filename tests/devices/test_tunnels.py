"""Tunnels over IP of a real kernel, in the fast path: gre with and without key, ipip, sit, ip6gre, ip6tnl."""

import json
from pathlib import Path

import lab as labs
import pytest

COUNT = 30
PEER = Path(__file__).resolve().parent / "tunnel_peer.py"
OWN = {4: "10.2.0.254", 6: "fd00:2::fe"}   # the router's
FAR = {4: "10.2.0.77", 6: "fd00:2::77"}    # nobody's on that wire: frames to it go to who plays the other end


def interfaces(bed):
    return {i["name"]: i for i in bed.api("interfaces")["interfaces"]}


def mac_of(bed):
    return json.loads(bed.hosts["rr0"].sh("ip -j link show dev rr0"))[0]["address"]


def carried(bed, name):
    counters = interfaces(bed)[name]["counters"]
    return counters["rx_packets"], counters["tx_packets"]


class Tunnel:
    """tun1 in VRF red, over rr0; behind it 10.77.0.0/24 and fd00:77::/64."""

    def __init__(self, bed, kind, words, key=0, inner=4):
        self.bed, self.kind, self.key = bed, kind, key
        self.outer = 6 if kind.startswith("ip6") else 4
        self.target = "10.77.0.1" if inner == 4 else "fd00:77::1"
        self.mac = mac_of(bed)
        for module in ("ip_gre", "ipip", "sit", "ip6_gre", "ip6_tunnel"):
            bed.guest.sh(["modprobe", "-d", "/mnt", module], check=False)
        bed.linux(f"ip neigh replace {FAR[self.outer]} lladdr {self.mac} nud permanent dev rr0")
        bed.linux(f"ip link add tun1 type {kind} local {OWN[self.outer]} remote {FAR[self.outer]} dev rr0 {words}")
        bed.linux("ip link set tun1 master red up")
        bed.linux("ip address add 10.9.0.1/30 dev tun1")
        bed.linux(f"ip {'-6 ' if inner == 6 else ''}route add {self.target} dev tun1 table 10")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.bed.linux("ip link del tun1", check=False)
        self.bed.linux(f"ip neigh del {FAR[self.outer]} dev rr0", check=False)
        labs.wait_for(lambda: "tun1" not in interfaces(self.bed), 10, "it is gone")

    def peer(self, seconds=120):
        router = interfaces(self.bed)["rr0"]["mac"]
        return self.bed.hosts["rr0"].start(["/usr/bin/python3", PEER, "rr0", router, self.kind, FAR[self.outer],
                                            OWN[self.outer], self.key, seconds], stdout=-1, text=True)


@pytest.mark.parametrize("kind,words,key,inner", [
    ("gre", "ttl 64", 0, 4), ("gre", "key 7 ttl 64", 7, 4), ("gre", "key 7 ttl 64", 7, 6), ("ipip", "ttl 64", 0, 4),
    ("sit", "ttl 64", 0, 6), ("ip6gre", "key 7", 7, 4), ("ip6tnl", "mode any", 0, 4),
    ("ip6tnl", "mode any encaplimit none", 0, 6)])
def test_packets_pass_by_the_fast_path(bed, kind, words, key, inner):
    with Tunnel(bed, kind, words, key, inner) as tunnel:
        labs.wait_for(lambda: interfaces(bed).get("tun1", {}).get("up"), 10, "it is an interface")
        shown = interfaces(bed)["tun1"]
        assert shown["tunnel"]["remote"] == FAR[tunnel.outer] and shown["vrf"] == "red", shown
        assert not any("tun1" in line for line in bed.api("summary")["warnings"])
        peer = tunnel.peer()
        assert peer.stdout.readline() == "ready\n"
        labs.wait_for(lambda: bed.ping("rl0", tunnel.target, 1) == 1, 10, "the other end answers")
        (rx, tx), punted = carried(bed, "tun1"), bed.totals()["punted"]
        assert bed.ping("rl0", tunnel.target, COUNT) == COUNT
        now = carried(bed, "tun1")
        assert now[0] - rx == COUNT and now[1] - tx == COUNT, "in and out"
        assert bed.totals()["punted"] - punted < COUNT, "by the fast path"
        peer.terminate()
        told = json.loads(peer.communicate(timeout=30)[0].splitlines()[-1])
        assert told["outer"]["ttl"] == 64 and told["outer"]["inner_ttl"] == 63, told
        if tunnel.outer == 4:
            assert told["outer"]["df"], "pmtudisc"
        answer = bed.api(f"routes?address={tunnel.target}&interface=rl0")
        assert answer["verdict"] == "forward" and "into the tunnel tun1" in str(answer["why"]), answer


def test_what_the_router_answers_itself_comes_back(bed):
    """An echo request for tun1's own address: Linux gets the whole frame, opens it, and answers by its device."""
    with Tunnel(bed, "gre", "key 7 ttl 64", 7):
        labs.wait_for(lambda: interfaces(bed).get("tun1", {}).get("up"), 10, "it is an interface")
        router, mac = interfaces(bed)["rr0"]["mac"], mac_of(bed)
        script = (
            "from scapy.all import *\n"
            f"p = Ether(dst='{router}', src='{mac}')/IP(src='{FAR[4]}', dst='{OWN[4]}')/GRE(key_present=1, key=7)\n"
            "p /= IP(src='10.77.0.1', dst='10.9.0.1')/ICMP(id=77)/(b'x' * 30)\n"
            "wire = conf.L2socket(iface='rr0')\n"
            "for n in range(10):\n"
            "    wire.send(p)\n"
            "    got = sniff(iface='rr0', opened_socket=wire, timeout=1, lfilter=lambda q: GRE in q and ICMP in q "
            "and q[ICMP].type == 0, count=1)\n"
            "    if got: break\n"
            "print('answered' if got else 'silence')\n")
        assert "answered" in bed.hosts["rr0"].sh(["/usr/bin/python3", "-c", script])


def test_wrong_keys_and_cut_packets_are_named(bed):
    with Tunnel(bed, "gre", "key 7 ttl 64", 7):
        labs.wait_for(lambda: interfaces(bed).get("tun1", {}).get("up"), 10, "it is an interface")
        router, mac = interfaces(bed)["rr0"]["mac"], mac_of(bed)
        before = {reason: bed.drops(reason) for reason in ("tunnel_key", "tunnel_malformed", "tunnel_ecn")}
        script = (
            "from scapy.all import *\n"
            f"o = Ether(dst='{router}', src='{mac}')/IP(src='{FAR[4]}', dst='{OWN[4]}')\n"
            "i = IP(src='10.77.0.1', dst='10.1.0.1')/UDP()/(b'x' * 30)\n"
            "ce = o.copy(); ce.tos = 3\n"
            "sendp([o/GRE(key_present=1, key=8)/i] * 5, iface='rr0', verbose=0)\n"
            "sendp([o/GRE(key_present=1, key=7, proto=0x800)/Raw(raw(i)[:-9])] * 6, iface='rr0', verbose=0)\n"
            "sendp([ce/GRE(key_present=1, key=7)/i] * 7, iface='rr0', verbose=0)\n")
        bed.hosts["rr0"].sh(["/usr/bin/python3", "-c", script])
        for reason, count in (("tunnel_key", 5), ("tunnel_malformed", 6), ("tunnel_ecn", 7)):
            labs.wait_for(lambda: bed.drops(reason) - before[reason] == count, 10, reason)


def test_what_the_fast_path_does_not_is_said_and_linuxs(bed):
    with Tunnel(bed, "gre", "csum ttl 64"):
        labs.wait_for(lambda: any("tunnel tun1" in line and "checksums" in line
                                  for line in bed.api("summary")["warnings"]), 10, "it is said")
        assert "tun1" not in interfaces(bed)


def test_every_packet_is_accounted_for(bed):
    labs.wait_for(lambda: bed.totals()["in_flight"] == 0, 10, "nothing is under way")
    t = bed.totals()
    assert t["received"] + t["injected"] + t["fragments"] == t["transmitted"] + t["punted"] + t["dropped"], t
