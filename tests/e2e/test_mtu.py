"""Path MTU discovery, and packets of 9000 bytes."""

import json
import re
import subprocess
import sys

import pytest
from scapy.layers.inet import IP, TCP, UDP, IPOption, in4_chksum
from scapy.layers.inet6 import IPv6, in6_chksum
from scapy.layers.l2 import Dot1Q, Ether

from conftest import PORTS, make_pair
from flood import Flood
from lab import wait_for
from test_changes import port
from test_ports import pages
from wire import Wire

assert pages  # a fixture

# So many datagrams to port 9999, as hex.
RECEIVE = """
import json, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 9999))
s.settimeout(10)
print("ready", flush=True)
print(json.dumps([s.recv(65536).hex() for _ in range(int(sys.argv[1]))]), flush=True)
"""
ACCEPT = """
import socket, sys
s = socket.create_server((sys.argv[1], 8080), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
while True:
    s.accept()[0].close()
"""

SMALL = {name: {**port, "mtu": 1400} if name == "b0" else port for name, port in PORTS.items()}


@pytest.mark.parametrize("far, near, fits", [("10.2.0.1", "10.1.0.254", 1372),
                                             ("fd00:2::1", "fd00:1::fe", 1352)], ids=["v4", "v6"])
def test_path_mtu_is_found(lab, far, near, fits):
    pair = make_pair(lab, ports=SMALL)
    pair.a.ping(far, count=1, ok=False)
    pair.a.ping(far, count=1)
    refusal = pair.a.sh(["ping", "-n", "-c", "1", "-W", "2", "-M", "do", "-s", fits + 1, far],
                        check=False)
    # The first one is answered by the router, from its address on this side, with the MTU.
    assert re.search(rf"From {re.escape(near)} .*(mtu|MTU) ?= ?1400", refusal), refusal
    assert pair.router.punted("too_big") == 0, "by the fast path"
    assert pair.router.check_balance()["too_big_answered"] == 1
    route = pair.a.sh(["ip", "route", "get", far])
    assert "mtu 1400" in route, route
    pair.a.ping(far, "-M", "do", "-s", fits, count=2)


def test_ipv4_without_df_is_fragmented(lab):
    pair = make_pair(lab, ports=SMALL)
    pair.b.sh("ip link set e0 mtu 1400")
    pair.a.ping("10.2.0.1", count=1, ok=False)
    wait_for(lambda: pair.router.has_neighbor("10.2.0.1"), 5, "none is punted for want of its neighbor")
    pair.a.ping("10.2.0.1", "-M", "dont", "-s", "1460", count=3)
    assert pair.router.punted("too_big") == 0, "the fast path cuts them"
    assert pair.router.check_balance()["fragments"] == 3


CUTS = {  # bytes of IP packet, the MTU that it leaves by, VLAN, in how many
    "one byte too long": (1401, 1400, None, 2),
    "the least MTU": (1500, 576, None, 3),
    "by a VLAN": (1500, 1300, 7, 2),
    "of 9000 bytes": (9000, 1500, None, 7),
}


