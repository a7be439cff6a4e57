"""What goes to Linux, in classes: sessions live while their neighbor floods the router.

HECTO_FLOOD_SECONDS is how long each flood takes (5: longer than the session's hold time), HECTO_FLOOD_KPPS what each
must reach (0: what this machine gives, which the test prints).
"""

import json
import os
import random
import re
import subprocess

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import ICMPv6ND_NS, ICMPv6NDOptSrcLLAddr, IPv6
from scapy.layers.l2 import ARP, Ether

from flood import Flood
from lab import SLOWER, sh, wait_for
from test_routing_daemons import Frr
from wire import Wire

SECONDS = float(os.environ.get("HECTO_FLOOD_SECONDS", 5))
LEAST_KPPS = float(os.environ.get("HECTO_FLOOD_KPPS", 0))
PORTS = {
    "a0": {"device": "va", "addresses": ["10.1.0.254/24", "fd00:1::fe/64"]},
    "b0": {"device": "vb", "addresses": ["10.2.0.254/24", "fd00:2::fe/64"]},
    "c0": {"device": "vc", "addresses": ["10.3.0.254/16", "fd00:3::fe/64"]},
}
BIRD = """
router id 10.2.0.1;
log stderr all;
protocol device {}
protocol bfd {
  interface "e0" { min rx interval 300 ms; min tx interval 300 ms; multiplier 3; };
  neighbor 10.2.0.254 dev "e0" local 10.2.0.1;
}
protocol bgp b4 {
  local 10.2.0.1 as 65002; neighbor 10.2.0.254 as 65001; connect delay time 1;
  hold time 3; keepalive time 1;
  ipv4 { import none; export none; };
}
"""
FRR = """hostname router
router bgp 65001
 bgp router-id 10.2.0.254
 no bgp ebgp-requires-policy
 neighbor 10.2.0.1 remote-as 65002
 neighbor 10.2.0.1 timers 1 3
 neighbor 10.2.0.1 timers connect 1
bfd
 peer 10.2.0.1 local-address 10.2.0.254 interface b0
  detect-multiplier 3
  receive-interval 300
  transmit-interval 300
"""


class PuntFrr(Frr):
    """zebra, bgpd and bfdd, ahead of what else runs here: a test of the router, not of this box."""

    def start(self):
        import pwd
        from pathlib import Path
        account = pwd.getpwnam("frr")
        self.folder.mkdir(parents=True)
        for folder in (self.folder.parent, self.folder):
            os.chown(folder, account.pw_uid, account.pw_gid)
        config = self.folder / "frr.conf"
        config.write_text(self.config)
        os.chown(config, account.pw_uid, account.pw_gid)
        for daemon in self.daemons:
            words = ["nice", "-n", "-15", "nsenter", f"--net=/run/netns/{self.router.linux}", "--",
                     str(Path("/usr/lib/frr") / daemon), "-N", self.name, "-f", str(config),
                     "-i", str(self.folder / f"{daemon}.pid")]
            if daemon != "bfdd":
                words += ["-P", "0"]
            self.processes.append(subprocess.Popen(words, stdout=subprocess.DEVNULL,
                                                   stderr=subprocess.DEVNULL))
            wait_for((self.folder / f"{daemon}.vty").exists, 10, f"{daemon} runs")

    def json(self, command):
        # vtysh may say before it that it has no configuration of its own.
        out = self.ask(f"{command} json")
        starts = [at for at in (out.find("{"), out.find("[")) if at >= 0]
        return json.loads(out[min(starts):])

    def bgp(self):
        """(is it established, how often it was)"""
        peer = self.json("show bgp neighbors 10.2.0.1")["10.2.0.1"]
        return peer["bgpState"] == "Established", peer["connectionsEstablished"]

    def bfd(self):
        """(is it up, how often it went down)"""
        peers, counters = self.json("show bfd peers"), self.json("show bfd peers counters")
        return peers[0]["status"] == "up", counters[0]["session-down"]


