"""Macvlans over hectod's twins, with the address that VRRP's routers share (RFC 5798 section 7.3)."""

import lab as labs

COUNT = 40
ADDRESS, MAC = "10.1.0.250", "00:00:5e:00:01:33"


def interfaces(bed):
    return {i["name"]: i for i in bed.api("interfaces")["interfaces"]}


def neighbor(bed, port, address):
    return bed.hosts[port].sh(f"ip neigh show {address}")


def test_first_hop_of_a_macvlan(bed):
    """The hosts' first hop moves to the shared address: it answers, and what it forwards goes the fast way."""
    red = bed.hosts["rl0"]
    bed.linux("ip link add vrrp51 link rl0 type macvlan mode bridge")
    try:
        bed.linux(f"ip link set vrrp51 address {MAC} master red")
        # As keepalived sets them.
        bed.linux("sysctl -qw net.ipv4.conf.vrrp51.rp_filter=0 net.ipv4.conf.rl0.arp_ignore=1 "
                  "net.ipv4.conf.vrrp51.accept_local=1")
        bed.linux(f"ip address add {ADDRESS}/32 dev vrrp51")
        bed.linux("ip link set vrrp51 up")
        labs.wait_for(lambda: interfaces(bed).get("vrrp51", {}).get("up"), 10, "it is an interface")
        shown = interfaces(bed)["vrrp51"]
        assert shown["mac"] == MAC and shown["macvlan_of"] == "rl0" and shown["port"] == "rl0", shown
        labs.wait_for(lambda: bed.ping("rl0", ADDRESS, 3) == 3, 10, "its address answers")
        assert MAC in neighbor(bed, "rl0", ADDRESS)
        red.sh(f"ip route replace default via {ADDRESS}")
        labs.wait_for(lambda: bed.ping("rl0", "10.2.0.1", 2) == 2, 10, "packets pass")
        came, punted = bed.came("rr0"), bed.totals()["punted"]
        assert bed.ping("rl0", "10.2.0.1", COUNT) == COUNT
        assert bed.came("rr0") - came == COUNT
        assert bed.totals()["punted"] - punted < COUNT / 2, "by the fast path"
        # Of the other customer nobody has it.
        assert bed.ping("bl0", ADDRESS, 2) == 0
        # A backup's macvlan is down: what is for its address is for somebody else.
        bed.linux("ip link set vrrp51 down")
        labs.wait_for(lambda: not interfaces(bed)["vrrp51"]["up"], 10, "it is down")
        before = bed.drops("not_for_us")
        assert bed.ping("rl0", "10.2.0.1", 5) == 0
        assert bed.drops("not_for_us") - before >= 5
    finally:
        red.sh("ip route replace default via 10.1.0.254")
        bed.linux("ip link del vrrp51")
    labs.wait_for(lambda: "vrrp51" not in interfaces(bed), 10, "it is gone")
    assert bed.ping("rl0", "10.2.0.1", 3) == 3


def test_vlan_device_with_an_address_of_its_own(bed):
    mac = "02:00:00:00:77:01"
    bed.linux("ip link add rl0.7 link rl0 type vlan id 7")
    try:
        bed.linux(f"ip link set rl0.7 address {mac} up")
        labs.wait_for(lambda: interfaces(bed).get("rl0.7", {}).get("mac") == mac, 10, "it is an interface")
    finally:
        bed.linux("ip link del rl0.7")
