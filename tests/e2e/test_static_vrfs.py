"""VRFs and policy rules of the file, without Linux: two customers with the same addresses, sources with a table
of their own, and reloads that change each."""

import copy
import time

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from conftest import PORTS, make_pair
from esp import Tunnel, ipsec_section, is_esp
from lab import wait_for
from wire import Wire

NEAR, FAR = ["10.1.0.254/24", "fd00:1::fe/64"], ["10.2.0.254/24", "fd00:2::fe/64"]
FAMILIES = pytest.mark.parametrize("kind, near, far", [(IP, "10.1.0.1", "10.2.0.1"), (IPv6, "fd00:1::1", "fd00:2::1")],
                                   ids=["v4", "v6"])


class Bed:
    """Hosts by the name of their port; `sides` says on which side of the router each is."""

    def __init__(self, lab, sides):
        self.router = lab.router()
        self.hosts, self.neighbors = {}, []
        for port, side in sides.items():
            host = lab.host(port, self.router.space, f"v{port}", [f"10.{side}.0.1/24", f"fd00:{side}::1/64"])
            self.hosts[port] = host
            for address in (f"10.{side}.0.1", f"fd00:{side}::1"):
                self.neighbors.append({"address": address, "interface": port, "mac": host.mac})

    def start(self, config):
        self.router.start(config)
        self.macs = {p["name"]: p["mac"] for p in self.router.get("/v1/ports")["ports"]}
        return self

    def reload(self, config, **more):
        self.router.write(config)
        return self.router.cli("reload", **more)

    def ways(self, port, kind, source, far, count=1, **more):
        """Where packets from source to far that come in by the port leave: how many by each port."""
        marker = f"vrf-{time.monotonic_ns()}".encode()
        tos = {"tos" if kind is IP else "tc": more.pop("tos", 0)}
        packet = (Ether(dst=self.macs[port]) / kind(src=source, dst=far, **tos)
                  / UDP(**{"sport": 7, "dport": 9, **more}) / marker)
        others = {name: Wire(host) for name, host in self.hosts.items() if name != port}
        seen = {}
        with Wire(self.hosts[port]) as wire:
            for other in others.values():
                other.__enter__()
            try:
                wire.send(packet, count=count)
                for name, other in others.items():
                    for frame in other.receive(lambda p: marker in bytes(p) and UDP in p, count, 0.7):
                        assert frame.dst == self.hosts[name].mac and frame.src == self.macs[name], name
                        seen[name] = seen.get(name, 0) + 1
            finally:
                for other in others.values():
                    other.__exit__()
        return seen

    def sent(self, port):
        return next(i for i in self.router.get("/v1/interfaces")["interfaces"] if i["name"] == port)["counters"]["tx_packets"]


def customers(lab):
    """red: rl (10.1.0.1) and rr (10.2.0.1). blue: bl and br, with the same addresses. m0 (10.3.0.1) is in no VRF."""
    bed = Bed(lab, {"rl": 1, "rr": 2, "bl": 1, "br": 2, "m0": 3})
    bed.config = {
        "linux": False,
        "vrfs": {"red": {"table": 10}, "blue": {"table": 20}},
        "ports": {"rl": {"device": "vrl", "vrf": "red", "addresses": NEAR, "counters": True},
                  "rr": {"device": "vrr", "vrf": "red", "addresses": FAR, "counters": True},
                  "bl": {"device": "vbl", "vrf": "blue", "addresses": NEAR, "counters": True},
                  "br": {"device": "vbr", "vrf": "blue", "addresses": FAR, "counters": True},
                  "m0": {"device": "vm0", "addresses": ["10.3.0.254/24", "fd00:3::fe/64"], "counters": True}},
        "neighbors": bed.neighbors,
        "routes": [{"to": "10.9.0.0/16", "via": "10.3.0.1"}, {"to": "10.9.7.0/24", "vrf": "blue", "via": "10.2.0.1"}],
    }
    return bed.start(bed.config)


