"""What is at the other end of a bond: silent, foreign, forged, flapping, or Open vSwitch."""

import os
import shutil
import time
from types import SimpleNamespace

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from bonds import (answer, bond, cable, in_counts, lacpdu, make_two, member, passes, start_alone,
                   wait_active)
from lab import sh, wait_for
from stream import Stream
from switch import Switch
from wire import Wire


def test_partner_without_lacp(lab):
    router, hosts = start_alone(lab, lacp_rate="fast")
    hosts[0].sh("ip addr add 10.9.0.9/24 dev e0")
    time.sleep(4)
    shown = bond(router)
    assert not shown["up"] and shown["active"] == 0
    for each in shown["members"]:
        assert each["state"] == "waits" and "no LACP heard" in each["trouble"][0]
    hosts[0].ping("10.9.0.1", count=1, timeout=1, ok=False)
    assert "! m0: no LACP heard" in router.cli("show", "bonds")
    # And Linux knows.
    assert "NO-CARRIER" in router.linux_sh("ip link show uplink")


@pytest.mark.parametrize("stray", [1, 0], ids=["second", "heard first"])
def test_member_that_leads_elsewhere_stays_out(lab, stray):
    router, hosts = start_alone(lab, members=3, lacp_rate="fast")
    here, there = "02:00:00:00:99:01", "02:00:00:00:99:02"
    answer(hosts[:1], [there if stray == 0 else here], 1)
    answer(hosts, [there if i == stray else here for i in range(3)], 7)
    shown = bond(router)
    assert [m["state"] for m in shown["members"]] == \
        ["waits" if i == stray else "active" for i in range(3)], shown
    assert shown["members"][stray]["trouble"] == [f"leads to system {there}, the others to {here}"]
    assert shown["members"][2]["lacp"]["partner"]["key"] == 7


def test_cut_and_forged_lacpdus(lab):
    router, hosts = start_alone(lab, lacp_rate="fast")
    system = "02:00:00:00:99:01"
    answer(hosts, [system] * 2, 6)
    assert bond(router)["active"] == 2
    with Wire(hosts[0]) as wire:
        for bytes_ in (15, 20, 60, 100, 123):  # cut
            wire.send(lacpdu(system, 7, 1, 0x3f, bytes_=bytes_))
            time.sleep(0.15)  # one in a round is looked at
        for _ in range(200):  # and many, of another system
            wire.send(lacpdu("02:00:00:00:66:66", 9, 5, 0x3f))
        wire.send(bytes.fromhex("0180c2000002020000000001") + b"\x88\x09\x02" + os.urandom(109))
        wire.send(bytes.fromhex("0180c2000002020000000001") + b"\x88\x09\xff" + os.urandom(109))
    answer(hosts, [system] * 2, 3)
    shown = bond(router)
    assert shown["members"][0]["lacp"]["damaged"] >= 4
    assert shown["members"][1]["state"] == "active" and shown["members"][1]["changes"] == 0
    answer(hosts, [system] * 2, 6)
    assert bond(router)["active"] == 2


def test_flapping_member_is_told(lab):
    bed = make_two(lab, lacp_rate="fast")
    wait_active(bed.r1, 2)
    passes(bed)
    with Stream(bed.a, bed.b, "10.2.0.1", rate=1000) as stream:
        for _ in range(12):
            bed.r2.space.sh("ip link set m1 down")
            time.sleep(0.15)
            bed.r2.space.sh("ip link set m1 up")
            time.sleep(0.25)
    wait_active(bed.r1, 2)
    for _ in range(2):
        bed.r2.space.sh("ip link set m1 down")
        wait_active(bed.r1, 1)
        bed.r2.space.sh("ip link set m1 up")
        wait_active(bed.r1, 2)
    shown = member(bed.r1, "m1")
    assert shown["changes"] >= 4 and shown["last_change_s"] < 30
    assert any(line.startswith("flaps: in and out") for line in shown["trouble"])
    assert member(bed.r1, "m0")["changes"] == 0
    assert stream.lost <= stream.sent * 0.2


# --- Open vSwitch, a bond of somebody else's ---

@pytest.mark.skipif(shutil.which("ovs-vswitchd") is None, reason="no Open vSwitch (openvswitch-switch)")
@pytest.mark.parametrize("rate", ["fast", "slow"])
def test_open_vswitch_is_the_partner(lab, rate, capsys):
    router = lab.router()
    switch = Switch(lab, "ovs")
    for name in ("m0", "m1"):
        cable(router.space, name, switch.space, name)
    a = lab.host("a", router.space, "va", ["10.1.0.1/24"], ["10.1.0.254"])
    b = lab.host("b", switch.space, "h0", ["10.9.0.2/24"], ["10.9.0.1"])
    switch.vsctl("add-bond", "br0", "bond0", "m0", "m1", "bond_mode=balance-tcp", "lacp=active",
                 f"other_config:lacp-time={rate}")
    switch.vsctl("add-port", "br0", "h0")
    router.start({"ports": {"a0": {"device": "va", "addresses": ["10.1.0.254/24"]},
                            "uplink": {"bond": {"members": ["m0", "m1"], "lacp_rate": rate},
                                       "addresses": ["10.9.0.1/24"]}}})
    wait_active(router, 2, 40)
    told = switch.show("lacp/show", "bond0")
    assert told.count("current attached") == 2 and "lacp_status: negotiated" in \
        switch.show("bond/show", "bond0"), told
    assert bond(router)["mac"] in told, told
    for each in bond(router)["members"]:
        assert each["lacp"]["partner"]["rate"] == rate
    wait_for(lambda: a.ping("10.9.0.2", count=1, timeout=1), 10, "packets pass")
    bed = SimpleNamespace(r1=router, a=a, b=b)
    before = in_counts(switch.space, ["m0", "m1"])
    mac = next(p["mac"] for p in router.get("/v1/ports")["ports"] if p["name"] == "a0")
    with Wire(a) as wire, Wire(b) as far:
        for number in range(256):
            wire.send(Ether(dst=mac) / IP(src="10.1.0.1", dst="10.9.0.2")
                      / UDP(sport=10_000 + number, dport=7) / b"balance")
        assert len(far.receive(lambda f: UDP in f and f[UDP].dport == 7, 256, 5)) == 256
    shares = [now - was for now, was in zip(in_counts(switch.space, ["m0", "m1"]), before)]
    assert min(shares) >= 64, shares
    with Stream(a, b, "10.9.0.2", rate=2000) as stream:
        time.sleep(0.5)
        router.space.sh("ip link set m0 down")
        time.sleep(1)
    with capsys.disabled():
        print(f"\nOpen vSwitch, {rate}: m0 dies: {stream.lost} of {stream.sent} packets lost", end=" ")
    assert stream.lost <= 2000 * 0.06, stream.gaps
    router.space.sh("ip link set m0 up")
    wait_active(router, 2, 40)