@pytest.mark.parametrize("kind", CUTS)
def test_fragments_are_what_linux_puts_together(lab, kind):
    """A UDP socket on the far host gets each datagram once, unchanged; the wire has the fragments."""
    size, mtu, vlan, pieces = CUTS[kind]
    ports = {name: dict(each) for name, each in PORTS.items()}
    if vlan:
        ports["b0"] = {"device": "vb", "vlans": {vlan: {"addresses": ["10.2.0.254/24"], "mtu": mtu}}}
    else:
        ports["b0"]["mtu"] = mtu
    if size > 1500:
        ports["a0"]["mtu"] = 9000
    ports["b0"]["addresses"] = [] if vlan else ["10.2.0.254/24"]
    ports["a0"]["addresses"] = ["10.1.0.254/24"]
    pair = make_pair(lab, ports=ports, mtu=9000 if size > 1500 else 1500)
    if vlan:
        if "Unknown device type" in pair.b.sh(f"ip link add link e0 name e0.{vlan} type vlan id {vlan}", check=False):
            pytest.skip("this kernel has no VLAN devices")
        pair.b.sh("ip address flush dev e0")
        pair.b.sh(f"ip address add 10.2.0.1/24 dev e0.{vlan}")
        pair.b.sh(f"ip link set e0.{vlan} up")
        pair.b.sh("ip route add default via 10.2.0.254")
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10, "b is known")
    payload = bytes(i * 7 % 251 for i in range(size - 28))
    receiver = pair.b.start([sys.executable, "-c", RECEIVE, "5"], stdout=subprocess.PIPE)
    assert receiver.stdout.readline() == b"ready\n"
    mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        for number in range(5):
            at_a.send(Ether(dst=mac, src=pair.a.mac) / IP(src="10.1.0.1", dst="10.2.0.1", id=number + 1, ttl=9)
                      / UDP(sport=7, dport=9999) / payload)
        came = at_b.receive(lambda p: IP in p and p[IP].src == "10.1.0.1" and p[IP].id < 6, 5 * pieces, 5)
    assert len(came) == 5 * pieces, came
    for frame in came:
        assert frame[IP].len <= mtu and frame[IP].ttl == 8 and (Dot1Q in frame) == bool(vlan), frame
        assert bool(frame[IP].flags & 1) == (frame[IP].frag * 8 + frame[IP].len - 20 < size - 20), frame
    assert json.loads(receiver.stdout.readline()) == [payload.hex()] * 5
    totals = pair.router.check_balance()
    assert totals["fragments"] == 5 * (pieces - 1) and pair.router.punted("too_big") == 0, totals


def test_options_go_as_they_are_to_be_copied(lab):
    """Linux cuts what has options: those with the copy bit stand in each fragment, others in the first."""
    pair = make_pair(lab, ports=SMALL)
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10, "b is known")
    mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    copied, once = b"\x94\x04\x00\x00", b"\x44\x08\x05\x00\x00\x00\x00\x00"  # router alert, timestamp
    whole = IP(src="10.1.0.1", dst="10.2.0.1", id=77, options=[IPOption(copied), IPOption(once)])
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        at_a.send(Ether(dst=mac, src=pair.a.mac) / whole / UDP(sport=7, dport=9) / bytes(1440))
        came = at_b.receive(lambda p: IP in p and p[IP].id == 77, 2, 5)
    assert len(came) == 2, came
    first, last = sorted((bytes(p[IP]) for p in came), key=lambda ip: ip[7] + 256 * (ip[6] & 0x1f))
    assert copied in first[20:32] and b"\x44" in first[20:32], first[:40]
    assert copied in last[20:32] and b"\x44" not in last[20:(last[0] & 15) * 4], last[:40]
    assert pair.router.punted("options") >= 1


def test_a_flood_of_what_must_be_cut_harms_nobody_else(lab):
    """Big packets by the small port as fast as they come: what goes the other way and fits loses nothing beyond
    the CPU's share, every packet is accounted for and every buffer comes back."""
    ports = {name: dict(each) for name, each in PORTS.items()}
    ports["b0"] = {"device": "vb", "addresses": ["10.2.0.254/24"], "mtu": 576}
    ports["a0"]["addresses"] = ["10.1.0.254/24"]
    pair = make_pair(lab, ports=ports)
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10, "b is known")
    mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    head = Ether(dst=mac, src=pair.a.mac)
    big = [bytes(head / IP(src="10.1.0.1", dst="10.2.0.1", flags=flags, id=n) / UDP(sport=n, dport=9) / bytes(1472))
           for n in range(1, 33) for flags in (0, "DF")]
    forged = [bytes(head / IP(src="10.1.0.1", dst="10.2.0.1", frag=frag, flags="MF") / bytes(1400))
              for frag in (8191, 8100)]
    at_rest = sum(pool["in_use"] for pool in pair.router.get("/v1/pools")["pools"])
    with Flood(pair.a, big + forged, 4):
        seen = 0
        for _ in range(20):
            seen += " 1 received" in pair.a.ping("10.1.0.254", count=1, timeout=1, ok=False)
        assert seen >= 5, f"{seen} of 20 pings to the router itself"
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 10, "it routes")
    totals = pair.router.check_balance()
    assert totals["fragments"] > 1000 and pair.router.dropped("bad_fragment") > 10, totals
    assert pair.router.dropped("too_big") > 0, "with DF: so many a second are answered"
    wait_for(lambda: sum(pool["in_use"] for pool in pair.router.get("/v1/pools")["pools"]) <= at_rest + 64, 10,
             "the buffers are back")


