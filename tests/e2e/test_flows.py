"""The flow table between real hosts: output, drop, rewriting, misses, times, reloads."""

import subprocess
import sys
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import make_pair
from lab import wait_for
from wire import Wire

BOTH = {"flows": {"interfaces": ["a0", "b0"]}}
SERVE = """
import socket, sys
s = socket.create_server(("", int(sys.argv[1])), family=socket.AF_INET6 if sys.argv[2] == "6" else socket.AF_INET)
print("ready", flush=True)
c, peer = s.accept()
while data := c.recv(65536):
    c.sendall(data.upper())
print(peer[0], flush=True)
"""
ASK = """
import socket, sys
c = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5)
c.sendall(b"x" * 30000)
c.shutdown(socket.SHUT_WR)
got = b""
while data := c.recv(65536):
    got += data
print(got == b"X" * 30000)
"""


def port_mac(router, name):
    return next(p for p in router.get("/v1/ports")["ports"] if p["name"] == name)["mac"]


def flows_bed(lab, config=None):
    pair = make_pair(lab, config or BOTH)
    for address in ("10.2.0.1", "fd00:2::1"):
        pair.a.ping(address, count=1, ok=False)
        pair.a.ping(address, count=1)
    return pair


def flow(router, *words):
    return router.cli("flow", *" ".join(words).split())


def entries(router):
    return router.get("/v1/flows?limit=1000")["flows"]


def datagram(pair, v6, to, ttl=9):
    ip = IPv6(src="fd00:1::1", dst=to, hlim=ttl) if v6 else IP(src="10.1.0.1", dst=to, ttl=ttl)
    return (Ether(src=pair.a.mac, dst=port_mac(pair.router, "a0")) / ip
            / UDP(sport=7000, dport=7001) / b"flow-test")


@pytest.mark.parametrize("v6, to", [(False, "192.0.2.7"), (True, "2001:db8::7")], ids=["v4", "v6"])
def test_output_goes_out_by_the_port_with_that_mac(lab, v6, to):
    pair = flows_bed(lab)
    flow(pair.router, f"add to {to} protocol udp dport 7001 output b0 mac {pair.b.mac}")
    frame = datagram(pair, v6, to)
    with Wire(pair.b) as at_b, Wire(pair.a) as at_a:
        at_a.send(frame, 5)
        got = at_b.receive(lambda p: b"flow-test" in bytes(p), 5)
    assert len(got) == 5, "there is no route to it"
    for one in got:
        assert (one.dst, one.src) == (pair.b.mac, port_mac(pair.router, "b0"))
        assert bytes(one)[14:] == bytes(frame)[14:], "TTL with it"
    entry, = entries(pair.router)
    assert entry["packets"] == 5 and entry["bytes"] == 5 * (len(frame) - 14), entry
    shown = pair.router.get("/v1/flows")
    assert shown["hits"] >= 5 and shown["top"][0]["packets"] == 5, shown
    assert to in pair.router.cli("show", "flows")


def test_drop_has_its_reason_and_others_pass(lab):
    pair = flows_bed(lab)
    flow(pair.router, "add from 10.1.0.1 to 10.2.0.1 protocol icmp icmp_type 8 drop")
    before = pair.router.dropped("flow")
    out = pair.a.ping("10.2.0.1", count=3, ok=False)
    assert " 0 received" in out, out
    assert pair.router.dropped("flow") == before + 3
    pair.a.ping("fd00:2::1", count=2)
    flow(pair.router, "delete from 10.1.0.1 to 10.2.0.1 protocol icmp icmp_type 8")
    pair.a.ping("10.2.0.1", count=3)


@pytest.mark.parametrize("v6, seen, real, asks", [(False, "192.0.2.80", "10.2.0.1", "10.1.0.1"),
                                                  (True, "2001:db8::80", "fd00:2::1", "fd00:1::1")],
                         ids=["v4", "v6"])
def test_a_tcp_session_through_rewritten_addresses_and_ports(lab, v6, seen, real, asks):
    """Real hosts check each checksum."""
    pair = flows_bed(lab)
    status, answer = pair.router.request("POST", "/v1/flows", [
        {"match": {"to": seen, "protocol": "tcp", "dport": 80, "interface": "a0"},
         "actions": {"set_to": real, "set_dport": 8080, "set_dscp": 10, "accept": True}},
        f"from {real} protocol tcp sport 8080 interface b0 set_from {seen} set_sport 80 accept"])
    assert status == 200 and answer == {"changed": 2, "flows": 2}, answer
    server = pair.b.start([sys.executable, "-c", SERVE, "8080", "6" if v6 else "4"],
                          stdout=subprocess.PIPE, text=True)
    assert server.stdout.readline() == "ready\n"
    assert pair.a.sh([sys.executable, "-c", ASK, seen, "80"]) == "True\n"
    assert asks in server.stdout.readline()
    assert all(entry["packets"] > 3 for entry in entries(pair.router))


