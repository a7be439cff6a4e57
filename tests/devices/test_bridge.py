"""Bridges of Linux over hectod's twins.

    10.9.0.1 ── rl0 ┐
    10.9.0.2 ── rr0 ┤ lan (10.9.0.254)   hectod (guest) ── br0 ── 10.2.0.1
    10.9.0.3 ── bl0 ┘
"""

import json
import subprocess
import time

import pytest

import bed as beds
import lab as labs
import uml

COUNT = 40
MOST = 300  # stations behind a port
# Frames from so many stations that nobody has heard of, to one that nobody has heard of.
FLOOD = """
import socket, sys, time
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind((sys.argv[1], 0))
for _ in range(4):
    for i in range(2000):
        if i % 20 == 0: time.sleep(0.01)
        s.send(bytes([2, 0xbb, 0, 0, 0, 1, 2, 0xaa, 0, 0, i >> 8, i & 255, 8, 0]) + bytes(50))
"""
# A cable between two ports of one bridge.
LOOP = """
import os, select, socket, sys, time
def open_in(space, name):
    os.setns(os.open("/run/netns/" + space, os.O_RDONLY), 0x40000000)
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); s.bind((name, 0))
    return s
a, b = open_in(*sys.argv[1:3]), open_in(*sys.argv[3:5])
end = time.time() + 6
while time.time() < end:
    for one in select.select([a, b], [], [], 0.1)[0]:
        frame, address = one.recvfrom(2000)
        if address[2] != socket.PACKET_OUTGOING:
            (b if one is a else a).send(frame)
"""
LAN = {"rl0": 1, "rr0": 2, "bl0": 3}


@pytest.fixture(scope="module")
def lan():
    reason = uml.missing()
    if reason:
        pytest.skip(reason)
    bed = beds.Bed()
    try:
        bed.boot({"bridge_stations_per_port": MOST})
        bed.linux("ip link add lan type bridge forward_delay 0")
        bed.linux("ip link set lan up")
        for port, number in LAN.items():
            host = bed.hosts[port]
            host.sh(f"ip address flush dev {port}")
            host.sh(f"ip address add 10.9.0.{number}/24 dev {port}")
            host.sh(f"ip -6 address add fd00:9::{number}/64 dev {port} nodad")
            host.sh("ip route add default via 10.9.0.254")
            host.sh("ip -6 route replace default via fd00:9::fe")
            bed.linux(f"ip link set {port} master lan")
        bed.linux("ip address add 10.9.0.254/24 dev lan")
        bed.linux("ip -6 address add fd00:9::fe/64 dev lan nodad")
        bed.linux("ip address add 10.2.0.254/24 dev br0")
        bed.linux("ip -6 address add fd00:2::fe/64 dev br0 nodad")
        labs.wait_for(lambda: "lan" in interfaces(bed), 10, "lan is an interface")
        yield bed
    except BaseException:
        print(bed.guest.console())
        raise
    finally:
        bed.close()


def interfaces(bed):
    return {i["name"]: i for i in bed.api("interfaces")["interfaces"]}


def mac_of(bed, port):
    return json.loads(bed.hosts[port].sh(f"ip -j link show dev {port}"))[0]["address"]


def quick(bed, source, address, count=COUNT):
    """Pings that pass, and how many packets Linux has had of them."""
    assert bed.ping(source, address, 3) > 0, bed.logs()
    punted = bed.totals()["punted"]
    passed = bed.ping(source, address, count)
    return passed, bed.totals()["punted"] - punted


def balanced(bed):
    totals = bed.totals()
    return totals["received"] + totals["injected"] == totals["transmitted"] + totals["punted"] + totals["dropped"]


def test_stations_of_a_bridge(lan):
    for source, number in (("rl0", 2), ("rr0", 3), ("bl0", 1)):
        passed, punted = quick(lan, source, f"10.9.0.{number}")
        assert passed == COUNT and punted < COUNT / 2, (punted, lan.logs())


def test_interface_of_a_bridge(lan):
    passed, punted = quick(lan, "rl0", "10.2.0.1")
    assert passed == COUNT and punted < COUNT / 2, (punted, lan.logs())
    passed, punted = quick(lan, "br0", "10.9.0.3")
    assert passed == COUNT and punted < COUNT / 2, (punted, lan.logs())
    assert lan.ping("rr0", "10.9.0.254", 5) == 5
    for source, address in (("rl0", "fd00:2::1"), ("br0", "fd00:9::3"), ("rl0", "fd00:9::2")):
        labs.wait_for(lambda: lan.ping(source, address, 2) == 2, 20, f"{address} answers {source}")
        passed, punted = quick(lan, source, address)
        assert passed == COUNT and punted < COUNT / 2, (source, address, punted, lan.logs())