def test_show_mtu_names_what_differs(lab):
    ports = {name: dict(each) for name, each in PORTS.items()}
    ports["b0"]["mtu"] = 1400
    pair = make_pair(lab, ports=ports)
    def rows():
        return {row["name"]: row for row in pair.router.get("/v1/mtu")["interfaces"]}
    wait_for(lambda: rows()["b0"]["linux"] == 1400, 5, "the twin is known")
    assert rows()["b0"] | {"port_most": 0} == {
        "name": "b0", "port": "b0", "ports": None, "vlan": None, "outer_vlan": None, "mtu": 1400, "file": 1400, "port_mtu": 1400, "port_most": 0,
        "device": 1400, "linux": 1400, "mss_clamp": "off", "mismatches": []}
    pair.router.linux_sh("ip route add 203.0.113.0/24 via 10.2.0.1 mtu 1300")
    pair.a.ping("10.2.0.1", count=1, ok=False)
    wait_for(lambda: pair.router.get("/v1/mtu?address=203.0.113.9")["path"]["mtu"] == 1300, 5, "the route's")
    out = pair.router.cli("show", "mtu", "203.0.113.9")
    assert "to 203.0.113.9 (203.0.113.0/24): 1300 bytes at most" in out, out
    assert "the route says mtu 1300, b0 has 1400" in out, out
    pair.router.space.sh("ip link set vb mtu 1350")
    out = " ".join(pair.router.cli("show", "mtu").split())
    assert "the kernel's vb has 1350, the port 1400" in out and '"ip link set dev vb mtu 1400"' in out, out
    if "Unknown device type" in pair.router.linux_sh("ip link add link a0 name a0.9 type vlan id 9", check=False):
        pytest.skip("all but the VLAN passed: this kernel has no VLAN devices")
    pair.router.linux_sh("ip link set a0.9 mtu 1280 up")
    wait_for(lambda: "a0.9" in rows() and rows()["a0.9"]["mismatches"], 5, "the VLAN")
    assert rows()["a0.9"]["mtu"] == 1280 and "twin a0.9 has 1280" in rows()["a0.9"]["mismatches"][0], rows()["a0.9"]


@pytest.mark.parametrize("far, headers", [("10.2.0.1", 40), ("fd00:2::1", 60)], ids=["v4", "v6"])
def test_mss_is_clamped(lab, far, headers):
    """The option of SYNs both ways as the hosts see it; a reload turns it on and off."""
    ports = {name: dict(each) for name, each in PORTS.items()}
    ports["b0"]["mtu"] = 1400
    pair = make_pair(lab, ports=ports)
    wait_for(lambda: " 1 received" in pair.a.ping(far, count=1, timeout=1, ok=False), 10, "b is known")
    pair.b.start([sys.executable, "-c", ACCEPT, far])

    def seen():
        """MSS of the SYN as it comes to b, and of the answer as it comes to a."""
        family = IPv6 if ":" in far else IP
        with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
            pair.a.sh([sys.executable, "-c", f"import socket; socket.create_connection(('{far}', 8080), 5)"])
            def mss(wire):
                syn = wire.receive(lambda p: TCP in p and p[TCP].flags.S, 1, 3)[0]
                assert in4_chksum(6, syn[IP], bytes(syn[TCP])) == 0 if family is IP else \
                    in6_chksum(6, syn[IPv6], bytes(syn[TCP])) == 0, syn
                return dict(syn[TCP].options)["MSS"]
            return mss(at_b), mss(at_a)

    wait_for(lambda: seen(), 10, "b accepts")
    assert seen() == (1500 - headers, 1500 - headers)
    pair.config["ports"]["a0"]["mss_clamp"] = "auto"
    pair.router.write(pair.config)
    assert pair.router.request("POST", "/v1/reload")[0] == 200
    wait_for(lambda: seen() == (1400 - headers, 1400 - headers), 5, "it is clamped by b0's MTU both ways")
    assert {row["name"]: row["mss_clamp"] for row in pair.router.get("/v1/mtu")["interfaces"]} == {
        "a0": "auto", "b0": "off"}
    del pair.config["ports"]["a0"]["mss_clamp"]
    pair.router.write(pair.config)
    assert pair.router.request("POST", "/v1/reload")[0] == 200
    wait_for(lambda: seen() == (1500 - headers, 1500 - headers), 5, "it is not any more")