def test_misses_are_routed_dropped_or_sent_out(lab):
    pair = flows_bed(lab)
    pair.a.ping("10.2.0.1", count=1)

    def miss(word):
        pair.config["flows"]["miss"] = word
        pair.router.write(pair.config)
        assert f"miss" in pair.router.cli("reload")

    flow(pair.router, "add family ipv6 accept")
    miss("drop")
    wait_for(lambda: " 0 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 5, "dropped")
    pair.a.ping("fd00:2::1", count=2)
    assert pair.router.dropped("flow") >= 1
    miss("b0")
    time.sleep(0.2)
    frame = datagram(pair, False, "192.0.2.7")
    with Wire(pair.b, promiscuous=True) as at_b, Wire(pair.a) as at_a:
        at_a.send(frame)
        got = at_b.receive(lambda p: b"flow-test" in bytes(p), 1)
    assert got and bytes(got[0]) == bytes(frame)
    miss("route")
    wait_for(lambda: " 1 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False), 5, "routed")
    assert len(entries(pair.router)) == 1, "a reload keeps entries"


def test_entries_go_with_their_times(lab):
    pair = flows_bed(lab)
    flow(pair.router, "add from 10.1.0.1 to 10.2.0.1 idle_s 2 drop")
    flow(pair.router, "add from 10.1.0.2 hard_s 1 drop")
    assert len(entries(pair.router)) == 2
    pinging = pair.a.start("ping -n -i 0.3 10.2.0.1")
    time.sleep(4)
    left = entries(pair.router)
    assert [entry["match"]["from"] for entry in left] == ["10.1.0.1"], left
    assert left[0]["packets"] > 5 and left[0]["unused_s"] <= 2, left
    pinging.terminate()
    wait_for(lambda: not entries(pair.router), 6, "the idle one goes")
    assert pair.router.get("/v1/flows")["expired"] == 2
    pair.a.ping("10.2.0.1", count=2)


def test_a_hundred_thousand_lines_and_a_full_table(lab):
    pair = flows_bed(lab, {"flows": {"interfaces": ["a0"], "entries": 100_000}})
    lines = "".join(f"from 10.9.{i >> 8 & 255}.{i & 255} to 10.{i >> 16}.0.9 protocol udp sport 7 dport 9 "
                    "priority 3 drop\n" for i in range(100_000))
    started = time.monotonic()
    status, answer = pair.router.request("POST", "/v1/flows/load", lines)
    took = time.monotonic() - started
    assert status == 200 and answer["flows"] == 100_000, answer
    assert took < 20, took
    pair.a.ping("10.2.0.1", count=2)
    full = pair.router.cli("flow", "add", "from", "10.1.0.1", "drop", check=False)
    assert full == ("hecto: flows: the table is full: it has 100000 entries; raise flows.entries, or "
                    "delete some\n"), full
    listed, after = 0, ""
    while True:
        page = pair.router.get(f"/v1/flows?limit=10000{after}")
        listed += len(page["flows"])
        if "next" not in page:
            break
        after = "&after=" + page["next"]
    assert listed == 100_000
    pair.config["flows"]["entries"] = 200_000
    pair.router.write(pair.config)
    pair.router.cli("reload")
    wait_for(lambda: pair.router.get("/v1/flows")["entries"] == {"ipv4": 0, "ipv6": 0}, 5,
             "another size begins empty")
    assert pair.router.cli("flow", "delete", "--all") == "0 changed, 0 entries now\n"


def test_what_is_wrong_is_told_in_one_line(lab):
    pair = flows_bed(lab)
    for words, line in (
            ("add from 10.1.0.1 output c0",
             "there is no interface c0; use a port, PORT.ID or PORT.OUTER.ID"),
            ("add from 10.1.0.1 dprot 3 drop", '"dprot" is not known here; did you mean dport?'),
            ("delete from 10.1.0.1", "flows: there is no entry of this match")):
        out = pair.router.cli("flow", *words.split(), check=False)
        assert out == f"hecto: {line}\n", out
    status, answer = pair.router.request("POST", "/v1/flows",
                                         ["from 10.1.0.1 drop", "from 10.1.0.2 output c0"])
    assert status == 409 and answer["error"].startswith("[1]: there is no interface c0"), answer
    assert not entries(pair.router), "all or none"


def test_off_the_table_says_so(lab):
    pair = make_pair(lab)
    assert "is off" in pair.router.cli("show", "flows")
    out = pair.router.cli("flow", "add", "from", "10.1.0.1", "drop", check=False)
    assert "name interfaces under `flows` in the file" in out, out