@FAMILIES
def test_two_customers_with_the_same_addresses(lab, kind, near, far):
    bed = customers(lab)
    for left, right, other in (("rl", "rr", "br"), ("bl", "br", "rr")):
        before, elsewhere = bed.sent(right), bed.sent(other)
        assert bed.ways(left, kind, near, far, count=40) == {right: 40}, "to the right of its own VRF, and nowhere else"
        assert bed.sent(right) - before == 40 and bed.sent(other) == elsewhere
    totals = bed.router.check_balance()
    assert totals["transmitted"] == 80 and totals["punted"] == 0, totals
    assert bed.router.get("/v1/summary")["namespace"] is None


def test_vrfs_are_shown(lab):
    bed = customers(lab)
    tables = {t["name"]: t for t in bed.router.get("/v1/tables")["tables"]}
    assert tables["10"]["vrf"] == "red" and tables["10"]["interfaces"] == ["rl", "rr"], tables
    assert tables["20"]["vrf"] == "blue" and tables["20"]["ipv4_prefixes"] > tables["10"]["ipv4_prefixes"], tables
    assert {i["name"]: i["vrf"] for i in bed.router.get("/v1/interfaces")["interfaces"]} == \
        {"rl": "red", "rr": "red", "bl": "blue", "br": "blue", "m0": None}
    assert "VRF red" in bed.router.cli("show", "interfaces")
    rules = bed.router.get("/v1/rules")["rules"]
    assert [r["priority"] for r in rules] == [1000, 2000, 32765, 32766, 32767, 1000, 2000, 32765, 32766], rules
    assert all(r["done_by"] == "hecto" for r in rules), rules
    assert "lookup [l3mdev-table]" in bed.router.cli("show", "rules")
    assert "10.9.7.0/24" in bed.router.cli("show", "routes", "--table", "blue")
    assert "10.9.7.0/24" not in bed.router.cli("show", "routes", "--vrf", "red")
    assert "10.9.7.0/24" in bed.router.cli("show", "routes", "--table", "20")
    answer = bed.router.get("/v1/routes?address=10.2.0.1&from=10.1.0.1&interface=bl")
    assert "br" in str(answer) and "rr" not in str(answer), answer
    assert not any("polic" in line for line in bed.router.get("/v1/summary")["warnings"])
    assert "vrf: red" in bed.router.cli("show", "config")


def test_nothing_leaks_and_a_route_may(lab):
    bed = customers(lab)
    assert bed.ways("m0", IP, "10.3.0.1", "10.1.0.1") == {}, "main knows no customer"
    for customer in ("rl", "bl"):
        assert bed.ways(customer, IP, "10.1.0.1", "10.9.0.1", count=5) == {}, "main's routes are its own"
        assert bed.ways(customer, IP, "10.1.0.1", "10.3.0.1", count=5) == {}, "its networks, too"
    assert bed.ways("bl", IP, "10.1.0.1", "10.9.7.1", count=5) == {"br": 5}
    assert bed.ways("rl", IP, "10.1.0.1", "10.9.7.1", count=5) == {}
    dropped = bed.router.dropped("no_linux")
    assert dropped >= 26, "each of them is counted"
    bed.config["routes"].append({"to": "10.9.0.0/16", "vrf": "red", "via": {"gateway": "10.3.0.1", "interface": "m0"}})
    bed.reload(bed.config)
    assert bed.ways("rl", IP, "10.1.0.1", "10.9.0.1", count=20) == {"m0": 20}
    assert bed.ways("bl", IP, "10.1.0.1", "10.9.0.1", count=5) == {}
    bed.router.check_balance()


def test_urpf_asks_in_the_vrf(lab):
    bed = customers(lab)
    bed.config["ports"]["rl"]["urpf"] = "strict"
    bed.config["ports"]["bl"]["urpf"] = "loose"
    bed.reload(bed.config)
    assert bed.ways("rl", IP, "10.1.0.1", "10.2.0.1", count=10) == {"rr": 10}
    assert bed.ways("rl", IP, "10.2.0.77", "10.2.0.1", count=10) == {}, "its way back is by rr"
    assert bed.ways("bl", IP, "10.2.0.77", "10.2.0.1", count=10) == {"br": 10}
    assert bed.ways("bl", IP, "10.3.0.77", "10.2.0.1", count=10) == {}, "main's networks are no way back"
    assert bed.ways("rl", IPv6, "fd00:2::77", "fd00:2::1", count=10) == {}
    assert bed.router.dropped("urpf") >= 20
    bed.router.check_balance()


