"""Two spines, two leaves: BGP unnumbered by FRR, ECMP, BFD, drain and the loss of a spine. demo/cluster.py is its bed."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import lab as labs
from lab import BUILD, SLOWER, sh, wait_for

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "demo"))
import cluster as demo  # noqa: E402
import fabric  # noqa: E402
import picture  # noqa: E402

FLOWS, RATE = 12, 50.0  # from each host to the other; of each flow, packets a second


def skip_without_frr():
    for program in (*(fabric.FRR / d for d in fabric.DAEMONS), Path("/usr/bin/vtysh")):
        if not program.exists():
            pytest.skip(f"{program} is not installed: make deps")


@pytest.fixture(scope="module")
def bed():
    """The whole of it, for every test here: each leaves it as it found it."""
    skip_without_frr()
    limits = labs.NeighborLimits()
    with tempfile.TemporaryDirectory(prefix="hecto-e2e-") as folder:
        cluster = fabric.Cluster(BUILD, Path(folder), 2, 2, prefix=f"he{os.getpid()}-")
        try:
            cluster.make_wires()
            cluster.start()
            cluster.wait_converged(60 * SLOWER)
            cluster.talk(FLOWS, RATE / SLOWER)
            cluster.hear()
            yield cluster
        finally:
            cluster.close()
            limits.put_back()


def converged(bed, without=(), seconds=30):
    wait_for(lambda: bed.converged(without), seconds, f"routes by every spine but {without}", step=0.1)


def ways(bed):
    return demo.Demo(bed, FLOWS, screen=False).ways()


def heard(bed, seconds=1.5):
    """What came since the last time, and what is lost of it: loss shows by the packet behind it."""
    time.sleep(seconds)
    return bed.hear()


def balanced(bed, but=()):
    """Each router's received = transmitted + punted + drops, at an instant without a packet on its way."""
    for router in bed.routers:
        if router.name not in but:
            wait_for(router.balance, 20, f"{router.name} accounts for every packet", step=0.02)


def test_the_files_are_the_examples():
    """What the cluster runs with is what an operator copies: nothing is made but numbers."""
    for role, counts in (("spine", (2, 4)), ("leaf", (2, 4))):
        config, frr = fabric.files_of(role, 1, *counts)
        assert config == (fabric.EXAMPLES / role / "hecto.yaml").read_text()
        assert frr == (fabric.EXAMPLES / role / "frr.conf").read_text()
    config, frr = fabric.files_of("leaf", 3, 3, 6)
    assert "spine3: {device: eth3}" in config and "10.0.3.1/24" in config and "10.0.1." not in config
    assert "router bgp 65103" in frr and "neighbor spine3 interface peer-group spines" in frr
    config, frr = fabric.files_of("spine", 2, 3, 6)
    assert "leaf6: {device: eth6}" in config and "neighbor leaf6 interface" in frr and "leaf7" not in frr
    assert "router-id 10.255.0.2" in frr and "hostname spine2" in frr


def test_the_example_files_are_right():
    for role in ("spine", "leaf"):
        assert sh([labs.HECTO, "check", "--elsewhere", fabric.EXAMPLES / role / "hecto.yaml"]) == ""


