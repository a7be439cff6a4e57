"""What people and daemons do to the router's devices by mistake: noticed, mended or said."""

import json
import os
import time
from pathlib import Path

import pytest

from conftest import PORTS, make_pair
from lab import sh, wait_for
from test_changes import port
from test_ports import reload, with_c


def warnings(pair):
    return " ".join(pair.router.get("/v1/summary")["warnings"])


def trouble(pair, name="b0"):
    return " ".join(port(pair, name)["trouble"])


def twin(pair, name="b0"):
    """What Linux says of it; None: it is not there."""
    links = json.loads(pair.router.linux_sh("ip -json address show"))
    return next((link for link in links if link["ifname"] == name), None)


def reaches(pair, address="10.2.0.1"):
    return " 1 received" in pair.a.ping(address, count=1, timeout=1, ok=False)


def fds(pair, kind=""):
    names = []
    for entry in Path(f"/proc/{pair.router.process.pid}/fd").iterdir():
        try:
            names.append(os.readlink(entry))
        except OSError:
            pass
    return sorted(name for name in names if kind in name)


# --- twins

def test_a_twin_that_is_renamed_gets_its_name_back(pair):
    pair.router.linux_sh("ip link set dev b0 name surprise")
    wait_for(lambda: twin(pair) is not None and twin(pair, "surprise") is None, 10, "its name")
    assert "renamed to surprise" in warnings(pair)
    wait_for(lambda: reaches(pair) and reaches(pair, "10.2.0.254"), 10, "it routes")
    assert trouble(pair) == ""


def test_a_twin_with_another_mac_gets_its_own_back(pair):
    before = twin(pair)["address"]
    pair.router.linux_sh("ip link set dev b0 address 02:de:ad:be:ef:01")
    wait_for(lambda: twin(pair)["address"] == before, 10, "its MAC")
    assert "02:de:ad:be:ef:01" in warnings(pair)
    wait_for(lambda: reaches(pair), 10, "it routes")


@pytest.mark.parametrize("how", ["deleted", "moved"])
def test_a_twin_that_is_gone_is_made_again(lab, how):
    """With the addresses and the routes of the file; no packet goes to where it was moved."""
    pair = make_pair(lab, {"routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"}]})
    wait_for(lambda: reaches(pair), 10, "it routes")
    before = twin(pair)["ifindex"]
    elsewhere = lab.namespace("elsewhere")
    if how == "deleted":
        pair.router.linux_sh("ip link del b0")
    else:
        pair.router.linux_sh(["ip", "link", "set", "dev", "b0", "netns", elsewhere.name])
    wait_for(lambda: twin(pair) and twin(pair)["ifindex"] != before
             and "10.2.0.254" in json.dumps(twin(pair)), 10, "it is there again")
    wait_for(lambda: "10.9.0.0/16" in pair.router.linux_sh("ip route show proto 100"), 10,
             "and its route")
    wait_for(lambda: "b0" not in elsewhere.sh("ip -brief link"), 10, "the old one is gone")
    assert "interface b0" in warnings(pair)
    wait_for(lambda: reaches(pair) and reaches(pair, "10.2.0.254"), 10, "it routes")
    assert trouble(pair) == ""
    for _ in range(3):
        pair.a.ping("10.2.0.1")


def test_a_twin_that_somebody_keeps_deleting(pair):
    """A fight is not fought at full speed, and ends well when the other side stops."""
    index, deleted = twin(pair)["ifindex"], 0
    end = time.monotonic() + 4
    while time.monotonic() < end:
        if twin(pair) is not None:
            pair.router.linux_sh("ip link del b0", check=False)
            deleted += 1
        time.sleep(0.02)
    assert 2 <= deleted < 12, deleted
    pair.a.ping("10.1.0.254")
    wait_for(lambda: twin(pair) is not None and twin(pair)["ifindex"] != index, 20, "it is back")
    wait_for(lambda: reaches(pair), 20, "it routes")


def test_a_twin_set_down_is_said(pair):
    pair.router.linux_sh("ip link set b0 down")
    wait_for(lambda: "set down in Linux" in trouble(pair), 5, "show ports says so")
    assert "set down in Linux" in pair.router.cli("show", "ports")
    pair.router.linux_sh("ip link set b0 up")
    wait_for(lambda: trouble(pair) == "", 5, "no longer")
    wait_for(lambda: reaches(pair), 10, "it routes")


def test_a_foreign_device_of_a_twins_name_is_not_taken(lab):
    """A persistent TAP called b0 waits in the namespace: hectod says so and does not adopt it."""
    pair = make_pair(lab, start=False)
    sh(["ip", "netns", "add", pair.router.linux])
    lab.cleanups.append(lambda: sh(["ip", "netns", "del", pair.router.linux], check=False))
    pair.router.linux_sh("ip tuntap add dev b0 mode tap")
    pair.router.write(pair.config)
    pair.router.launch()
    assert pair.router.process.wait(30) == 1
    errors = [line for line in pair.router.log().splitlines() if " error" in line]
    assert len(errors) == 1 and "TAP b0" in errors[0] and "in use" in errors[0], errors
    assert twin(pair) is not None
    pair.router.process = None
    pair.router.linux_sh("ip link del b0")
    pair.router.launch()
    pair.router.wait_ready()