def bed_of_three(lab, config=None):
    router = lab.router()
    hosts = [lab.host(name, router.space, f"v{name}", [v4, v6], [gw4, gw6])
             for name, v4, v6, gw4, gw6 in (
                 ("a", "10.1.0.1/24", "fd00:1::1/64", "10.1.0.254", "fd00:1::fe"),
                 ("b", "10.2.0.1/24", "fd00:2::1/64", "10.2.0.254", "fd00:2::fe"),
                 ("c", "10.3.0.1/16", "fd00:3::1/64", "10.3.0.254", "fd00:3::fe"))]
    router.start({"ports": PORTS, **(config or {})}, prefix=("nice", "-n", "-10"))
    return router, *hosts


def macs(router, port="a0"):
    return json.loads(router.linux_sh(f"ip -json link show {port}"))[0]["address"]


def frames_of(kind, router, a):
    """256 to 1024 frames of a kind, as they go from a to the router."""
    draw = random.Random(20260101)
    ether = Ether(src=a.mac, dst=macs(router))
    body = b"flood" * 4
    v4, v6 = "10.1.0.254", "fd00:1::fe"
    port = lambda: draw.randrange(1024, 65536)
    host4 = lambda: f"198.18.{draw.randrange(256)}.{draw.randrange(1, 255)}"
    link6 = lambda: f"fe80::{draw.randrange(1, 65536):x}:{draw.randrange(1, 65536):x}"
    mac = lambda: "02:00:00:" + ":".join(f"{draw.randrange(256):02x}" for _ in range(3))

    def one():
        if kind == "udp":
            return ether / IP(src=host4(), dst=v4) / UDP(sport=port(), dport=port()) / body
        if kind == "syn":
            return ether / IP(src=host4(), dst=v4) / TCP(sport=port(), dport=179, flags="S")
        if kind == "session":  # as the peer's own, on the wrong port
            return ether / IP(src="10.2.0.1", dst="10.2.0.254") / TCP(
                sport=port(), dport=179, flags="A")
        if kind == "bfd":
            return ether / IP(src=host4(), dst=v4, ttl=255) / UDP(sport=49152, dport=3784) / body
        if kind == "ttl":
            return ether / IP(src=host4(), dst="10.2.0.1", ttl=1) / UDP(sport=1, dport=9) / body
        if kind == "options":
            return ether / IP(src=host4(), dst="10.2.0.1", options=[IPOption_NOP()] * 4) / UDP(
                sport=1, dport=9) / body
        if kind == "multicast":
            return Ether(src=a.mac, dst="01:00:5e:01:01:01") / IP(
                src=host4(), dst="239.1.1.1", ttl=8) / UDP(sport=1, dport=9) / body
        if kind == "arp":
            sender = mac()
            return Ether(src=sender, dst="ff:ff:ff:ff:ff:ff") / ARP(
                hwsrc=sender, psrc=f"10.1.0.{draw.randrange(2, 250)}", pdst=v4)
        if kind == "ns":
            return Ether(src=mac(), dst="33:33:ff:00:00:fe") / IPv6(
                src=link6(), dst="ff02::1:ff00:fe", hlim=255) / ICMPv6ND_NS(
                tgt=v6) / ICMPv6NDOptSrcLLAddr(lladdr=mac())
        if kind == "glean4":
            return ether / IP(src="10.1.0.1", dst=f"10.3.{draw.randrange(1, 256)}."
                              f"{draw.randrange(256)}") / UDP(sport=1, dport=9) / body
        if kind == "glean4_forged":
            return ether / IP(src=host4(), dst=f"10.3.{draw.randrange(1, 256)}."
                              f"{draw.randrange(256)}") / UDP(sport=1, dport=9) / body
        if kind == "glean6":
            return ether / IPv6(src="fd00:1::1", dst=f"fd00:3::{draw.randrange(65536):x}:"
                                f"{draw.randrange(1, 65536):x}") / UDP(sport=1, dport=9) / body
        if kind == "link_local":
            return ether / IPv6(src=link6(), dst=link6()) / UDP(sport=1, dport=9) / body
        assert kind == "fragments", kind
        return ether / IP(src=host4(), dst=v4, frag=64, flags="MF", id=port()) / (b"x" * 32)

    return [bytes(one()) for _ in range(1024 if kind.startswith("glean") else 256)]