def test_a_reload_moves_a_port_to_another_vrf(lab):
    bed = customers(lab)
    other = copy.deepcopy(bed.config)
    other["vrfs"] = {"blue": {"table": 20}, "green": {"table": 30}}
    for port in ("rl", "br"):
        other["ports"][port]["vrf"] = "green"
    other["ports"]["rr"].pop("vrf")
    other["routes"] = [{"to": "10.9.7.0/24", "vrf": "green", "via": "10.2.0.1"}]
    said = bed.reload(other)
    for line in ("- vrf red: {table: 10}", "+ vrf green: {table: 30}", "~ port rl: vrf red -> green",
                 "~ port rr: vrf red -> none"):
        assert line in said, said
    assert bed.ways("rl", IP, "10.1.0.1", "10.2.0.1", count=10) == {"br": 10}
    assert bed.ways("rl", IPv6, "fd00:1::1", "fd00:2::1", count=10) == {"br": 10}
    assert bed.ways("rl", IP, "10.1.0.1", "10.9.7.1", count=10) == {"br": 10}
    assert bed.ways("m0", IP, "10.3.0.1", "10.2.0.1", count=10) == {"rr": 10}, "rr is main's now"
    assert bed.ways("bl", IP, "10.1.0.1", "10.2.0.1") == {}
    bed.router.cli("rollback")
    assert bed.ways("rl", IP, "10.1.0.1", "10.2.0.1", count=10) == {"rr": 10}
    assert bed.ways("bl", IP, "10.1.0.1", "10.2.0.1", count=10) == {"br": 10}

    plain = copy.deepcopy(bed.config)
    plain.pop("vrfs")
    plain["ports"] = {"rl": bed.config["ports"]["rl"], "rr": bed.config["ports"]["rr"], "m0": bed.config["ports"]["m0"]}
    plain["neighbors"] = [n for n in bed.neighbors if n["interface"] in plain["ports"]]
    plain["routes"] = []
    for port in plain["ports"].values():
        port.pop("vrf", None)
    bed.reload(plain)
    assert bed.router.get("/v1/rules")["rules"] == []
    assert bed.ways("rl", IP, "10.1.0.1", "10.3.0.1", count=10) == {"m0": 10}
    bed.router.check_balance()


def sources(lab, **more):
    """a0, b0, c0: to 10.9.0.0/16 main leads by b0, table 200 by c0."""
    bed = Bed(lab, {"a0": 1, "b0": 2, "c0": 3})
    bed.config = {
        "linux": False,
        "ports": {name: {"device": f"v{name}", "addresses": [f"10.{side}.0.254/24", f"fd00:{side}::fe/64"]}
                  for name, side in (("a0", 1), ("b0", 2), ("c0", 3))},
        "neighbors": bed.neighbors,
        "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"}, {"to": "10.9.0.0/16", "via": "10.3.0.1", "table": 200},
                   {"to": "fd00:9::/32", "via": "fd00:2::1"}, {"to": "fd00:9::/32", "via": "fd00:3::1", "table": 200}],
        **more,
    }
    return bed.start(bed.config)


@pytest.mark.parametrize("kind, near, far, prefix", [(IP, "10.1.0.{}", "10.9.0.1", "10.1.0.100/32"),
                                                     (IPv6, "fd00:1::{}", "fd00:9::1", "fd00:1::100/128")],
                         ids=["v4", "v6"])
def test_a_source_goes_by_its_own_table(lab, kind, near, far, prefix):
    bed = sources(lab, rules=[{"priority": 200, "from": prefix, "table": 200}])
    mine, other = near.format(100), near.format(50)
    assert bed.ways("a0", kind, mine, far, count=20) == {"c0": 20}
    assert bed.ways("a0", kind, other, far, count=20) == {"b0": 20}
    shown = {t["name"]: t for t in bed.router.get("/v1/tables")["tables"]}
    assert shown["200"]["rules"] == 1, shown
    assert "lookup 200" in bed.router.cli("show", "rules")
    said = bed.reload({**bed.config, "rules": []})
    assert "- rule {priority: 200, from: " in said, said
    assert bed.ways("a0", kind, mine, far, count=20) == {"b0": 20}
    assert bed.router.get("/v1/rules")["rules"] == []
    bed.reload({**bed.config, "rules": [{"priority": 200, "from": prefix, "not": True, "table": 200}]})
    assert bed.ways("a0", kind, mine, far, count=20) == {"b0": 20}
    assert bed.ways("a0", kind, other, far, count=20) == {"c0": 20}
    totals = bed.router.check_balance()
    assert totals["punted"] == 0 and totals["transmitted"] == 100, totals


