"""IPv4 fragments through ports of every kind: each leaves as it came (RFC 1812 §4.2.2.7)."""

import pytest
from scapy.layers.inet import IP, UDP, fragment
from scapy.layers.l2 import Ether

from conftest import PORTS, make_pair
from lab import wait_for
from wire import Wire

BED = {
    "af_xdp": (1500, PORTS),
    "af_packet for its MTU": (5000, PORTS),
    "af_packet by name": (1500, {
        "a0": {**PORTS["a0"], "device": "net_af_packet0,iface=va"},
        "b0": {**PORTS["b0"], "device": "net_af_packet1,iface=vb"}}),
    "af_packet with two queues": (1500, {
        "a0": {**PORTS["a0"], "device": "net_af_packet0,iface=va,qpairs=2", "queues": 2},
        "b0": {**PORTS["b0"], "device": "net_af_packet1,iface=vb,qpairs=2", "queues": 2}}),
}


@pytest.mark.parametrize("kind", BED)
def test_fragments_stay_apart(lab, kind):
    mtu, ports = BED[kind]
    pair = make_pair(lab, mtu=mtu, ports=ports)
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, ok=False), 10, "b is known")
    mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")
    whole = IP(src="10.1.0.1", dst="10.2.0.1", id=77) / UDP(sport=7, dport=9) / bytes(range(200))
    pieces = fragment(whole, fragsize=64)
    assert len(pieces) > 2
    lone = fragment(IP(src="10.1.0.1", dst="10.2.0.1", id=78) / UDP(sport=7, dport=9) / bytes(99),
                    fragsize=64)[0]
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        for piece in [*pieces, lone]:
            at_a.send(Ether(dst=mac, src=pair.a.mac, type=0x0800) / piece)
        came = at_b.receive(lambda p: IP in p and p[IP].id in (77, 78), len(pieces) + 1, 3)
        came += at_b.receive(lambda p: IP in p and p[IP].id in (77, 78), 1, 0.3)
    sent = sorted((p.id, p.frag, bytes(p.payload)) for p in [*pieces, lone])
    def body(p):
        return bytes(p[IP].payload)[:p[IP].len - 20]
    assert sorted((p[IP].id, p[IP].frag, body(p)) for p in came) == sent, came
