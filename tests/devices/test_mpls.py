"""MPLS of a real kernel in the fast path: swap, pop, push, L3VPN. br0 leads into the core, where scapy is the next router."""

import json
from pathlib import Path

import lab as labs
import pytest

COUNT = 30
PEER = Path(__file__).resolve().parent / "label_peer.py"
FAR = "10.2.0.77"     # the next router in the core
BEYOND = "203.0.113.9"
FRR = "/usr/lib/frr"


class Core:
    def __init__(self, bed):
        self.bed = bed
        for module in ("mpls_router", "mpls_iptunnel"):
            bed.guest.sh(["modprobe", "-d", "/mnt", module])
        bed.linux("ip link set br0 nomaster")
        if "10.2.0.254" not in bed.linux("ip address show dev br0"):
            bed.linux("ip address add 10.2.0.254/24 dev br0")
        bed.linux("sysctl -w net.mpls.platform_labels=1000")
        bed.linux("sysctl -w net.mpls.conf.br0.input=1")
        self.mac = json.loads(bed.hosts["br0"].sh("ip -j link show dev br0"))[0]["address"]
        self.neighbor(self.mac)
        labs.wait_for(lambda: self.shown()["platform_labels"] == 1000, 10, "hectod has seen it")

    def close(self):
        bed = self.bed
        bed.linux("sysctl -w net.mpls.conf.br0.input=0")
        bed.linux("sysctl -w net.mpls.platform_labels=0")
        bed.linux(f"ip neigh del {FAR} dev br0", check=False)
        bed.linux("ip link set br0 master blue")
        if "10.2.0.254" not in bed.linux("ip address show dev br0"):
            bed.linux("ip address add 10.2.0.254/24 dev br0")
        bed.linux("ip address add fd00:2::fe/64 dev br0 nodad", check=False)
        labs.wait_for(lambda: bed.ping("bl0", "10.2.0.1", 3) == 3, 20, "blue is as before")

    def neighbor(self, mac):
        self.bed.linux(f"ip neigh replace {FAR} lladdr {mac} nud permanent dev br0")

    def shown(self):
        return self.bed.api("labels")

    def label(self, words):
        """`ip -f mpls route add`, and the fast path has it."""
        number = int(words.split()[0])
        self.bed.linux(f"ip -f mpls route add {words}")
        labs.wait_for(lambda: number in {each["label"] for each in self.shown()["labels"]}, 10, "it is shown")
        return next(each for each in self.shown()["labels"] if each["label"] == number)

    def gone(self, number):
        self.bed.linux(f"ip -f mpls route del {number}")
        labs.wait_for(lambda: number not in {each["label"] for each in self.shown()["labels"]}, 10, "it is gone")

    def mac_of(self, name):
        return next(i["mac"] for i in self.bed.api("interfaces")["interfaces"] if i["name"] == name)

    def send(self, labels, dst=BEYOND, port="br0", **more):
        """What the router sends back to this port of what is sent there."""
        spec = {"labels": labels, "src": more.pop("src", "198.51.100.9"), "dst": dst, "count": COUNT, **more}
        out = self.bed.hosts[port].sh(["/usr/bin/python3", PEER, port, self.mac_of(port), json.dumps(spec)])
        return json.loads(out.splitlines()[-1])

    def passes(self, labels, right, **more):
        """All come, as wanted; hardly one goes by Linux."""
        labs.wait_for(lambda: self.send(labels, count=1, seconds=2, **more), 20, "the first one")
        before = self.bed.totals()
        got = self.send(labels, **more)
        now = self.bed.totals()
        assert len(got) == COUNT and all(each["sound"] for each in got), got
        assert all(right(each) for each in got), got[0]
        assert now["punted"] - before["punted"] < COUNT / 2, "by the fast path"
        assert now["transmitted"] - before["transmitted"] >= COUNT


@pytest.fixture(scope="module")
def core(bed):
    made = Core(bed)
    yield made
    made.close()