def fdb(bed, port=None):
    """Linux's entries that are no addresses of its own."""
    lines = bed.linux(f"bridge fdb show br lan {f'brport {port}' if port else ''}").splitlines()
    return [line for line in lines if "permanent" not in line]


def shown(bed):
    return {bridge["name"]: bridge for bridge in bed.api("bridges")["bridges"]}["lan"]


def test_shown(lan):
    bridge = shown(lan)
    assert bridge["done_by"] == "hecto" and bridge["up"] and bridge["mtu"] == 1500, bridge
    assert {port["name"]: port["state"] for port in bridge["ports"]} == dict.fromkeys(LAN, "forwards")
    assert bridge["stations"] == len(fdb(lan)), (bridge, fdb(lan))
    assert interfaces(lan)["lan"]["port"] is None
    said = lan.guest.sh(f"{labs.HECTO} --socket /run/api.sock trace --interface lan", check=False)
    assert "name one of its ports" in said, said
    assert balanced(lan), lan.totals()


def test_a_station_moves(lan):
    """One that is heard behind another port is there."""
    ann, bob = lan.hosts["rl0"], lan.hosts["rr0"]
    mac = mac_of(lan, "rl0")
    ann.sh("ip link set rl0 down")
    bob.sh(f"ip link set rr0 address {mac}")
    bob.sh("ip address add 10.9.0.1/24 dev rr0")
    try:
        bob.sh("ping -n -q -c 1 -W 1 -I 10.9.0.1 10.9.0.3", check=False)  # which is heard
        labs.wait_for(lambda: lan.ping("bl0", "10.9.0.1", 1) == 1, 10, "it answers from there")
        passed, punted = quick(lan, "bl0", "10.9.0.1")
        assert passed == COUNT and punted < COUNT / 2, punted
    finally:
        bob.sh("ip address del 10.9.0.1/24 dev rr0")
        bob.sh("ip link set rr0 address 02:00:00:00:99:02")
        ann.sh("ip link set rl0 up")
        ann.sh("ip route replace default via 10.9.0.254")
        lan.hosts["bl0"].sh("ip neigh flush dev bl0")
    labs.wait_for(lambda: lan.ping("bl0", "10.9.0.1", 1) == 1, 10, "it is back")
    labs.wait_for(lambda: lan.ping("bl0", "10.9.0.2", 1) == 1, 10, "so is the other one")


def test_a_port_that_stp_blocks(lan):
    lan.linux("bridge link set dev rr0 state 0")
    try:
        labs.wait_for(lambda: lan.ping("rl0", "10.9.0.2", 1) == 0, 10, "nothing passes")
        before = lan.drops("bridge_blocked")
        assert lan.ping("rr0", "10.9.0.1", 5) == 0
        assert lan.drops("bridge_blocked") > before
        assert {port["name"]: port["state"] for port in shown(lan)["ports"]}["rr0"] == "blocked"
    finally:
        lan.linux("bridge link set dev rr0 state 3")
    labs.wait_for(lambda: lan.ping("rl0", "10.9.0.2", 1) == 1, 10, "it passes again")


def test_who_is_heard_does_not_age(lan):
    """The fast path hears stations that Linux does not; who is silent is forgotten."""
    lan.linux("ip link set lan type bridge ageing_time 600")
    try:
        punted = lan.totals()["punted"]
        assert lan.ping("rl0", "10.9.0.2", 300) == 300
        assert lan.totals()["punted"] - punted < 60
        assert any(mac_of(lan, "rl0") in line for line in fdb(lan)), fdb(lan)
        labs.wait_for(lambda: not fdb(lan), 40, "all are silent", 1)
        labs.wait_for(lambda: shown(lan)["stations"] == 0, 5, "and forgotten")
    finally:
        lan.linux("ip link set lan type bridge ageing_time 30000")
    assert lan.ping("rl0", "10.9.0.2", 3) == 3


def test_a_flood_of_stations_fills_no_memory(lan):
    lan.linux("bridge fdb add 02:00:00:00:77:77 dev rr0 master static")
    lan.hosts["rl0"].sh(["/usr/bin/python3", "-c", FLOOD, "rl0"])
    labs.wait_for(lambda: lan.drops("bridge_full") > 100, 20, "no more are learned")
    assert len(fdb(lan, "rl0")) < 2 * MOST, "nor by Linux"
    assert {port["name"]: port["state"] for port in shown(lan)["ports"]}["rl0"] == "full"
    assert any("02:00:00:00:77:77" in line for line in fdb(lan, "rr0"))
    passed, punted = quick(lan, "bl0", "10.9.0.2")
    assert passed == COUNT and punted < COUNT / 2, "the others notice nothing"
    assert balanced(lan), lan.totals()
    lan.linux("ip link set rl0 type bridge_slave fdb_flush")
    lan.linux("bridge fdb del 02:00:00:00:77:77 dev rr0 master")
    labs.wait_for(lambda: lan.ping("rl0", "10.9.0.2", 1) == 1, 10, "there is room again")