def test_rules_by_all_that_they_ask(lab):
    rules = [{"priority": 50, "from": "10.1.0.64/26", "goto": 300},
             {"priority": 100, "to": "10.9.7.0/24", "action": "blackhole"},
             {"priority": 110, "dscp": 46, "table": 200},
             {"priority": 120, "ipproto": "udp", "dport": "5000-5010", "table": 200},
             {"priority": 130, "iif": "b0", "table": 200},
             {"priority": 300, "to": "10.9.8.0/24", "table": 200}]
    bed = sources(lab, rules=rules)
    ask = lambda source, far, port="a0", **more: bed.ways(port, IP, source, far, count=10, **more)
    assert ask("10.1.0.5", "10.9.0.1") == {"b0": 10}
    assert ask("10.1.0.5", "10.9.7.1") == {}
    assert bed.router.dropped("blackhole") == 10
    assert ask("10.1.0.70", "10.9.7.1") == {"b0": 10}, "goto leads behind the blackhole"
    assert ask("10.1.0.70", "10.9.8.1") == {"c0": 10}
    assert ask("10.1.0.5", "10.9.0.1", tos=0xb8) == {"c0": 10}
    assert ask("10.1.0.5", "10.9.0.1", tos=0x18) == {"b0": 10}, "three bits of the DSCP are not it"
    assert ask("10.1.0.5", "10.9.0.1", dport=5010) == {"c0": 10}
    assert ask("10.1.0.5", "10.9.0.1", dport=5011) == {"b0": 10}
    assert ask("10.2.0.1", "10.9.0.1", port="b0") == {"c0": 10}
    assert bed.ways("a0", IPv6, "fd00:1::5", "fd00:9::1", tos=0xb8) == {"c0": 1}, "both families"
    totals = bed.router.check_balance()
    assert totals["transmitted"] == 81 and totals["punted"] == 0, totals
    assert totals["dropped"] == 10 + bed.router.dropped("no_linux"), "what the hosts say besides"


def test_a_refused_reload_changes_no_rule(lab):
    bed = sources(lab, rules=[{"priority": 200, "from": "10.1.0.100/32", "table": 200}])
    wrong = [({"rules": [{"priority": 200, "goto": 100}]}, "rules[0].goto: 100 goes back"),
             ({"rules": [{"priority": 5, "iif": "a1", "table": 1}]}, "did you mean a0?"),
             ({"rules": [{"priority": 5, "vrf": "red"}]}, "is no VRF"),
             ({"vrfs": {"red": {"table": 254}}}, "vrfs.red.table: 254 is the default, main or local table"),
             ({"rules": [], "burst": 32, "workers": {0: [0]}, "ipsec": {"nic": "never"}}, "restart hectod")]
    before = bed.router.get("/v1/rules")
    for change, why in wrong:
        said = bed.reload({**bed.config, **change}, check=False)
        assert why in said, said
        assert bed.router.get("/v1/rules") == before
    assert bed.ways("a0", IP, "10.1.0.100", "10.9.0.1", count=10) == {"c0": 10}
    bed.router.check_balance()


