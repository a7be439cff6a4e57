// What is shown of MTUs: each interface from its device to its twin, and the way to an address.
#include "router/control/bridge_control.hpp"
#include "router/dataplane/explain_packet.hpp"
#include "tests/unit/router/api/show/show_bed.hpp"

namespace hecto::router::test {
namespace {

TEST(ShowMtu, OfEachInterfaceFromTheDeviceToTheTwin) {
  const auto bed = ControlBed::started(kBase, true);
  const auto rows = [&] {
    return show_mtu({bed->interfaces.table(), bed->routing, bed->plane, nullptr},
                    nullptr)["interfaces"];
  };
  EXPECT_EQ(row(rows(), "name", "wan0"), json::parse(R"({
    "name": "wan0", "port": "wan0", "ports": null, "vlan": null, "outer_vlan": null, "mtu": 1500, "file": 1500, "port_mtu": 1500,
    "port_most": 9000, "device": null, "linux": null, "mss_clamp": "off", "mismatches": []})"));
  EXPECT_EQ(row(rows(), "name", "wan0.7")["file"], 1400);
  EXPECT_EQ(row(rows(), "name", "wan0.7")["mismatches"], json::array());
  bed->link(bed->interface("wan0.7").ifindex, true, 1300);
  EXPECT_EQ(row(rows(), "name", "wan0.7")["mtu"], 1300);
  EXPECT_EQ(row(rows(), "name", "wan0.7")["linux"], 1300);
  EXPECT_EQ(
      row(rows(), "name", "wan0.7")["mismatches"],
      json({"twin wan0.7 has 1300, the port's interface 1400: Linux and the fast path send at "
            "most 1300"}));
  bed->link(bed->interface("wan0.7").ifindex, true, 1500);
  EXPECT_EQ(
      row(rows(), "name", "wan0.7")["mismatches"],
      json({"twin wan0.7 has 1500, the port's interface 1400: what Linux sends beyond 1400 is "
            "lost"}));
  PortStatus& lan = bed->plane.running.at("lan0");
  lan.device_mtu = 1350;
  EXPECT_EQ(
      row(rows(), "name", "lan0")["mismatches"],
      json({"the kernel's eth2 has 1350, the port 1500: what is longer than 1350 is lost there; "
            "\"ip link set dev eth2 mtu 1500\" mends it"}));
  lan.device_mtu = 9000;
  lan.config.mtu = 9000;
  lan.largest_mtu = 1766;
  EXPECT_EQ(
      row(rows(), "name", "lan0")["mismatches"],
      json({"the file says 9000, it has 1500: driver and buffers take 1766 at most as they were "
            "set up",
            "the kernel's eth2 has 9000, the port 1500: longer packets come in and are "
            "forwarded, none are sent"}));
}

TEST(ShowMtu, OfABridgesInterfacesByItsPorts) {
  const auto bed = ControlBed::started(kBase, true);
  BridgeControl bridges{bed->routing, bed->interfaces, bed->plane, bed->linux_side,
                        bed->running.config};
  constexpr int kLan = 40;
  LinuxLink lan;
  lan.ifindex = kLan;
  lan.name = "lan";
  lan.kind = "bridge";
  lan.mac = {2, 0, 0, 0, 0, 0xee};
  lan.mtu = 1500;
  lan.up = lan.carrier = true;
  lan.bridge = LinuxBridge{true, false, 300};
  bed->events.link(lan, false);
  LinuxLink vlan = lan;
  vlan.ifindex = 41;
  vlan.name = "lan.9";
  vlan.kind = "vlan";
  vlan.parent = kLan;
  vlan.vlan = 9;
  vlan.mtu = 1400;
  vlan.bridge.reset();
  bed->events.link(vlan, false);
  for (const char* name : {"wan0", "lan0"}) {
    LinuxLink link;
    link.ifindex = bed->interface(name).ifindex;
    link.name = name;
    link.mac = bed->interface(name).mac;
    link.mtu = name[0] == 'w' ? 1300 : 1500;
    link.up = link.carrier = true;
    link.master = kLan;
    link.bridge_port = LinuxBridgePort{};
    bed->events.link(link, false);
  }
  for (const int ifindex : {kLan, bed->interface("lan0").ifindex})
    bed->events.bridge_vlans({ifindex, 9, 9, false, false}, false);
  bridges.tick();
  const json rows = show_mtu({bed->interfaces.table(), bed->routing, bed->plane, &bridges},
                             nullptr)["interfaces"];
  EXPECT_EQ(row(rows, "name", "lan"), json::parse(R"json({
    "name": "lan", "port": null, "ports": [{"name": "wan0", "mtu": 1300}, {"name": "lan0", "mtu": 1500}],
    "vlan": null, "outer_vlan": null, "mtu": 1500, "file": null, "port_mtu": 1300, "port_most": null, "device": null,
    "linux": 1500, "mss_clamp": "off",
    "mismatches": ["port wan0 of the bridge has 1300: frames longer than that are lost there (bridge_too_long)"]})json"));
  EXPECT_EQ(row(rows, "name", "lan.9")["mtu"], 1400);
  EXPECT_EQ(row(rows, "name", "lan.9")["ports"], json::parse(R"([{"name": "lan0", "mtu": 1500}])"))
      << "wan0 is not in its VLAN";
  EXPECT_EQ(row(rows, "name", "lan.9")["mismatches"], json::array());
  EXPECT_EQ(row(rows, "name", "wan0")["port"], "wan0");
}

TEST(ShowMtu, OnTheWayToAnAddress) {
  const auto bed = ControlBed::started(kBase);
  PacketAnswer packet;
  packet.source = ip("192.0.2.1");
  const auto path = [&](const char* address) {
    const Explanation explanation = bed->routing.explain(ip(address));
    const MtuPath asked{explanation, packet};
    return show_mtu({bed->interfaces.table(), bed->routing, bed->plane, nullptr}, &asked)["path"];
  };
  EXPECT_EQ(path("198.51.100.7"), json::parse(R"({
    "address": "198.51.100.7", "from": "192.0.2.1", "match": "198.51.100.0/24", "mtu": 1500,
    "ways": [{"interface": "wan0", "gateway": "192.0.2.9", "interface_mtu": 1500,
              "route_mtu": null, "mtu": 1500}],
    "tunnel": null, "why": []})"));
  packet.spi = 0x1001;
  packet.tunnel = {ip("192.0.2.9"), 1500, 1400, 1338};
  const json protected_way = path("198.51.100.7");
  EXPECT_EQ(protected_way["mtu"], 1338);
  EXPECT_EQ(protected_way["tunnel"],
            json::parse(R"({"spi": "0x00001001", "end": "192.0.2.9", "next_hop_mtu": 1500,
                            "path_mtu": 1400, "mtu": 1338})"));
  EXPECT_EQ(protected_way["why"],
            json({"a router on the way to 192.0.2.9 has told 1400 (ICMP), the next hop takes 1500",
                  "as ESP to 192.0.2.9 1338 bytes become 1400 at most"}));
  packet = {};
  packet.reason = Reason::kBlackhole;
  EXPECT_EQ(path("198.18.0.1")["mtu"], nullptr);
  EXPECT_EQ(path("198.18.0.1")["why"].back(),
            "a packet to it does not go on: blackhole, a route of type blackhole");
}

}  // namespace
}  // namespace hecto::router::test