FLOODS = ("udp", "syn", "session", "bfd", "ttl", "options", "multicast", "arp", "ns", "glean4",
          "glean4_forged", "glean6", "link_local", "fragments")


def pings(host, address, seconds):
    """A ping each 20 ms; how many of how many came back, once it is over."""
    count = int(seconds * 50)
    process = subprocess.Popen(
        host.words(["nice", "-n", "-10", "ping", "-n", "-q", "-i", "0.02", "-c", str(count), "-W",
                    "2", address]), stdout=subprocess.PIPE, text=True)

    def arrived():
        out, _ = process.communicate(timeout=seconds * 3 + 60)
        sent, back = map(int, re.search(r"(\d+) packets transmitted, (\d+) received",
                                        out).groups())
        return sent, back
    return arrived


def classes(router):
    return {row["class"]: row for row in router.get("/v1/punt")["classes"]}


def wanted(session):
    """Not an error yet while the daemon has no answer."""
    try:
        return session()[0]
    except (ValueError, KeyError, IndexError):
        return False


@pytest.fixture
def sessions(lab):
    """BGP and BFD between the router's FRR and a BIRD on host b."""
    from pathlib import Path
    for program in (Path("/usr/lib/frr/bfdd"), Path("/usr/sbin/bird")):
        if not program.exists():
            pytest.skip(f"{program} is not installed: make deps")
    router, a, b, c = bed_of_three(lab)
    frr = PuntFrr(router, FRR, ("zebra", "bgpd", "bfdd"))
    try:
        frr.start()
        config = lab.folder / "bird.conf"
        config.write_text(BIRD)
        sh(["bird", "-p", "-c", config])
        b.start(["nice", "-n", "-15", "bird", "-f", "-c", config, "-s", lab.folder / "bird.ctl"])
        wait_for(lambda: wanted(frr.bgp), 40, "BGP is established")
        wait_for(lambda: wanted(frr.bfd), 40, "BFD is up")
        yield router, a, b, c, frr
    finally:
        frr.stop()


def test_sessions_hold_under_every_flood(sessions):
    router, a, b, c, frr = sessions
    wait_for(lambda: router.get("/v1/punt")["sessions"]["connections"] >= 1, 10,
             "the BGP session's socket is known")
    for host in (b, c):
        host.ping("10.1.0.254", count=1)
    established, downs = frr.bgp()[1], frr.bfd()[1]
    told = []
    for kind in FLOODS:
        frames = frames_of(kind, router, a)
        with Flood(a, frames, SECONDS) as flood:
            of_b = pings(b, "10.2.0.254", SECONDS * 0.9)
            of_c = pings(c, "10.3.0.254", SECONDS * 0.9)
            (sent_b, back_b), (sent_c, back_c) = of_b(), of_c()
        told.append(f"{kind:14} {flood.kpps:6.0f} kpps, BGP {frr.bgp()}, BFD {frr.bfd()}, pings "
                    f"{back_b} of {sent_b}, {back_c} of {sent_c}")
        print(told[-1], flush=True)
        assert flood.sent > 10_000 and flood.kpps >= LEAST_KPPS, told[-1]
        assert frr.bgp() == (True, established), "\n".join(told)
        if SLOWER == 1:
            assert frr.bfd() == (True, downs), "\n".join(told)
            assert back_b >= 0.99 * sent_b and back_c >= 0.99 * sent_c, "\n".join(told)
    # What held was what was meant to: sessions passed, errors were dropped, on a0 alone.
    rows = classes(router)
    assert rows["sessions"]["passed"] > 0 and rows["bfd"]["passed"] > 0, rows
    for name in ("closed", "strangers", "ttl", "options", "multicast", "requests", "glean",
                 "link_local", "fragments", "bfd"):
        assert [w["interface"] for w in rows[name]["where"]] == ["a0"], rows[name]
    out = router.cli("show", "punt")
    assert re.search(r"^strangers .* a0 [\d,]+$", out, re.M), out


