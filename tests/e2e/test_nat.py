"""NAT: hosts inside (a) and outside (b), who see what they should, by one worker and by two."""

import json
import re
import subprocess
import time

import pytest

from conftest import make_pair
from lab import wait_for

POOL = "203.0.113.0/30"

# Answers each datagram, or connection, with who sent it.
MIRROR = """
import json, socket, sys, threading
def udp():
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind(("", 7000))
    while True:
        data, peer = s.recvfrom(65536)
        s.sendto(json.dumps([*peer, len(data)]).encode(), peer)
threading.Thread(target=udp, daemon=True).start()
s = socket.create_server(("", 7000))
print("ready", flush=True)
while True:
    c, peer = s.accept()
    c.sendall(json.dumps([*peer]).encode())
    c.close()
"""
# From a port of its own to each of these; what they say of it.
ASK = """
import json, socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2)
s.bind(("", int(sys.argv[1])))
said = []
for peer in sys.argv[3:]:
    host, port = peer.split(":")
    s.sendto(b"x" * int(sys.argv[2]), (host, int(port)))
    try:
        said.append(json.loads(s.recv(65536)))
    except TimeoutError:
        said.append(None)
print(json.dumps(said))
"""
TCP = """
import json, socket, sys
c = socket.create_connection((sys.argv[1], 7000), timeout=5)
print(c.recv(1000).decode())
"""
# A datagram to somebody's port, from port 4444; and who listens on one, with what it got.
SEND = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("", 4444))
s.sendto(b"hello", (sys.argv[1], int(sys.argv[2])))
"""
LISTEN = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(float(sys.argv[3]))
s.bind(("", int(sys.argv[1])))
host, port = sys.argv[2].split(":")
s.sendto(b"open", (host, int(port)))
print("ready", flush=True)
try:
    while True:
        data, peer = s.recvfrom(1000)
        print(data.decode(), *peer, flush=True)
except TimeoutError:
    pass
"""


def python(code, *arguments):
    return ["/usr/bin/python3", "-c", code, *arguments]


def pool(**more):
    return {"pools": {"main": {"addresses": [POOL], "sessions": 4096, **more}},
            "rules": [{"inside": "10.1.0.0/24", "pool": "main", "out": "b0"}]}


@pytest.fixture(params=[1, 2], ids=["1 worker", "2 workers"])
def bed(lab, request):
    made = make_pair(lab, {"nat": pool(), "workers": {0: list(range(request.param))}})
    made.mirror = made.b.start(python(MIRROR), stdout=subprocess.PIPE, text=True)
    made.mirror.stdout.readline()
    return made


def ask(bed, port, *peers, size=10):
    return json.loads(bed.a.sh(python(ASK, port, size, *peers)))


def inside_pool(address):
    return address.startswith("203.0.113.")


def test_hosts_inside_have_the_pools_addresses(bed):
    """The first packets, too, for whose sake Linux looks for the neighbor."""
    bed.a.ping("10.2.0.1", count=1, ok=False)
    address, port = json.loads(bed.a.sh(python(TCP, "10.2.0.1")))
    assert inside_pool(address) and port >= 1024
    bed.a.ping("10.2.0.1")
    bed.a.ping("10.2.0.1", "-s", "4000", "-M", "dont", count=3)  # fragments, both ways
    said = ask(bed, 5000, "10.2.0.1:7000", "10.2.0.1:7000")
    assert said[0] == said[1] and inside_pool(said[0][0]), "one mapping towards all"
    assert ask(bed, 5000, "10.2.0.1:7000", size=4000)[0][1:] == [said[0][1], 4000]
    shown = bed.router.get("/v1/nat")
    assert shown["pools"][0]["sessions"]["now"] >= 3 and shown["pools"][0]["hosts"] == 1, shown
    text = bed.router.cli("show", "nat")
    assert "pool main" in text and POOL in text, text
    wait_for(lambda: "to 10.1.0.1" in bed.router.log(), 3, "the log says who has the block")
    assert re.search(r"nat: block 203\.0\.113\.\d:\d+-\d+ to 10\.1\.0\.1", bed.router.log())
    bed.router.check_balance()