@pytest.mark.parametrize("far, payload", [("10.2.0.1", 8972), ("fd00:2::1", 8952)],
                         ids=["v4", "v6"])
def test_9000_bytes_cross(lab, far, payload):
    pair = make_pair(lab, mtu=9000)
    assert [p["mtu"] for p in pair.router.get("/v1/ports")["ports"]] == [9000, 9000], (
        pair.router.get("/v1/ports"))
    pair.a.ping(far, count=1, ok=False)
    before = pair.router.get("/v1/drops")["totals"]["transmitted"]
    pair.a.ping(far, "-M", "do", "-s", payload, count=5)
    assert pair.router.get("/v1/drops")["totals"]["transmitted"] - before >= 10


def by_link(pair, mtu):
    """Both twins are asked for the MTU; returns what it is then, and what was said."""
    for name in ("a0", "b0"):
        pair.router.linux_sh(f"ip link set {name} mtu {mtu}")

        def settled():
            link, = json.loads(pair.router.linux_sh(f"ip -json link show {name}"))
            now = port(pair, name)["mtu"]
            return link["mtu"] == now and (now == mtu or f"port {name}: MTU {mtu} is above" in
                                           pair.router.log())
        wait_for(settled, 5, f"{name} and its twin agree on an MTU")
    return port(pair, "b0")["mtu"], pair.router.log()


def by_reload(pair, mtu):
    for each in pair.config["ports"].values():
        each["mtu"] = mtu
    pair.router.write(pair.config)
    status, answer = pair.router.request("POST", "/v1/reload")
    assert (status == 200) == (port(pair, "b0")["mtu"] == mtu), answer
    return port(pair, "b0")["mtu"], str(answer)


@pytest.mark.parametrize("change", [by_link, by_reload])
def test_a_larger_mtu_holds_or_is_refused(pages, lab, change):
    """On AF_XDP, while it runs: what is taken passes, what is not is told with the most there is."""
    pair = make_pair(lab, mtu=3400, ports={name: {**each, "mtu": 1500}
                                           for name, each in PORTS.items()})
    assert pages in pair.router.log()
    assert {p["driver"] for p in pair.router.get("/v1/ports")["ports"]} == {"net_af_xdp"}
    pair.a.ping("10.2.0.1", count=1, ok=False)

    def crosses(mtu):
        for far in ("10.2.0.1", "10.1.0.254"):
            pair.a.ping(far, "-M", "do", "-s", mtu - 28, count=3)
        assert [p["rx"]["missed"] for p in pair.router.get("/v1/ports")["ports"]] == [0, 0]

    most, held = 3400, []
    for mtu in (1700, 2400, 3600):
        now, said = change(pair, mtu)
        if now == mtu:
            held.append(mtu)
            crosses(mtu)
            continue
        assert now == held[-1]
        crosses(now)
        most = int(re.search(rf"MTU {mtu} is above (\d+), the most", said)[1])
    assert 1700 in held and most < 3600
    assert change(pair, most)[0] == most
    crosses(most)
