"""The same rules as a filter of hectod's and as an nftables script of Linux, the same packets through both routers:
the same ones come out. What both can say: prefixes, sets, protocols, ports, TCP flags, ICMP types, fragments, DSCP,
lengths, in any order and overlap."""

import ipaddress
import json
import random
import shutil
import time

import pytest
from scapy.layers.inet import ICMP, IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment, PadN
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from lab import Namespace
from test_filters import A4, A6, B4, B6, Bed
from wire import Wire

pytestmark = pytest.mark.skipif(shutil.which("nft") is None, reason="nftables is not installed: make deps")

NETS4 = ["10.1.0.0/24", "10.0.0.0/8", "192.0.2.0/25", "192.0.2.128/25", "198.51.100.7/32", "0.0.0.0/1"]
NETS6 = ["fd00:1::/64", "fd00::/8", "2001:db8::/33", "2001:db8:8000::/33", "2001:db8::7/128"]
TO4, TO6 = ["10.2.0.0/24", "10.2.0.1/32", "10.2.0.0/25"], ["fd00:2::/64", "fd00:2::1/128"]
SETS = {"some4": ["192.0.2.0/26", "10.1.0.1/32"], "some6": ["2001:db8:1::/48", "fd00:1::1/128"]}
FLAGS = {"F": "fin", "S": "syn", "R": "rst", "P": "psh", "A": "ack"}


class Linux:
    """A router of Linux between two hosts of the same addresses, with an nftables script."""

    def __init__(self, lab):
        self.space = Namespace(lab, "nft")
        self.a = lab.host("na", self.space, "va", [f"{A4}/24", f"{A6}/64"])
        self.b = lab.host("nb", self.space, "vb", [f"{B4}/24", f"{B6}/64"])
        sysctls = ["net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1", "net.ipv4.conf.all.rp_filter=0",
                   "net.ipv4.conf.va.rp_filter=0", "net.ipv4.icmp_ratelimit=0"]
        self.space.sh(["sysctl", "-qw", *sysctls])
        for device, addresses, host, far in (("va", ["10.1.0.254/24", "fd00:1::fe/64"], self.a, (A4, A6)),
                                             ("vb", ["10.2.0.254/24", "fd00:2::fe/64"], self.b, (B4, B6))):
            for address in addresses:
                self.space.sh(["ip", "address", "add", address, "dev", device])
            for address in far:
                self.space.sh(["ip", "neighbor", "replace", address, "lladdr", host.mac, "dev", device])
        self.mac = json.loads(self.space.sh("ip -json link show va"))[0]["address"]

    def script(self, rules, otherwise):
        sets = "".join(f"set {name} {{ type ipv{'4' if name.endswith('4') else '6'}_addr; flags interval; "
                       f"elements = {{ {', '.join(members)} }} }}\n" for name, members in SETS.items())
        lines = "\n".join(line for rule in rules for line in rule)
        text = f"table inet t {{\n{sets}chain f {{ type filter hook forward priority 0; policy {otherwise};\n{lines}\n}}\n}}\n"
        self.space.sh(["nft", "delete table inet t"], check=False)
        file = self.space.lab.folder / "rules.nft"
        file.write_text(text)
        self.space.sh(["nft", "-f", str(file)])
        return text


def random_rule(dice):
    """One rule in hecto's words, and the lines of nft that say the same."""
    rule, common = {}, []
    family = dice.choice([4, 6, None, None])
    v = {4: "ip", 6: "ip6"}
    if family and dice.random() < 0.7:
        if dice.random() < 0.3:
            rule["from"] = f"some{family}"
            common.append(f"{v[family]} saddr @some{family}")
        else:
            rule["from"] = dice.choice(NETS4 if family == 4 else NETS6)
            common.append(f"{v[family]} saddr {rule['from']}")
    if family and dice.random() < 0.4:
        rule["to"] = dice.choice(TO4 if family == 4 else TO6)
        common.append(f"{v[family]} daddr {rule['to']}")
    if family and "from" not in rule and "to" not in rule:
        rule["family"] = f"ipv{family}"
        common.append(f"meta nfproto ipv{family}")
    families = [family] if family else [4, 6]
    kind = dice.choice(["", "", "udp", "tcp", "icmp"])
    if kind in ("udp", "tcp"):
        rule["protocol"] = kind
        common.append(f"meta l4proto {kind}")
        for key, word in (("sport", "sport"), ("dport", "dport")):
            if dice.random() < 0.5:
                low = dice.choice([7, 53, 80, 4000])
                high = low + dice.choice([0, 0, 20, 5000])
                rule[key] = low if low == high else f"{low}-{high}"
                common.append(f"th {word} {low}-{high}" if low != high else f"th {word} {low}")
        if kind == "tcp" and dice.random() < 0.5:
            letters = dice.sample("FSRPA", 2)
            rule["tcp_flags"] = {FLAGS[letters[0]]: True, FLAGS[letters[1]]: False}
            common.append(f"tcp flags & ({FLAGS[letters[0]]} | {FLAGS[letters[1]]}) == {FLAGS[letters[0]]}")
    if dice.random() < 0.2 or not rule:
        low = dice.choice([0, 40, 80, 200])
        rule["length"] = f"{low}-{low + 100}"
        common.append(f"meta length {low}-{low + 100}")
    per_family = {4: [], 6: []}
    if dice.random() < 0.2:
        rule["dscp"] = dice.choice([0, 10, 46])
        for each in families:
            per_family[each].append(f"{v[each]} dscp {rule['dscp']}")
    if kind == "icmp":
        rule |= {"protocol": "icmp", "icmp_type": "echo-request"}
        per_family[4].append("icmp type echo-request")
        per_family[6].append("icmpv6 type echo-request")
    if not kind and dice.random() < 0.15:
        rule["fragments"] = "later"
        per_family[4].append("ip frag-off & 0x1fff != 0")
        per_family[6].append("frag frag-off != 0")
    verdict = dice.choice(["accept", "drop"])
    if verdict == "drop":
        rule["action"] = verdict
    if not any(per_family.values()):
        return rule, [" ".join([*common, verdict])]
    return rule, [" ".join([*common, *per_family[each], verdict]) for each in families]