def test_a_label_is_swapped(core):
    shown = core.label(f"300 as 400 via inet {FAR}")
    assert shown["action"] == "swap 400" and shown["done_by"] == "hecto", shown
    assert shown["next_hops"][0]["gateway"] == FAR and shown["next_hops"][0]["interface"] == "br0", shown
    core.passes([300], lambda each: each["labels"] == [[400, 63, 1]] and each["ttl"] == 64)
    core.passes([300, 17], lambda each: each["labels"] == [[400, 63, 0], [17, 64, 1]])
    core.gone(300)
    before = core.bed.drops("mpls_label")
    assert core.send([300], seconds=2) == []
    labs.wait_for(lambda: core.bed.drops("mpls_label") - before == COUNT, 10, "nobody knows it any more")


def test_two_labels_come_in_its_place(core):
    core.label(f"310 as 400/401 via inet {FAR}")
    core.passes([310], lambda each: each["labels"] == [[400, 63, 0], [401, 63, 1]])
    core.gone(310)


def test_the_last_label_is_popped(core):
    shown = core.label(f"301 via inet {FAR}")
    assert shown["action"] == "pop" and shown["done_by"] == "hecto", shown
    core.passes([301], lambda each: each["labels"] == [] and each["ttl"] == 63)
    core.passes([301], lambda each: each["labels"] == [] and each["ttl"] == 63, dst="2001:db8:9::1", src="2001:db8:8::1")
    core.gone(301)


def test_its_ttl_ends(core):
    core.label(f"302 as 400 via inet {FAR}")
    labs.wait_for(lambda: core.send([302], count=1, seconds=2), 20, "it is swapped")
    before = core.bed.drops("mpls_ttl")
    assert core.send([302], ttl=1, seconds=2) == []
    labs.wait_for(lambda: core.bed.drops("mpls_ttl") - before == COUNT, 10, "named")
    core.gone(302)


def test_a_neighbor_that_moves(core):
    core.label(f"303 as 400 via inet {FAR}")
    labs.wait_for(lambda: core.send([303], count=1, seconds=2), 20, "it is swapped")
    core.neighbor("02:00:00:00:77:77")
    labs.wait_for(lambda: core.send([303], count=1, seconds=1) == [], 10, "it is elsewhere")
    core.neighbor(core.mac)
    labs.wait_for(lambda: core.send([303], count=1, seconds=2), 10, "and back")
    core.gone(303)


def test_l3vpn_of_two_customers_with_the_same_addresses(core):
    """Echo requests come out of the core with a customer's label, and the host's answers go back with the other end's."""
    bed = core.bed
    for vrf, table, inner, outer, host, other in (("red", 10, 320, 520, "rl0", "bl0"), ("blue", 20, 330, 530, "bl0", "rl0")):
        shown = core.label(f"{inner} dev {vrf}")
        bed.linux(f"ip route add 10.77.0.0/24 encap mpls {outer} via inet {FAR} dev br0 table {table}")
        labs.wait_for(lambda: vrf in {i["name"] for i in bed.api("interfaces")["interfaces"]}, 10, "an interface")
        shown = next(each for each in core.shown()["labels"] if each["label"] == inner)
        assert shown["action"] == f"to {vrf}" and shown["done_by"] == "hecto", shown
        labs.wait_for(lambda: core.send([inner], dst="10.1.0.1", src="10.77.0.1", wanted="10.77.0.1", echo=True, count=1,
                                        seconds=2), 20, "the host answers")
        before, elsewhere = bed.came(host), bed.came(other)
        core.passes([inner], lambda each: each["labels"] == [[outer, 63, 1]] and each["ttl"] == 63,
                    dst="10.1.0.1", src="10.77.0.1", wanted="10.77.0.1", echo=True)
        assert bed.came(host) - before >= COUNT and bed.came(other) == elsewhere, "its own customer alone"
        answer = bed.api(f"routes?address=10.77.0.1&interface={host}")
        assert f"push {outer}" in str(answer["why"]), answer
        counters = next(i for i in bed.api("interfaces")["interfaces"] if i["name"] == vrf)["counters"]
        assert counters["rx_packets"] >= COUNT, counters
    for vrf, table, inner in (("red", 10, 320), ("blue", 20, 330)):
        bed.linux(f"ip route del 10.77.0.0/24 table {table}")
        core.gone(inner)
        labs.wait_for(lambda: vrf not in {i["name"] for i in bed.api("interfaces")["interfaces"]}, 10, "as it was")


