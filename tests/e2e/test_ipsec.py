"""ESP against scapy, an implementation of its own; two gateways in a row; what nobody may see."""

import json
import os
import re
import subprocess
import sys

import pytest
import yaml
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import make_pair
from esp import ALGORITHMS, Tunnel, ipsec_section, is_esp
from lab import end, wait_for
from test_features import port_mac
from wire import Wire

HERE, THERE = {4: "10.2.0.254", 6: "fd00:2::fe"}, {4: "10.2.0.1", 6: "fd00:2::1"}
INSIDE = {4: "10.1.0.0/24", 6: "fd00:1::/64"}


def all_tunnels():
    """Every algorithm in all of inner and outer family, some with ESN, some in UDP, as tunnels.

    scapy knows ESN with AEADs only; with HMAC the unit tests hold it against OpenSSL.
    """
    made = []
    for name in ALGORITHMS:
        for inner in (4, 6):
            for outer in (4, 6):
                number = len(made) + 1
                far = f"10.100.{number}.0/24" if inner == 4 else f"fd00:100:{number:x}::/64"
                made.append(Tunnel(number, name, HERE[outer], THERE[outer], INSIDE[inner], far,
                                   esn=number % 2 == 0 and " " not in name, natt=number % 3 == 0))
    return made


def start(lab, tunnels, crypto="auto", **more):
    config = {"routes": [{"to": "10.100.0.0/16", "via": "10.2.0.1"},
                         {"to": "fd00:100::/32", "via": "fd00:2::1"}],
              "ipsec": {"crypto": crypto, **ipsec_section(tunnels)}, **more}
    pair = make_pair(lab, config=config)
    for address in ("10.2.0.1", "fd00:2::1"):
        wait_for(lambda address=address: " 1 received" in pair.a.ping(address, count=1, ok=False),
                 10, f"{address} answers")
    wait_for(lambda: pair.router.has_neighbor("10.1.0.1")
             and pair.router.has_neighbor("fd00:1::1"), 5, "the inner hosts are known")
    return pair


def inner_packet(tunnel, outbound, text):
    near = "10.1.0.1" if ":" not in tunnel.inside else "fd00:1::1"
    far = tunnel.outside.replace(".0/24", ".1").replace("::/64", "::1")
    source, destination = (near, far) if outbound else (far, near)
    kind = IP if ":" not in near else IPv6
    return kind(bytes(kind(src=source, dst=destination) / UDP(sport=7, dport=9) / text))


@pytest.mark.parametrize("crypto", ["auto", "openssl"])
def test_every_algorithm_both_ways(lab, crypto):
    tunnels = all_tunnels()[::1 if crypto == "auto" else 3]
    pair = start(lab, tunnels, crypto)
    if crypto == "openssl":
        assert "ipsec: OpenSSL 3." in pair.router.log()
        assert pair.router.cli("show", "ipsec").startswith("crypto: OpenSSL 3.")
    to_a, to_b = port_mac(pair.router, "a0"), port_mac(pair.router, "b0")
    wrong = []
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        for tunnel in tunnels:
            label = (tunnel.from_hecto.name, tunnel.inside, tunnel.from_hecto.source,
                     tunnel.from_hecto.esn, tunnel.from_hecto.natt)
            sent = inner_packet(tunnel, True, b"out of the tunnel " * tunnel.reqid)
            at_a.send(Ether(dst=to_a) / sent)
            came = at_b.receive(lambda p: is_esp(p, tunnel.from_hecto.spi), 1)
            if not came:
                wrong.append((*label, "nothing came out"))
                continue
            got = tunnel.from_hecto.open(bytes(came[0])[14:])
            hops = "ttl" if isinstance(sent, IP) else "hlim"
            if bytes(got.payload) != bytes(sent.payload) or got.dst != sent.dst:
                wrong.append((*label, "out: another packet", got.summary()))
            if getattr(got, hops) != getattr(sent, hops) - 1:
                wrong.append((*label, "out: hops", getattr(got, hops)))
            back = inner_packet(tunnel, False, b"into the tunnel " * tunnel.reqid)
            at_b.send(bytes(Ether(dst=to_b, type=0x86dd if ":" in tunnel.to_hecto.source else 0x800))
                      + tunnel.to_hecto.seal(back))
            came = at_a.receive(lambda p: UDP in p and b"into the tunnel" in bytes(p), 1)
            if not came:
                wrong.append((*label, "nothing came in"))
                continue
            if bytes(came[0][UDP]) != bytes(back[UDP]) or came[0].payload.src != back.src:
                wrong.append((*label, "in: another packet", came[0].summary()))
    assert not wrong, wrong
    shown = {int(sa["spi"], 16): sa for sa in pair.router.get("/v1/ipsec")["sas"]}
    for tunnel in tunnels:
        for sa in (tunnel.to_hecto, tunnel.from_hecto):
            assert shown[sa.spi]["packets"] >= 1, shown[sa.spi]


