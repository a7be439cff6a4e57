"""Without Linux: routes and neighbors from the file alone."""

import collections
import gzip
import os
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapReader, RawPcapWriter, mac2str

from conftest import PORTS, make_pair
from lab import HECTOD, sh, wait_for
from stream import Stream


def static_config(pair, **more):
    return {
        "ports": {name: dict(port) for name, port in PORTS.items()},
        "linux": False,
        "neighbors": [
            {"address": "10.1.0.1", "mac": pair.a.mac}, {"address": "fd00:1::1", "mac": pair.a.mac},
            {"address": "10.2.0.1", "mac": pair.b.mac}, {"address": "fd00:2::1", "mac": pair.b.mac},
        ],
        "routes": [{"to": "10.9.0.0/16", "via": "10.2.0.1"},
                   {"to": "10.66.0.0/16", "type": "blackhole"}],
        **more,
    }


def know_the_router(pair):
    """Nobody answers ARP for the router here."""
    for host, port, v4, v6 in ((pair.a, "a0", "10.1.0.254", "fd00:1::fe"),
                               (pair.b, "b0", "10.2.0.254", "fd00:2::fe")):
        mac = next(p["mac"] for p in pair.router.get("/v1/ports")["ports"] if p["name"] == port)
        for address in (v4, v6):
            host.sh(["ip", "neigh", "replace", address, "lladdr", mac, "dev", "e0"])


def test_static_mode_routes_from_its_file(lab):
    pair = make_pair(lab, start=False)
    pair.b.sh("ip address add 10.9.1.1/32 dev lo")
    pair.router.start(static_config(pair))
    know_the_router(pair)
    for far in ("10.2.0.1", "fd00:2::1", "10.9.1.1"):
        pair.a.ping(far)
    pair.a.ping("10.66.0.1", count=2, timeout=1, ok=False)
    pair.a.ping("10.1.0.254", count=2, timeout=1, ok=False)
    assert pair.router.dropped("blackhole") == 2
    assert pair.router.dropped("no_linux") >= 2
    assert pair.router.get("/v1/summary")["namespace"] is None
    assert not Path(f"/run/netns/{pair.router.linux}").exists()


def test_static_neighbor_moves_by_reload(lab):
    pair = make_pair(lab, start=False)
    config = static_config(pair)
    pair.router.start(config)
    know_the_router(pair)
    pair.a.ping("10.2.0.1")
    config["neighbors"][2]["mac"] = "02:00:00:00:77:77"
    pair.router.write(config)
    pair.router.cli("reload")
    assert " 0 received" in pair.a.ping("10.2.0.1", count=1, timeout=1, ok=False)
    assert pair.router.neighbor("10.2.0.1")["mac"] == "02:00:00:00:77:77"
    pair.b.sh("ip link set e0 address 02:00:00:00:77:77")
    know_the_router(pair)
    pair.a.ping("10.2.0.1")


def test_load_routes_takes_lists_and_carries_traffic(lab):
    pair = make_pair(lab, start=False)
    pair.router.start(static_config(pair))
    know_the_router(pair)
    pair.b.sh("ip address add 172.16.5.5/32 dev lo")
    lines = [f"172.{16 + i // 256}.{i % 256}.0/24" for i in range(1024)] + ["2001:db8:5::/48"]
    file = lab.folder / "routes.gz"
    file.write_bytes(gzip.compress("\n".join(lines).encode()))
    # The IPv6 prefix has no gateway of its family: it is said, and the others are in.
    out = pair.router.cli("load-routes", file, "--via", "10.2.0.1")
    assert "1 entries could not be used" in out and "2001:db8:5::/48" in out, out
    assert pair.router.explain("172.16.5.5")["match"]["prefix"] == "172.16.5.0/24"
    pair.router.cli("route", "delete", "--all")
    v4 = lab.folder / "v4.txt"
    v4.write_text("\n".join(lines[:-1]))
    with Stream(pair.a, pair.b, "10.2.0.1") as stream:
        pair.router.cli("load-routes", v4, "--via", "10.2.0.1")
        assert pair.router.explain("172.16.5.5")["match"]["prefix"] == "172.16.5.0/24"
        pair.a.ping("172.16.5.5")
        pair.router.cli("route", "delete", "--all")
    stream.expect_no_loss()
    assert pair.router.explain("172.16.5.5")["match"] is None