def test_a_loop_does_not_starve_control(lan):
    loop = lan.hosts["rl0"].start(["/usr/bin/python3", "-c", LOOP, lan.hosts["rl0"].name, "rl0",
                                   lan.hosts["rr0"].name, "rr0"])
    try:
        lan.hosts["bl0"].sh("ip neigh flush dev bl0")
        lan.ping("bl0", "10.9.0.77", 2)  # ARP that goes round
        assert lan.ping("br0", "10.2.0.254", 20) >= 18, "the router answers elsewhere"
        begin = time.monotonic()
        lan.api("summary")
        assert time.monotonic() - begin < 5
    finally:
        loop.wait(20)
    labs.wait_for(lambda: lan.ping("bl0", "10.9.0.2", 1) == 1, 30, "when it is cut all is as before")
    assert balanced(lan), lan.totals()


def test_vlans(lan):
    """rl0 and rr0 are access ports of VLAN 10, bl0 is a trunk; lan.10 routes."""
    lan.linux("ip link set lan type bridge vlan_filtering 1")
    for command in ("bridge vlan add dev rl0 vid 10 pvid untagged", "bridge vlan del dev rl0 vid 1",
                    "bridge vlan add dev rr0 vid 10 pvid untagged", "bridge vlan del dev rr0 vid 1",
                    "bridge vlan add dev bl0 vid 10", "bridge vlan del dev bl0 vid 1",
                    "bridge vlan add dev lan vid 10 self", "ip link add link lan name lan.10 type vlan id 10",
                    "ip address del 10.9.0.254/24 dev lan", "ip address add 10.9.0.254/24 dev lan.10",
                    "ip link set lan.10 up"):
        lan.linux(command)
    labs.wait_for(lambda: "lan.10" in interfaces(lan), 10, "lan.10 is an interface")
    labs.wait_for(lambda: lan.ping("rl0", "10.9.0.254", 1) == 1, 10, "it answers")
    for address in ("10.9.0.2", "10.2.0.1"):
        passed, punted = quick(lan, "rl0", address)
        assert passed == COUNT and punted < COUNT / 2, (address, punted, lan.logs())
    # Untagged frames are of no VLAN of the trunk's.
    before = lan.drops("bridge_vlan")
    assert lan.ping("bl0", "10.9.0.1", 5) == 0
    assert lan.drops("bridge_vlan") > before
    # Tagged ones cross, and come back tagged.
    trunk = lan.hosts["bl0"]
    heard = trunk.start("timeout 20 tcpdump -nn -e -l -c 3 -i bl0 vlan 10 and icmp", stdout=subprocess.PIPE,
                        text=True)
    time.sleep(2)
    frames = ("from scapy.all import *\n"
              f"f=Ether(src='{mac_of(lan, 'bl0')}',dst='{mac_of(lan, 'rl0')}')/Dot1Q(vlan=10)/"
              "IP(src='10.9.0.3',dst='10.9.0.1')/ICMP()\n"
              "a=Ether(src=f.src,dst='ff:ff:ff:ff:ff:ff')/Dot1Q(vlan=10)/ARP(op=1,hwsrc=f.src,psrc='10.9.0.3',"
              "pdst='10.9.0.1')\n"
              "sendp([a,a]+[f]*10,iface='bl0',inter=0.1,verbose=0)\n")
    came = lan.came("rl0")
    trunk.sh(["/usr/bin/python3", "-c", frames])
    assert lan.came("rl0") - came == 10
    assert "vlan 10" in heard.communicate(timeout=30)[0]
    assert balanced(lan), lan.totals()


def test_a_bridge_that_goes_leaves_routed_ports(lan):
    lan.linux("ip link del lan.10")
    lan.linux("ip link del lan")
    labs.wait_for(lambda: "lan" not in interfaces(lan), 10, "it is gone")
    lan.linux("ip address add 10.9.0.254/24 dev rl0")
    lan.hosts["rl0"].sh("ip neigh flush dev rl0")  # of lan's MAC
    labs.wait_for(lambda: lan.ping("rl0", "10.2.0.1", 1) == 1, 20, "rl0 routes")
    passed, punted = quick(lan, "rl0", "10.2.0.1")
    assert passed == COUNT and punted < COUNT / 2
    assert lan.api("bridges") == {"bridges": []}