def test_labels_of_a_next_hop_object(core):
    bed = core.bed
    bed.linux(f"ip nexthop add id 7 encap mpls 600/601 via {FAR} dev br0")
    bed.linux("ip route add 10.78.0.0/24 nhid 7")
    labs.wait_for(lambda: "push 600/601" in str(bed.api("routes?address=10.78.0.1")["why"]), 10, "it is shown")
    core.passes([], lambda each: [label for label, _, _ in each["labels"]] == [600, 601], dst="10.78.0.1", src="10.2.0.1")
    bed.linux("ip route del 10.78.0.0/24")
    bed.linux("ip nexthop del id 7")


@pytest.fixture(name="frr")
def run_frr(core):
    """zebra and staticd, which write next-hop objects with labels, and label routes."""
    bed = core.bed
    if not Path(f"{FRR}/staticd").exists():
        pytest.skip(f"{FRR}/staticd is not installed: make deps")
    try:
        for daemon in ("zebra", "staticd"):
            config = bed.lab.folder / f"{daemon}-mpls.conf"
            config.write_text("hostname router\n")
            bed.guest.sh(["sh", "-c", f"mkdir -p /run/frr && cp {config} /run/frr/ && chown -R frr:frr /run/frr"])
            bed.guest.spawn(f"nsenter --net=/run/netns/hecto -- {FRR}/{daemon} -f /run/frr/{config.name} -P 0 "
                            f"-i /run/frr/{daemon}.pid", f"/run/{daemon}.log")
            labs.wait_for(lambda: bed.guest.sh(["test", "-e", f"/run/frr/{daemon}.vty"], check=False) == "", 20,
                          f"{daemon} runs")
        yield
    finally:
        bed.guest.sh(["pkill", "-x", "staticd|zebra"], check=False)


def test_labels_of_frr(core, frr):
    bed = core.bed

    def configure(daemon, *words):
        commands = [part for each in ("configure terminal", *words) for part in ("-c", each)]
        bed.guest.sh(["vtysh", "-d", daemon, *commands])

    # As vtysh does at a start: once zebra knows the interfaces, and staticd that this kernel has MPLS.
    configure("zebra", f"mpls lsp 360 {FAR} 460", f"mpls lsp 361 {FAR} implicit-null")
    configure("staticd", f"ip route 10.79.0.0/24 {FAR} br0 label 700/701")
    labs.wait_for(lambda: {360, 361} <= {each["label"] for each in core.shown()["labels"]}, 30, "its label routes")
    labs.wait_for(lambda: "push 700/701" in str(bed.api("routes?address=10.79.0.1")["why"]), 30, "its route")
    assert all(each["done_by"] == "hecto" for each in core.shown()["labels"]), core.shown()
    core.passes([], lambda each: [label for label, _, _ in each["labels"]] == [700, 701], dst="10.79.0.1", src="10.2.0.1")
    core.passes([360], lambda each: each["labels"] == [[460, 63, 1]])
    core.passes([361], lambda each: each["labels"] == [] and each["ttl"] == 63)


def test_explicit_null_is_as_without_a_label(core):
    bed = core.bed
    bed.linux(f"ip route add {BEYOND}/32 via {FAR} dev br0")
    labs.wait_for(lambda: 0 in {each["label"] for each in core.shown()["labels"]}, 20, "the kernel's own")
    core.passes([0], lambda each: each["labels"] == [] and each["ttl"] == 63)
    bed.linux(f"ip route del {BEYOND}/32")


def test_what_the_fast_path_does_not_is_said_and_linuxs(core):
    shown = core.label(f"340 as 21/22/24/25/26 via inet {FAR}")
    assert shown["done_by"] == "linux" and "more than 4" in shown["trouble"], shown
    labs.wait_for(lambda: any("labels" in line for line in core.bed.api("summary")["warnings"]), 10, "it is said")
    labs.wait_for(lambda: core.send([340], count=1, seconds=2), 20, "Linux does it")
    got = core.send([340], count=1, seconds=5)
    assert [label for label, _, _ in got[0]["labels"]] == [21, 22, 24, 25, 26], got
    core.gone(340)


def test_every_packet_is_accounted_for(core):
    labs.wait_for(lambda: core.bed.totals()["in_flight"] == 0, 10, "nothing is under way")
    t = core.bed.totals()
    assert t["received"] + t["injected"] + t["fragments"] == t["transmitted"] + t["punted"] + t["dropped"], t