def echo_all(a, router, addresses, pace):
    """One echo request to each, `pace` a second; those that were answered."""
    import time
    a4 = "10.1.0.1"
    answered = set()
    ether = Ether(src=a.mac, dst=macs(router))
    with Wire(a) as wire:
        start = time.monotonic()
        for i, address in enumerate(addresses):
            wire.send(ether / IP(src=a4, dst=address) / ICMP(id=77, seq=i % 65536))
            behind = start + (i + 1) / pace - time.monotonic()
            if behind > 0.02:
                for frame in wire.receive(lambda f: ICMP in f and f[ICMP].type == 0, 1000, behind):
                    answered.add(frame[IP].src)
        for frame in wire.receive(lambda f: ICMP in f and f[ICMP].type == 0, len(addresses), 2):
            answered.add(frame[IP].src)
    return answered


def test_1300_hosts_of_one_lan_are_reached(lab):
    """More than the kernel's own limit of neighbors, all namespaces together."""
    router, a, _, c = bed_of_three(lab)
    c.sh("ip route add local 10.3.8.0/21 dev lo")
    a.ping("10.3.0.1", count=1)
    addresses = [f"10.3.{8 + i // 250}.{1 + i % 250}" for i in range(1300)]
    echo_all(a, router, addresses, 120)
    again = echo_all(a, router, addresses, 1000)
    known = [n for n in router.get("/v1/neighbors")["neighbors"] if n["usable"]]
    refused = [w for w in router.get("/v1/summary")["warnings"] if "gc_thresh" in w]
    if refused:
        pytest.skip(refused[0])
    assert len(again) == 1300, f"{len(again)} of 1300, {len(known)} neighbors known"
    assert len(known) >= 1300


def test_more_neighbors_than_groups_are_known_and_reached(lab):
    """20,000 on one interface: more than there are next-hop groups. Linux forwards to the others."""
    router, a, _, c = bed_of_three(lab)
    refused = [w for w in router.get("/v1/summary")["warnings"] if "gc_thresh" in w]
    if refused:
        pytest.skip(refused[0])
    c.sh("ip route add local 10.3.0.0/16 dev lo")
    c.sh("ip -6 route add local fd00:3::/64 dev lo")
    batch, mac = lab.folder / "neighbors", c.mac
    v4 = [f"10.3.{1 + i // 250}.{1 + i % 250}" for i in range(12_000)]
    v6 = [f"fd00:3::1:{i:x}" for i in range(8_000)]
    batch.write_text("".join(f"neigh replace {address} dev c0 lladdr {mac} nud reachable\n"
                             for address in v4 + v6))
    router.linux_sh(["ip", "-batch", batch], timeout=120 * SLOWER)
    usable = lambda: sum(n["usable"] for n in router.get("/v1/neighbors")["neighbors"])
    wait_for(lambda: usable() >= 20_000, 60, "all neighbors are known", step=1)
    for address in (v4[0], v4[-1], v6[0], v6[-1]):
        a.ping(address, count=2)


def test_the_first_packets_of_a_flow_wait_while_a_scan_goes_on(lab):
    """In order, for hosts that nobody has asked for yet; the scan comes by another port."""
    router, a, b, c = bed_of_three(lab)
    for i in range(20):
        c.sh(f"ip address add 10.3.0.{100 + i}/16 dev e0")
    frames = frames_of("glean4_forged", router, a) + frames_of("glean6", router, a)
    with Flood(a, frames, 6) as flood:
        for i in range(20):
            out = b.ping(f"10.3.0.{100 + i}", count=3)
            order = re.findall(r"icmp_seq=(\d+)", out)
            assert order == ["1", "2", "3"], out
    assert flood.sent > 10_000
    glean = classes(router)["glean"]
    assert glean["dropped"] > 1000 and [w["interface"] for w in glean["where"]] == ["a0"], glean