def random_packet(dice):
    six = dice.random() < 0.5
    inside = lambda net: str(ipaddress.ip_network(net)[dice.randrange(min(ipaddress.ip_network(net).num_addresses, 1 << 16))])
    source = inside(dice.choice([n for n in (NETS6 + SETS["some6"] if six else NETS4 + SETS["some4"]) if n != "0.0.0.0/1"]))
    if not six and (source.startswith("10.2.") or source.split(".")[3] in ("0", "255") or source.startswith("10.0.0.0")):
        source = A4
    if six and source in ("fd00:1::", "fd00:2::", "fd00::", "fd00:1::fe", "fd00:2::fe"):
        source = A6
    if not six and source in ("10.1.0.254", "10.2.0.254"):
        source = A4
    dscp = dice.choice([0, 0, 10, 46]) << 2
    ip = IPv6(src=source, dst=B6, tc=dscp) if six else IP(src=source, dst=B4, tos=dscp, id=dice.randrange(65536))
    if six and dice.random() < 0.2:
        ip /= IPv6ExtHdrDestOpt(options=[PadN(optdata=b"\0" * 4)])
    part = dice.random()
    if part < 0.1:  # a later fragment
        if six:
            return ip / IPv6ExtHdrFragment(id=dice.randrange(1 << 32), offset=20, m=0, nh=17)
        ip.frag, ip.proto = 20, 17
        return ip
    port = lambda: dice.choice([7, 53, 60, 80, 90, 4000, 5000, 65535])
    kind = dice.choice(["udp", "tcp", "icmp"])
    if part < 0.2 and not six:
        ip.flags = "MF"
    pad = Raw(b"p" * dice.choice([0, 0, 60, 200]))
    if kind == "udp":
        return ip / UDP(sport=port(), dport=port()) / pad
    if kind == "tcp":
        return ip / TCP(sport=port(), dport=port(), flags="".join(dice.sample("FSRPA", dice.randrange(4)))) / pad
    if six:
        return ip / ICMPv6EchoRequest() / pad
    return ip / ICMP(type=dice.choice([0, 8, 13])) / pad


def passes(router, mac, a, b, packets, run):
    """By their numbers: which come out at b. Those of few are awaited for less long."""
    with Wire(a) as near, Wire(b) as far:
        for number, packet in enumerate(packets):
            near.send(bytes(Ether(dst=mac) / packet / Raw(f"<{run}-{number:06}>".encode())))
            if number % 50 == 49:
                time.sleep(0.02)
        near.send(Ether(dst=mac) / IP(src=A4, dst=B4) / UDP(sport=9, dport=9) / Raw(f"<{run}-999999>".encode()))
        mark = f"<{run}-".encode()
        seen = far.receive(lambda frame: mark in bytes(frame), len(packets) + 1, 6.0 if len(packets) > 9 else 0.5)
    return {int(bytes(f).split(mark)[1][:6]) for f in seen} - {999999}


@pytest.mark.parametrize("seed", range(4))
def test_the_same_verdicts_as_nftables(lab, seed):
    dice = random.Random(seed)
    rules = [random_rule(dice) for _ in range(25)]
    otherwise = dice.choice(["accept", "drop"])
    config = {"sets": SETS, "filters": {"f": {"in": ["a0"], "otherwise": otherwise, "rules": [rule for rule, _ in rules]}}}
    bed, linux = Bed(lab, config), Linux(lab)
    script = linux.script([lines for _, lines in rules], otherwise)
    packets = [random_packet(dice) for _ in range(200)]
    ours = passes(bed.router, bed.mac["a0"], bed.a, bed.b, packets, f"h{seed}")
    theirs = passes(linux, linux.mac, linux.a, linux.b, packets, f"n{seed}")
    # What a busy machine has lost tells nothing: it is sent again.
    for again in range(3):
        ours |= {n for n in theirs - ours if passes(bed.router, bed.mac["a0"], bed.a, bed.b, [packets[n]], f"H{again}{n}")}
        theirs |= {n for n in ours - theirs if passes(linux, linux.mac, linux.a, linux.b, [packets[n]], f"N{again}{n}")}
    wrong = sorted(ours ^ theirs)
    assert not wrong, "\n".join([script, *(f"{'hecto' if n in ours else 'linux'} alone: {packets[n].summary()} "
                                           f"{packets[n].command()}" for n in wrong[:5])])
    assert 0 < len(ours) < len(packets), "the rules tell packets apart"