def test_with_a_linux_side_vrfs_are_linuxs_and_routes_have_tables(lab):
    pair = make_pair(lab, start=False)
    c = lab.host("c", pair.router.space, "vc", ["10.3.0.1/24"], ["10.3.0.254"])
    config = {"ports": {**PORTS, "c0": {"device": "vc", "addresses": ["10.3.0.254/24"]}},
              "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"},
                         {"to": "10.9.0.0/16", "via": "10.3.0.1", "table": 200},
                         {"to": "10.8.0.0/16", "via": "10.3.0.1", "table": 1000}]}
    pair.router.write({**config, "vrfs": {"red": {"table": 10}}, "rules": [{"priority": 5, "vrf": "red"}]})
    said = pair.router.cli("check", pair.router.file, check=False)
    assert said.count("\n") == 1 and "vrfs: VRFs and rules are Linux's" in said, said

    pair.router.start(config)
    linux = pair.router.linux_sh
    wait_for(lambda: "10.3.0.1" in linux("ip route show table 200"), 5, "Linux has it")
    assert "10.8.0.0/16" in linux("ip route show table 1000")
    assert "10.3.0.1" not in linux("ip route show")
    linux("ip rule add from 10.1.0.100 lookup 200 pref 100")
    pair.b.sh("ip address add 10.9.0.1/32 dev lo")
    c.sh("ip address add 10.9.0.1/32 dev lo")
    pair.a.sh("ip address add 10.1.0.100/24 dev e0")
    assert "10.3.0.1" in pair.router.cli("show", "routes", "--table", "200")
    marker = b"table-200"
    mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == "a0")

    def by_c(source):
        packet = Ether(dst=mac) / IP(src=source, dst="10.9.0.1") / UDP(sport=7, dport=9) / marker
        with Wire(c) as at_c, Wire(pair.a) as at_a:
            at_a.send(packet)
            return len(at_c.receive(lambda p: marker in bytes(p) and UDP in p, 1, 0.7))
    wait_for(lambda: by_c("10.1.0.100") == 1, 10, "it leaves by c")
    assert by_c("10.1.0.50") == 0
    config["routes"] = config["routes"][:1]
    pair.router.write(config)
    pair.router.cli("reload")
    wait_for(lambda: "10.3.0.1" not in linux("ip route show table 200", check=False), 5, "it is gone from Linux")
    wait_for(lambda: by_c("10.1.0.100") == 0, 10, "main's holds")
    pair.router.check_balance()


@FAMILIES
def test_a_tunnel_within_a_vrf(lab, kind, near, far):
    """Its ends are red's addresses; main knows neither."""
    bed = customers(lab)
    here, inside, outside, remote = {IP: ("10.2.0.254", "10.1.0.0/24", "172.16.0.0/24", "172.16.0.1"),
                                     IPv6: ("fd00:2::fe", "fd00:1::/64", "fd00:9::/64", "fd00:9::1")}[kind]
    tunnel = Tunnel(1, "aes-128-gcm", here, far, inside, outside)
    bed.reload(dict(bed.config, ipsec=ipsec_section([tunnel]),
                    routes=[*bed.config["routes"], {"to": outside, "vrf": "red", "via": far}]))
    hosts = bed.hosts
    with Wire(hosts["rl"]) as left, Wire(hosts["rr"]) as right:
        left.send(Ether(dst=bed.macs["rl"]) / kind(src=near, dst=remote) / UDP(sport=7, dport=9) / b"out")
        [sealed] = right.receive(lambda frame: is_esp(frame, tunnel.from_hecto.spi), 1, 1)
    assert (sealed[kind].src, sealed[kind].dst, sealed.dst) == (here, far, hosts["rr"].mac)
    opened = tunnel.from_hecto.open(bytes(sealed[kind]))
    assert (opened.src, opened.dst, bytes(opened[UDP].payload)) == (near, remote, b"out")

    def came_back(port):
        inner = kind(src=remote, dst=near) / UDP(sport=9, dport=7) / b"back"
        with Wire(hosts["rl"]) as left, Wire(hosts[port]) as wire:
            wire.send(Ether(dst=bed.macs[port]) / kind(tunnel.to_hecto.seal(inner)))
            return len(left.receive(lambda frame: UDP in frame and bytes(frame[UDP].payload) == b"back", 1, 0.7))

    assert came_back("rr") == 1
    assert came_back("m0") == 0, "main has no such address"
    assert came_back("rr") == 1
    assert bed.router.check_balance()["transmitted"] == 3
    explained = bed.router.get(f"/v1/routes?address={remote}&from={near}&interface=rl")
    assert "tunnel_unreachable" not in str(explained), explained