def test_what_is_forged_replayed_or_foreign_is_dropped_by_name(lab):
    tunnel = Tunnel(1, "aes-128-gcm", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    other = Tunnel(2, "aes-128-cbc hmac-sha1", HERE[4], THERE[4], INSIDE[4], "10.100.2.0/24")
    pair = start(lab, [tunnel, other])
    ether = bytes(Ether(dst=port_mac(pair.router, "b0"), type=0x800))
    good = tunnel.to_hecto.seal(inner_packet(tunnel, False, b"whole"))
    forged = bytearray(tunnel.to_hecto.seal(inner_packet(tunnel, False, b"forged")))
    forged[-1] ^= 1
    damaged = bytearray(other.to_hecto.seal(inner_packet(other, False, b"forged")))
    damaged[40] ^= 0x80
    unknown = bytearray(good)
    unknown[20] ^= 0xff
    foreign = tunnel.to_hecto.seal(inner_packet(other, False, b"by another's tunnel"))
    clear = inner_packet(tunnel, False, b"in the clear")
    with Wire(pair.a) as at_a, Wire(pair.b) as at_b:
        for packet in (good, good, forged, damaged, unknown, foreign, bytes(clear)):
            at_b.send(ether + bytes(packet))
        came = at_a.receive(lambda p: UDP in p and p[UDP].sport == 7, 2, 1.5)
    assert [bytes(p[UDP].payload).rstrip(b"\0") for p in came] == [b"whole"], came
    for reason, packets in (("esp_replay", 1), ("esp_bad_icv", 2), ("esp_unknown_spi", 1),
                            ("policy_mismatch", 2)):
        assert pair.router.dropped(reason) == packets, (reason, pair.router.get("/v1/drops"))
    assert pair.router.punted("local") < 20, "ESP for us is never punted"


def test_the_router_itself_speaks_by_transport_mode(lab):
    """Linux's ping of the peer leaves as ESP, and what scapy answers reaches it."""
    tunnel = Tunnel(1, "aes-256-gcm", HERE[4], THERE[4], "10.2.0.254/32", "10.2.0.1/32",
                    mode="transport")
    pair = make_pair(lab, config={"ipsec": ipsec_section([tunnel])})
    wait_for(lambda: " 1 received" in pair.b.ping("10.2.0.254", count=1, ok=False)
             or pair.router.has_neighbor("10.2.0.1"), 10, "the peer is known")
    ether = bytes(Ether(dst=port_mac(pair.router, "b0"), type=0x800))
    with Wire(pair.b) as at_b:
        process = subprocess.Popen(
            ["nsenter", f"--net=/run/netns/{pair.router.linux}", "--", "ping", "-n", "-c", "1",
             "-W", "4", "10.2.0.1"], stdout=subprocess.PIPE, text=True)
        came = at_b.receive(lambda p: is_esp(p, tunnel.from_hecto.spi), 1, 4)
        assert came, pair.router.get("/v1/drops")
        echo = tunnel.from_hecto.open(bytes(came[0])[14:])
        assert echo[ICMP].type == 8
        answer = IP(src="10.2.0.1", dst="10.2.0.254") / ICMP(
            type=0, id=echo[ICMP].id, seq=echo[ICMP].seq) / bytes(echo[ICMP].payload)
        at_b.send(ether + tunnel.to_hecto.seal(IP(bytes(answer))))
        out, _ = process.communicate(timeout=20)
    assert " 1 received" in out, out


def gateways(lab, name="aes-128-gcm", mtu=1500, **more):
    """a -- r1 ==ESP== r2 -- b, both gateways hectod; `more` of both configurations."""
    first, second = lab.router("r1"), lab.router("r2")
    a = lab.host("a", first.space, "va", ["10.1.0.1/24", "fd00:1::1/64"],
                 ["10.1.0.254", "fd00:1::fe"], mtu=mtu)
    b = lab.host("b", second.space, "vb", ["10.2.0.1/24", "fd00:2::1/64"],
                 ["10.2.0.254", "fd00:2::fe"], mtu=mtu)
    first.space.sh(["ip", "link", "add", "vm", "type", "veth", "peer", "name", "vm", "netns",
                    second.space.name])
    _, key_bytes, _, integrity_bytes = ALGORITHMS[name]
    algorithm = dict(zip(("cipher", "integrity"), name.split()))
    keys = {to: {"key": "0x" + os.urandom(key_bytes).hex()} for to in (1, 2)}
    if integrity_bytes:
        for key in keys.values():
            key["integrity_key"] = "0x" + os.urandom(integrity_bytes).hex()

    def section(own):
        far = 3 - own
        sas = [{"source": f"10.99.0.{3 - to}", "destination": f"10.99.0.{to}", "spi": 0x100 * to,
                "reqid": 1, "replay_window": 1024, **algorithm, **keys[to]} for to in (1, 2)]
        policies = []
        for net in ("10.{}.0.0/24", "fd00:{}::/64"):
            for direction, source, to in (("out", own, far), ("forward", far, own),
                                          ("in", far, own)):
                policies.append({
                    "direction": direction, "source": net.format(source),
                    "destination": net.format(to),
                    "protect": {"source": f"10.99.0.{source}", "destination": f"10.99.0.{to}",
                                "reqid": 1, "mode": "tunnel"}})
        return {"sas": sas, "policies": policies}

    for router, own, edge, device in ((first, 1, "a0", "va"), (second, 2, "b0", "vb")):
        router.start({
            "ports": {edge: {"device": device,
                             "addresses": [f"10.{own}.0.254/24", f"fd00:{own}::fe/64"]},
                      "m0": {"device": "vm", "addresses": [f"10.99.0.{own}/30",
                                                           f"fd00:99::{own}/64"]}},
            "routes": [{"to": f"10.{3 - own}.0.0/24", "via": f"10.99.0.{3 - own}"},
                       {"to": f"fd00:{3 - own}::/64", "via": f"fd00:99::{3 - own}"}],
            "ipsec": section(own), **more})
    for far in ("10.2.0.1", "fd00:2::1"):
        wait_for(lambda far=far: " 1 received" in a.ping(far, count=1, timeout=1, ok=False), 15,
                 f"{far} answers through the tunnel")
    return first, second, a, b


def send_over_tcp(a, b, address, count):
    """Whether all of so many random bytes arrived, and as they were sent."""
    sink = subprocess.Popen(b.words([sys.executable, "-c", (
        "import hashlib, socket\n"
        "s = socket.create_server(('', 7777)); print('ready', flush=True)\n"
        "c, h = s.accept()[0], hashlib.sha256()\n"
        "while data := c.recv(65536): h.update(data)\n"
        "print(h.hexdigest())")]), stdout=subprocess.PIPE, text=True)
    b.lab.cleanups.append(lambda: end(sink))
    assert sink.stdout.readline() == "ready\n"
    sent = a.sh([sys.executable, "-c", (
        "import hashlib, os, socket\n"
        f"data = os.urandom({count})\n"
        f"c = socket.create_connection(({address!r}, 7777), 10); c.sendall(data); c.close()\n"
        "print(hashlib.sha256(data).hexdigest())")])
    return sink.communicate(timeout=60)[0] == sent


def test_two_gateways_in_a_row(lab):
    """Both families through one tunnel, a TCP stream, packets of every size, a trace."""
    first, second, a, b = gateways(lab)
    for far in ("10.2.0.1", "fd00:2::1"):
        assert re.search(r"ttl=62\b", a.ping(far, count=3))
        for size in (0, 1, 1200, 1400, 2000):
            # IPv6 first learns from both gateways what fits.
            a.ping(far, "-s", size, count=3, timeout=1, ok=False)
            a.ping(far, "-s", size, count=2)
    assert send_over_tcp(a, b, "10.2.0.1", 4 << 20)
    for router in (first, second):
        sas = router.get("/v1/ipsec")["sas"]
        assert len(sas) == 2 and all(sa["packets"] > 100 for sa in sas), sas
        for reason in ("esp_replay", "esp_bad_icv", "policy_mismatch"):
            assert router.dropped(reason) == 0, router.get("/v1/drops")
    # What does not fit is told to the sender, who sends less.
    out = a.sh("ping -n -M do -s 1472 -c 2 -W 1 10.2.0.1", check=False)
    assert re.search(r"(Frag needed|[Mm]essage too long).*mtu.?=.?14\d\d", out), out
    assert "too big" in a.sh("ping -n -M do -s 1452 -c 2 -W 1 fd00:2::1", check=False).lower() or \
        "mtu" in a.sh("ip -6 route get fd00:2::1")


def test_no_key_is_ever_shown(lab):
    tunnel = Tunnel(1, "aes-128-cbc hmac-sha1", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    pair = start(lab, [tunnel], log={"level": "debug"})
    secrets = [sa.key.hex() for sa in (tunnel.to_hecto, tunnel.from_hecto)]
    secrets += [sa.integrity_key.hex() for sa in (tunnel.to_hecto, tunnel.from_hecto)]
    said = [pair.router.log()]
    for words in (["show", "ipsec"], ["show", "ipsec", "--json"], ["show", "config"],
                  ["show", "config", "--json"]):
        said.append(pair.router.cli(*words))
    for path in ("/v1/ipsec", "/v1/config", "/v1/summary"):
        said.append(json.dumps(pair.router.get(path)))
    for text in said:
        assert not any(secret in text.lower() for secret in secrets)


def memory_of(process):
    """What lies in its memory: where a core dump shows it, and where it was told not to."""
    shown, hidden = [], []
    with open(f"/proc/{process.pid}/smaps") as maps, open(f"/proc/{process.pid}/mem", "rb") as memory:
        span = None
        for line in maps:
            if match := re.match(r"([0-9a-f]+)-([0-9a-f]+) (r[w-])", line):
                span = [int(end, 16) for end in match.groups()[:2]]
            elif re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
                span = None
            elif line.startswith("VmFlags:") and span is not None:
                try:
                    memory.seek(span[0])
                    (hidden if " dd" in line else shown).append(memory.read(span[1] - span[0]))
                except (OSError, ValueError):
                    pass  # the kernel's own pages
    return shown, hidden


def test_no_key_of_a_key_file_is_where_a_core_dump_shows_it(lab, tmp_path):
    tunnel = Tunnel(1, "aes-128-gcm", HERE[4], THERE[4], INSIDE[4], "10.100.1.0/24")
    section = ipsec_section([tunnel])
    for number, sa in enumerate(section["sas"]):
        path = tmp_path / f"{number}.key"
        path.write_text(sa.pop("key"))
        path.chmod(0o600)
        sa["key_file"] = str(path)
    pair = start(lab, [], ipsec=section)
    keys = [sa.key[:16] for sa in (tunnel.to_hecto, tunnel.from_hecto)]
    secrets = keys + [key.hex().encode() for key in keys]
    for reload in (False, True):
        if reload:
            config = yaml.safe_load(pair.router.file.read_text())
            config["routes"].append({"to": "10.123.0.0/16", "type": "blackhole"})
            pair.router.write(config)
            pair.router.cli("reload")
        shown, hidden = memory_of(pair.router.process)
        assert all(any(key in part for part in hidden) for key in keys), "or nothing is looked at"
        assert not any(secret in part for part in shown for secret in secrets)