def test_ipv4_goes_by_ipv6_next_hops_over_every_spine(bed):
    for leaf, far in (("leaf1", "2"), ("leaf2", "1")):
        for address in (f"10.0.{far}.10", f"fd00:0:{far}::10"):
            answer = bed[leaf].api.get(f"/v1/routes?address={address}")
            assert answer["candidates"][0]["protocol"] == "bgp" and answer["verdict"] == "forward", answer
            members = answer["next_hop"]["members"]
            assert {m["interface"] for m in members} == {"spine1", "spine2"}
            # Without next-hop objects zebra writes an IPv4 route's IPv6 next hop as this, and a neighbor of its MAC.
            assert {m["gateway"][:6] for m in members} <= {"fe80::", "169.25"}, members
            assert all(m["neighbor"]["mac"] if isinstance(m.get("neighbor"), dict) else m for m in members)
    for address in (bed.hosts[1].address, "fd00:0:2::10"):
        out = sh(fabric.inside(bed.hosts[0].space, f"ping -n -c 3 -i 0.1 -W 2 {address}"), check=False)
        assert " 3 received" in out, out
    # RFC 5549 as `ip route` writes it, and as newer FRR does.
    far = bed["leaf1"].api.get("/v1/routes?address=fd00:0:2::10")["next_hop"]["members"][0]
    by = f"via inet6 {far['gateway']} dev {far['interface']}"
    sh(fabric.inside(bed["leaf1"].linux, f"ip route add 10.0.2.10/32 {by}"))
    only = wait_for(lambda: [m for m in bed["leaf1"].api.get("/v1/routes?address=10.0.2.10")["next_hop"]["members"]
                             if m["gateway"] == far["gateway"]], 5, "a route by an IPv6 neighbor")
    assert len(only) == 1 and sh(fabric.inside(bed.hosts[0].space, "ping -n -c 1 -W 2 10.0.2.10")).count(" 1 received")
    sh(fabric.inside(bed["leaf1"].linux, "ip route del 10.0.2.10/32"))
    wait_for(lambda: bed["leaf1"].vtysh("show bfd peers brief").count(" up") == 2, 10, "BFD with both spines")
    found = ways(bed)
    assert len(found) == 2 * FLOWS and set(found.values()) == {"spine1", "spine2"}, found


def test_drain_loses_no_packet_and_traffic_comes_back(bed):
    converged(bed)
    before = ways(bed)
    heard(bed, 0.2)
    code, out = bed["spine2"].hecto("drain", "--timeout", "30")
    assert code == 0 and out.startswith("drained in ") and "hecto undrain" in out, out
    after = ways(bed)
    assert set(after.values()) == {"spine1"} and set(after) == set(before)
    numbers = heard(bed)
    assert numbers["lost"] == 0 and numbers["sent"] > 500, numbers
    assert bed.converged(without={"spine2"})
    code, out = bed["spine2"].hecto("drain", "--timeout", "30", "--json")  # again: it is so already
    assert code == 0 and '"drained":true' in out, out
    code, out = bed["spine2"].hecto("undrain")
    assert code == 0, out
    converged(bed)
    assert ways(bed) == before, "each flow has its way back"
    assert heard(bed)["lost"] == 0
    balanced(bed)


def test_drain_says_so_when_there_is_no_other_way(bed):
    code, out = bed["leaf1"].hecto("drain", "--timeout", "2")
    assert code == 1, out
    assert "are still forwarded, most of it received by " in out and "hecto undrain" in out, out
    assert bed["leaf1"].hecto("undrain")[0] == 0
    converged(bed)
    assert heard(bed)["lost"] == 0