def test_a_table_that_does_not_fit_changes_nothing(lab):
    """DIR-24-8 has 32,768 blocks for what is longer than /24: the load is refused as a whole."""
    pair = make_pair(lab, start=False)
    pair.router.start(static_config(pair))
    table = "".join(f"{20 + i // 65536}.{i // 256 % 256}.{i % 256}.128/25\n" for i in range(40_000))
    status, answer = pair.router.request("POST", "/v1/routes/load?via=10.2.0.1", table)
    assert status == 409 and " of 40000 routes did not fit" in answer["error"], answer
    assert answer["error"].endswith("; nothing was changed"), answer
    assert pair.router.get("/v1/routes?limit=1")["counts"]["by_origin"].get("api", 0) == 0
    assert "did not fit" in pair.router.log()


def test_a_replacement_without_a_route_is_refused(lab):
    pair = make_pair(lab, start=False)
    pair.router.start(static_config(pair))
    table, empty = lab.folder / "table.txt", lab.folder / "empty.txt"
    table.write_text("172.16.5.0/24\n")
    empty.write_text("2001:db8:5::/48\n")
    pair.router.cli("load-routes", table, "--via", "10.2.0.1")
    out = pair.router.cli("load-routes", empty, "--via", "10.2.0.1", "--replace", check=False)
    assert "nothing was changed" in out, out
    assert pair.router.explain("172.16.5.5")["match"]["prefix"] == "172.16.5.0/24"


def pcap_of_data():
    folder = Path(os.environ.get("HECTO_DATA", Path(__file__).parents[3] / "shared" / "data"))
    return folder / "real-mix-vlan-4096.pcap"


PCAP_MAC = "02:70:63:61:70:00"  # of the first net_pcap port; the driver takes no other


def readdress(source, target):
    """The packets, sent to the port's MAC as a neighbor would; returns their VLANs."""
    tags = collections.Counter()
    with RawPcapWriter(str(target), linktype=1) as out:
        out.write_header(None)
        for packet, _ in RawPcapReader(str(source)):
            assert packet[12:14] == b"\x81\x00"
            tags[int.from_bytes(packet[14:16], "big") & 0xFFF] += 1
            unicast = packet[0] & 1 == 0
            out.write_packet(mac2str(PCAP_MAC) + packet[6:] if unicast else packet)
    return tags


def test_memory_replay_of_real_packets(lab):
    """4,096 captured packets from memory: each is sent, or dropped under a name."""
    pcap = pcap_of_data()
    if not pcap.exists():
        pytest.skip("no captured packets: set HECTO_DATA to the folder of real-mix-vlan-4096.pcap")
    source, out = lab.folder / "in.pcap", lab.folder / "out.pcap"
    tags = readdress(pcap, source)
    assert sum(tags.values()) == 4096
    vlans = {tag: {"addresses": [f"10.250.{i}.1/24"]}
             for i, (tag, _) in enumerate(tags.most_common(64)) if tag}
    router = lab.router().start({
        "linux": False,
        "ports": {"in0": {"device": f"net_pcap0,rx_pcap={source},tx_pcap={lab.folder / 'no.pcap'}",
                          "vlans": vlans, "mtu": 9000},
                  "out0": {"device": f"net_pcap1,rx_iface=lo,tx_pcap={out}", "mtu": 9000,
                           "addresses": ["10.251.0.1/24", "fd00:51::1/64"]}},
        "neighbors": [{"address": "10.251.0.2", "mac": "02:00:00:00:51:02"},
                      {"address": "fd00:51::2", "mac": "02:00:00:00:51:02"}],
        "routes": [{"to": "0.0.0.0/0", "via": "10.251.0.2"}, {"to": "::/0", "via": "fd00:51::2"}],
    })
    totals = wait_for(lambda: (t := router.get("/v1/drops")["totals"])["received"] >= 4096 and t,
                      10, "all packets are replayed")
    totals = router.check_balance()
    drops = {d["reason"]: d["packets"] for d in router.get("/v1/drops")["drops"]}
    assert totals["transmitted"] + sum(drops.values()) == 4096, drops
    assert totals["transmitted"] > 3000, drops
    router.stop()
    sent = [Ether(packet) for packet, _ in RawPcapReader(str(out))]
    assert len(sent) == totals["transmitted"], drops
    assert {packet.dst for packet in sent} == {"02:00:00:00:51:02"}


def test_not_root_gives_one_line(lab):
    router = lab.router()
    lab.host("a", router.space, "va", ["10.1.0.1/24"])
    router.write({"ports": {"n0": {"device": "net_null0"}}})
    lab.folder.chmod(0o755)
    out = sh(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
              HECTOD, router.file], check=False)
    errors = [line for line in out.splitlines() if " error" in line]
    assert len(errors) == 1 and "root" in errors[0], out
