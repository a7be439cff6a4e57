"""The other end of a tunnel, by scapy: echo requests inside are answered, in the tunnel. What came is told at the end.

    tunnel_peer.py PORT MAC_OF_THE_ROUTER KIND OWN_ADDRESS ROUTER_ADDRESS KEY SECONDS
"""

import json
import sys
import time

from scapy.all import GRE, ICMP, IP, Ether, IPv6, conf, raw
from scapy.layers.inet6 import ICMPv6EchoReply, ICMPv6EchoRequest, IPv6ExtHdrDestOpt

PORT, ROUTER, KIND, OWN, FAR, KEY, SECONDS = sys.argv[1:]
SIX = KIND.startswith("ip6")


def answer(inner):
    if ICMP in inner and inner[ICMP].type == 8:
        made = IP(src=inner.dst, dst=inner.src, ttl=64, tos=inner.tos) / ICMP(type=0, id=inner[ICMP].id, seq=inner[ICMP].seq)
        return made / inner[ICMP].payload
    if ICMPv6EchoRequest in inner:
        echo = inner[ICMPv6EchoRequest]
        return IPv6(src=inner.dst, dst=inner.src) / ICMPv6EchoReply(id=echo.id, seq=echo.seq, data=echo.data)
    return None


def wrapped(inner):
    outer = IPv6(src=OWN, dst=FAR) if SIX else IP(src=OWN, dst=FAR)
    if KIND.endswith("gre"):
        return outer / (GRE(key_present=1, key=int(KEY)) if int(KEY) else GRE()) / inner
    return outer / inner


def inside(packet):
    """What a frame to us carries; None: it is no frame of the tunnel's."""
    outer = packet.getlayer(IPv6 if SIX else IP)
    if outer is None or outer.src != FAR or outer.dst != OWN:
        return None
    if KIND.endswith("gre"):
        gre = outer.getlayer(GRE)
        if gre is None or int(gre.key_present) != (int(KEY) != 0) or (int(KEY) and gre.key != int(KEY)):
            return None
        return gre.payload
    return outer[IPv6ExtHdrDestOpt].payload if IPv6ExtHdrDestOpt in outer else outer.payload


def main():
    wire = conf.L2socket(iface=PORT)
    told = {"requests": 0, "outer": {}}
    until = time.monotonic() + float(SECONDS)
    print("ready", flush=True)
    while time.monotonic() < until:
        packet = wire.recv()
        inner = None if packet is None else inside(packet)
        if inner is None or not isinstance(inner, (IP, IPv6)):
            continue
        reply = answer(inner)
        if reply is None:
            continue
        told["requests"] += 1
        outer = packet[IPv6 if SIX else IP]
        told["outer"] = {"ttl": outer.hlim if SIX else outer.ttl, "tos": outer.tc if SIX else outer.tos,
                         "df": None if SIX else bool(outer.flags.DF), "proto": outer.nh if SIX else outer.proto,
                         "inner_ttl": inner.hlim if isinstance(inner, IPv6) else inner.ttl}
        wire.send(Ether(dst=ROUTER, src=packet.dst) / wrapped(reply))
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