def test_the_first_ipv6_packet_is_answered(lab):
    """Nothing waits for the twin's own address: neither neighbor was asked for before."""
    _, a, _, _ = bed_of_three(lab)
    a.ping("fd00:3::1", count=1)


def test_classes_and_peers_are_set_by_the_file(lab):
    router, a, _, _ = bed_of_three(lab, {"punt": {"classes": {"closed": 0, "ttl": "7pps"},
                                                  "peers": ["10.1.0.1"]}})
    rows = classes(router)
    assert rows["closed"]["limit_pps"] == 0 and rows["ttl"]["limit_pps"] == 7
    wait_for(lambda: router.get("/v1/punt")["sessions"]["peers"] == 1, 10, "the peer is known")
    ether = Ether(src=a.mac, dst=macs(router))
    with Wire(a) as wire:
        wire.send(ether / IP(src="10.1.0.1", dst="10.1.0.254") / UDP(sport=1, dport=9), 10)
        wire.send(ether / IP(src="10.1.0.1", dst="10.1.0.254") / TCP(sport=2, dport=179, flags="S"),
                  10)
    wait_for(lambda: classes(router)["closed"]["dropped"] == 10, 10, "closed ports hear nothing")
    wait_for(lambda: classes(router)["routing"]["passed"] == 10, 10, "the peer may call")
    config = {"ports": PORTS, "punt": {"classes": {"ttl": "8pps"}}}
    router.write(config)
    out = router.cli("reload")
    assert "punt class closed: 0pps -> default" in out and "punt peers: 1 -> 0" in out, out
    assert classes(router)["closed"]["limit_pps"] == 200


def test_fragmented_esp_comes_through_while_others_forge_it(lab):
    """First fragments of forged sources fill no table that a peer's fragments need."""
    from scapy.all import fragment
    from esp import Tunnel
    from test_ipsec import HERE, INSIDE, THERE, inner_packet, start

    tunnel = Tunnel(1, "aes-128-gcm", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    pair = start(lab, [tunnel])
    router, draw = pair.router, random.Random(1)
    forged = [bytes(Ether(src=pair.a.mac, dst=macs(router)) / IP(
        src=f"198.18.{draw.randrange(256)}.{draw.randrange(1, 255)}", dst="10.2.0.254", proto=50,
        flags="MF", id=draw.randrange(65536)) / (b"f" * 64)) for _ in range(1024)]
    ether = Ether(src=pair.b.mac, dst=macs(router, "b0"))
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b, Flood(pair.a, forged, 5) as flood:
        for i in range(10):
            sealed = IP(tunnel.to_hecto.seal(inner_packet(tunnel, False, b"honest %d " % i * 100)))
            sealed.id = i + 1
            for piece in fragment(sealed, 600):
                at_b.send(ether / piece)
        came = at_a.receive(lambda p: UDP in p and b"honest" in bytes(p), 10, 4)
    assert flood.sent > 10_000
    assert len(came) == 10, f"{len(came)} of 10 came through {flood.kpps:.0f} kpps of forged ones"
    assert router.dropped("esp_fragment") > 1000


@pytest.mark.parametrize("far, near", [("10.2.0.1", "10.1.0.254"), ("fd00:2::1", "fd00:1::fe")],
                         ids=["v4", "v6"])
def test_each_hop_answers_one_traceroute_after_another(pair, far, near):
    pair.b.sh("sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0")
    for _ in range(15):
        out = pair.a.sh(["traceroute", "-n", "-q", "3", "-w", "2", "-m", "2", far])
        hops = [line.split() for line in out.splitlines()[1:]]
        assert "*" not in out and [hop[1] for hop in hops] == [near, far], out
