#!/usr/bin/python3
"""A neighbor that speaks MPLS, played by scapy: sends packets with labels, and says what the router sent.

    label_peer.py INTERFACE ROUTER_MAC SPEC_JSON

SPEC: {"labels": [300], "src": …, "dst": …, "count": 30}, and "ttl", "echo", "wanted" (whose packets come back), "expect", "seconds".
"""

import json
import select
import sys
import time

from scapy.all import ICMP, IP, UDP, Ether, ICMPv6EchoRequest, IPv6, Raw, conf, get_if_hwaddr
from scapy.contrib.mpls import MPLS

iface, router, spec = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
own = get_if_hwaddr(iface)
wire = conf.L2socket(iface=iface)


def packet(n):
    frame = Ether(dst=router, src=own, type=0x8847) if spec["labels"] else Ether(dst=router, src=own)
    for place, label in enumerate(spec["labels"]):
        frame /= MPLS(label=label, ttl=spec.get("ttl", 64), s=int(place + 1 == len(spec["labels"])))
    six = ":" in spec["dst"]
    ip = IPv6(src=spec["src"], dst=spec["dst"]) if six else IP(src=spec["src"], dst=spec["dst"])
    if spec.get("echo"):
        return frame / ip / (ICMPv6EchoRequest(id=77, seq=n) if six else ICMP(id=77, seq=n)) / Raw(b"x" * 30)
    return frame / ip / UDP(sport=1000 + n, dport=9) / Raw(b"x" * 30)


def sound(ip):
    if not isinstance(ip, IP):
        return True
    again = ip.copy()
    del again.chksum
    return IP(bytes(again)).chksum == ip.chksum


def seen(frame):
    if frame.src != router or frame.dst != own or frame.type not in (0x8847, 0x0800, 0x86dd):
        return None
    stack, at = [], frame.payload
    while isinstance(at, MPLS):
        stack.append([at.label, at.ttl, at.s])
        at = at.payload
    ip = at if isinstance(at, (IP, IPv6)) else (IP if bytes(at)[0] >> 4 == 4 else IPv6)(bytes(at))
    return {"labels": stack, "dst": ip.dst, "ttl": ip.ttl if isinstance(ip, IP) else ip.hlim, "sound": sound(ip)}


found, end = [], time.monotonic() + spec.get("seconds", 10)
for n in range(spec["count"]):
    wire.send(packet(n))
while time.monotonic() < end and len(found) < spec.get("expect", spec["count"]):
    if not select.select([wire.ins], [], [], 0.1)[0]:
        continue
    frame = wire.recv()
    what = None if frame is None else seen(frame)
    if what is not None and what["dst"] == spec.get("wanted", spec["dst"]):
        found.append(what)
print(json.dumps(found))