# --- devices

def test_a_kernel_interface_deleted_and_made_again(pair):
    """The port is opened anew; the twin stays, with what others have put there."""
    index = twin(pair)["ifindex"]
    pair.router.linux_sh("ip address add 10.77.0.1/24 dev b0")
    pair.router.space.sh("ip link del vb")
    wait_for(lambda: "vb is gone" in trouble(pair) and not port(pair, "b0")["link"]["up"], 10, "said")
    sh(["ip", "link", "add", "e0", "netns", pair.b.name, "type", "veth",
        "peer", "name", "vb", "netns", pair.router.space.name])
    pair.b.sh("ethtool -K e0 tx off", check=False)
    pair.b.sh("ip link set e0 up")
    pair.b.sh("ip address add 10.2.0.1/24 dev e0")
    pair.b.sh("ip route add default via 10.2.0.254")
    wait_for(lambda: port(pair, "b0")["link"]["up"] and trouble(pair) == "", 20, "the port is back")
    wait_for(lambda: reaches(pair), 20, "it routes")
    assert "vb is back and used again" in warnings(pair)
    assert twin(pair)["ifindex"] == index
    assert "10.77.0.1" in json.dumps(twin(pair))
    assert twin(pair)["address"] == port(pair, "b0")["mac"]
    pair.a.ping("10.2.0.1", count=5)


@pytest.mark.parametrize("mtu", [1500, 9000], ids=["af_xdp", "af_packet"])
def test_ports_that_come_and_go_leave_nothing_open(lab, mtu):
    """20 times the same port: as many descriptors after as before, and no buffer missing."""
    pair = make_pair(lab, {"memory": "1GiB"} if mtu > 1500 else None)
    pair.lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"], mtu=mtu)
    driver = "net_af_xdp" if mtu == 1500 else "net_af_packet"

    def cycle():
        reload(pair, with_c(pair, mtu=mtu))
        assert port(pair, "c0")["driver"] == driver, port(pair, "c0")["refused"]
        reload(pair, pair.config)
    cycle()
    before = fds(pair)
    bpf = fds(pair, "bpf")
    buffers = sum(pool["in_use"] for pool in pair.router.get("/v1/pools")["pools"])
    for _ in range(20):
        cycle()
    now = fds(pair)
    assert fds(pair, "bpf") == bpf
    assert len(now) <= len(before) + 2, f"{len(before)} -> {len(now)}: {now}"  # API's connections
    wait_for(lambda: sum(pool["in_use"] for pool in pair.router.get("/v1/pools")["pools"])
             < buffers + 64, 5, "the buffers are back")
    wait_for(lambda: reaches(pair), 10, "it routes")


# --- routes of an earlier run

def test_an_old_route_does_not_beat_the_new_one(lab):
    """A blackhole that an earlier run left in the kernel, and the file now says via."""
    pair = make_pair(lab, {"routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"}]}, start=False)
    sh(["ip", "netns", "add", pair.router.linux])
    lab.cleanups.append(lambda: sh(["ip", "netns", "del", pair.router.linux], check=False))
    for route in ("blackhole 10.9.0.0/16 proto 100", "unreachable 10.8.0.0/16 proto 100",
                  "blackhole 10.7.0.0/16 proto 99"):
        pair.router.linux_sh(f"ip route add {route}")
    pair.router.linux_sh("ip -6 route add unreachable fd00:8::/32 proto 100")
    pair.b.sh("ip address add 10.9.0.1/32 dev lo")
    pair.router.start(pair.config)
    wait_for(lambda: reaches(pair, "10.9.0.1"), 10, "by the fast path")
    ours = pair.router.linux_sh("ip route show proto 100")
    assert "10.9.0.0/16 via 10.2.0.1" in ours and "blackhole" not in ours, ours
    assert "10.8.0.0/16" not in ours, ours
    assert "fd00:8::/32" not in pair.router.linux_sh("ip -6 route show proto 100")
    assert "10.7.0.0/16" in pair.router.linux_sh("ip route show proto 99"), "somebody else's"
    assert "3 routes of an earlier run are removed" in pair.router.log()


# --- reload

def test_a_reload_with_several_mistakes_names_all_and_touches_nothing(pair):
    wrong = {**pair.config,
             "ports": {**PORTS, "x0": {"device": "nothere0"}, "y0": {"device": "nothere1"}},
             "routes": [{"to": "10.9.0.0/16", "via": "172.16.0.1"}],
             "route_files": ["nowhere.txt"]}
    before = pair.router.linux_sh("ip -details address show")
    pair.router.write(wrong)
    out = pair.router.cli("reload", check=False)
    for word in ("nothere0", "nothere1", "172.16.0.1", "nowhere.txt"):
        assert word in out, out
    assert pair.router.linux_sh("ip -details address show") == before
    pair.a.ping("10.2.0.1")