def test_drain_names_what_is_missing(bed):
    code, out = bed["spine1"].hecto("drain", "--frr", "nobody")
    assert code == 1 and "no bgpd runs as FRR's instance nobody: /var/run/frr/nobody/bgpd.vty" in out
    code, out = bed["spine1"].hecto("drain", "--frr", "../x")
    assert code == 1 and "is no name of an instance" in out
    run = subprocess.run([labs.HECTO, "--socket", bed["spine1"].socket, "drain"], env={"PATH": "/nowhere"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert run.returncode == 1 and "vtysh is not installed here" in run.stdout, run.stdout
    spine = bed["spine1"]
    stopped = spine.daemons[fabric.DAEMONS.index("bgpd")]
    try:
        stopped.send_signal(signal.SIGSTOP)
        started = time.monotonic()
        code, out = spine.hecto("drain")
        assert code == 1 and "vtysh gave no answer within 10 s" in out and time.monotonic() - started < 15, out
    finally:
        stopped.send_signal(signal.SIGCONT)
    spine.hecto("undrain")
    converged(bed, seconds=60)


def test_a_spine_that_dies_is_passed_by(bed):
    """Its links stay up and nobody says good-bye: BFD, at 3 x 100 ms, is all that can know."""
    converged(bed)
    before = ways(bed)
    heard(bed, 0.2)
    killed = time.monotonic()
    bed["spine1"].kill()
    converged(bed, without={"spine1"})
    took = time.monotonic() - killed
    numbers = heard(bed)
    after = ways(bed)
    assert set(after) == set(before) and set(after.values()) == {"spine2"}, "every flow has a way"
    by_it = sum(way == "spine1" for way in before.values())
    lost = [name for name, flow in numbers["flows"].items() if flow["lost"]]
    assert 0 < len(lost) <= by_it, f"{by_it} flows went by it, {len(lost)} lost packets"
    assert took < 3 * SLOWER, f"{took:.2f} s until each leaf had left it"
    assert numbers["lost"] <= by_it * RATE * (took + 0.3), numbers["lost"]
    assert heard(bed, 1)["lost"] == 0, "and no more since"
    balanced(bed, but={"spine1"})
    bed["spine1"].restart()
    converged(bed, seconds=60)
    wait_for(lambda: set(ways(bed).values()) == {"spine1", "spine2"}, 20, "it carries again")
    assert heard(bed)["lost"] == 0
    balanced(bed)


def test_a_link_that_goes_and_comes(bed):
    converged(bed)
    heard(bed, 0.2)
    bed.take_link("leaf1", "spine1", False)
    wait_for(lambda: bed["leaf1"].next_hops("10.0.2.10") == 1 and bed["leaf2"].next_hops("10.0.1.10") == 1, 20,
             "both leaves go by the other spine")
    heard(bed)
    assert heard(bed, 1)["lost"] == 0 and set(ways(bed).values()) == {"spine2"}
    bed.take_link("leaf1", "spine1", True)
    converged(bed, seconds=60)
    assert heard(bed)["lost"] == 0, "what comes back costs nothing"
    balanced(bed)


# --- the demonstration as a program

def run_demo(*words, **more):
    return subprocess.run(["/usr/bin/python3", ROOT / "demo" / "cluster.py", "--build", BUILD, *words],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True,
                          timeout=60, **more)


def test_without_root_it_says_so():
    run = run_demo(user="nobody")
    assert run.returncode == 1 and "needs root" in run.stdout, run.stdout


def test_wrong_numbers_are_wrong_usage():
    assert run_demo("--leaves", "1").returncode == 2
    assert run_demo("--spines", "77").returncode == 2


def test_killed_it_leaves_nothing():
    skip_without_frr()
    if demo.left_overs():
        pytest.skip("another demonstration runs here")
    process = subprocess.Popen(["/usr/bin/python3", ROOT / "demo" / "cluster.py", "--build", BUILD, "--leaves", "2"],
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
    lines = []
    for line in process.stdout:
        lines.append(line)
        if "BGP has every route" in line:
            break
    else:
        raise AssertionError("".join(lines))
    assert run_demo().stdout.startswith("make run-cluster: another one runs")
    folders = list(Path("/tmp").glob("hecto-cluster-*"))
    assert demo.left_overs() and folders
    process.kill()
    process.wait()
    wait_for(lambda: not demo.left_overs(), 40, "its namespaces are gone", step=0.5)
    wait_for(lambda: not any(folder.exists() for folder in folders), 10, "its files are gone")
    assert not list(Path("/var/run/frr").glob("hecto-*"))


def test_the_picture_has_every_state():
    text = picture.picture({
        "spines": [{"name": "spine1", "is": "up", "pps": 812}, {"name": "spine2", "is": "dead", "pps": None}],
        "leaves": [{"name": "leaf1", "is": "up", "pps": 12_345}],
        "links": {("leaf1", "spine1"): {"up": True, "pps": 12_345}, ("leaf1", "spine2"): {"up": False, "pps": 0}},
        "hosts": [{"heard": 800, "lost": 3}]})
    for part in ("spine1", "dead", "812 pps", "12.3 kpps", "no link", "hears 800, lost 3"):
        assert part in text, text
    rows = picture.table([("drain spine2", 63029, 0)], ("event", "sent", "lost")).splitlines()
    assert rows == ["event           sent  lost", "drain spine2  63,029     0"]