def test_first_packet_is_not_seen_untranslated(bed):
    seen = bed.b.start("tcpdump -n -i e0 -c 200 --immediate-mode ip", stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    bed.a.ping("10.2.0.1", count=3, ok=False)
    said = ask(bed, 5001, "10.2.0.1:7000")
    time.sleep(0.3)
    seen.terminate()
    text = seen.communicate()[0]
    assert said[0] and "203.0.113." in text
    assert "10.1.0.1" not in text, text


def test_traceroute_through_it(bed):
    """The router answers with its inside address, the far host about what was really sent."""
    ask(bed, 5002, "10.2.0.1:7000")
    out = bed.a.sh("traceroute -n -w 2 -q 2 10.2.0.1", timeout=60)
    assert re.search(r"^ 1 .*10\.1\.0\.254", out, re.M) and re.search(r"^ 2 .*10\.2\.0\.1", out, re.M), out
    out = bed.a.sh("traceroute -n -I -w 2 -q 2 10.2.0.1", timeout=60)
    assert re.search(r"^ 2 .*10\.2\.0\.1", out, re.M), out


def test_who_was_not_asked_is_refused(bed):
    ask(bed, 5003, "10.2.0.1:7000")
    before = bed.router.dropped("nat_no_session")
    for port in (1030, 2000, 60000):
        bed.b.sh(python(SEND, "203.0.113.1", port))
    wait_for(lambda: bed.router.dropped("nat_no_session") == before + 3, 3, "they are counted")
    assert bed.router.get("/v1/nat")["pools"][0]["refused"]["nat_no_session"] >= 3
    bed.router.check_balance()


@pytest.mark.parametrize("filtering", ["endpoint-independent", "address-dependent"])
def test_filtering(lab, filtering):
    bed = make_pair(lab, {"nat": pool(filtering=filtering)})
    bed.b.sh("ip address add 10.2.0.7/24 dev e0")
    bed.mirror = bed.b.start(python(MIRROR), stdout=subprocess.PIPE, text=True)
    bed.mirror.stdout.readline()
    address, port, _ = ask(bed, 5004, "10.2.0.1:7000")[0]
    listener = bed.a.start(python(LISTEN, 5004, "10.2.0.1:9", 2), stdout=subprocess.PIPE, text=True)
    listener.stdout.readline()
    stranger = SEND.replace('("", 4444)', '("10.2.0.7", 4444)')
    bed.b.sh(python(stranger, address, port))
    bed.b.sh(python(SEND.replace('("", 4444)', '("10.2.0.1", 4444)'), address, port))
    got = listener.communicate(timeout=10)[0]
    assert "hello 10.2.0.1 4444" in got, got
    assert ("hello 10.2.0.7 4444" in got) == (filtering == "endpoint-independent"), got


def test_hairpin(bed):
    address, port, _ = ask(bed, 5005, "10.2.0.1:7000")[0]
    listener = bed.a.start(python(LISTEN, 5005, "10.2.0.1:9", 2), stdout=subprocess.PIPE, text=True)
    listener.stdout.readline()
    bed.a.sh(python(SEND, address, port))
    got = listener.communicate(timeout=10)[0]
    found = re.search(r"hello (\S+) (\d+)", got)
    assert found and inside_pool(found[1]) and found[2] != "4444", got


def test_the_routers_own_address_is_shared_with_linux(lab):
    nat = pool()
    nat["pools"]["main"]["addresses"] = ["10.2.0.254"]
    bed = make_pair(lab, {"nat": nat})
    bed.mirror = bed.b.start(python(MIRROR), stdout=subprocess.PIPE, text=True)
    bed.mirror.stdout.readline()
    bed.a.ping("10.2.0.1", count=1, ok=False)
    bed.a.ping("10.2.0.1")
    said = ask(bed, 5006, "10.2.0.1:7000")[0]
    assert said[0] == "10.2.0.254" and 8192 <= said[1] <= 32767
    bed.b.ping("10.2.0.254", count=3)
    bed.a.ping("10.1.0.254", count=3)
    bed.router.linux_sh("ping -n -c 2 -W 2 10.2.0.1")
    assert json.loads(bed.a.sh(python(TCP, "10.2.0.1")))[0] == "10.2.0.254"


def test_one_to_one_both_ways(lab):
    bed = make_pair(lab, {"nat": {"rules": [
        {"inside": "10.1.0.0/24", "outside": "203.0.113.0/24", "out": "b0"},
        {"inside": "fd00:1::/64", "outside": "2001:db8:9:9::/64", "out": "b0"}]}})
    bed.mirror = bed.b.start(python(MIRROR), stdout=subprocess.PIPE, text=True)
    bed.mirror.stdout.readline()
    bed.a.ping("10.2.0.1", count=1, ok=False)
    bed.a.ping("10.2.0.1")
    assert ask(bed, 5007, "10.2.0.1:7000", size=3000)[0][:2] == ["203.0.113.1", 5007]
    assert json.loads(bed.a.sh(python(TCP, "10.2.0.1")))[0] == "203.0.113.1"
    bed.b.ping("203.0.113.1", count=1, ok=False)
    bed.b.ping("203.0.113.1")
    out = bed.b.sh("traceroute -n -w 2 -q 2 203.0.113.1", timeout=60)
    assert re.search(r"^ 2 .*203\.0\.113\.1", out, re.M), out
    bed.a.ping("fd00:2::1", count=1, ok=False)
    bed.a.ping("fd00:2::1")
    seen = bed.b.start("tcpdump -n -i e0 -c 2 --immediate-mode icmp6[0]=128", stdout=subprocess.PIPE, text=True)
    time.sleep(0.5)
    bed.a.ping("fd00:2::1", count=2)
    assert "2001:db8:9:9:" in seen.communicate(timeout=10)[0]
    assert bed.router.dropped("nat_no_session") == 0
    bed.router.check_balance()


def test_reload_keeps_the_sessions_of_pools_that_stay(bed):
    said = ask(bed, 5008, "10.2.0.1:7000")
    nat = pool(udp_timeout_s=600, blocks_per_host=8)
    nat["rules"].append({"inside": "10.9.0.0/24", "outside": "198.51.100.0/24", "out": "b0"})
    bed.router.write({**bed.config, "nat": nat})
    assert "nat rule" in bed.router.cli("reload")
    assert ask(bed, 5008, "10.2.0.1:7000") == said
    bed.router.write({**bed.config, "nat": pool(block_size=256)})
    bed.router.cli("reload")
    wait_for(lambda: "pool main is another now" in bed.router.log(), 3, "the loss is told")
    assert ask(bed, 5008, "10.2.0.1:7000")[0]
    bed.router.write({**{key: each for key, each in bed.config.items() if key != "nat"}})
    bed.router.cli("reload")
    assert bed.router.get("/v1/nat") == {"rules": [], "pools": []}
    assert ask(bed, 5008, "10.2.0.1:7000")[0][0] == "10.1.0.1"
    bed.router.check_balance()
