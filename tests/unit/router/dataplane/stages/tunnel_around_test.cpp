// Tunnels among what else holds for their packets: uRPF of the wire, policers, filters that lead, and
// tunnels that go while packets of theirs are under way.
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/wanted_neighbors.hpp"
#include "router/dataplane/stages/opened_frame.hpp"
#include "tests/unit/router/dataplane/stages/tunnel_bed.hpp"

namespace hecto::router::test {
namespace {

using config::FiltersConfig;

constexpr uint64_t kOpenedFlag = uint64_t{1} << 40;
constexpr uint32_t kLedTable = 100;  // of Linux

class TunnelAroundTest : public TunnelBed {
 protected:
  void filter(Gateway& gateway, const FiltersConfig& config) {
    FilterSurroundings around;
    around.interface = [](const std::string& name) {
      return name == "tun" ? kTunnelId : name == "in" ? InterfaceId(0) : kNoInterface;
    };
    around.table = [&](const config::FilterRuleConfig& rule) {
      return gateway.routing().fib_table(rule.table);
    };
    auto made = FilterTables::compile(config, around);
    ASSERT_TRUE(made) << made.error().message;
    gateway.snapshot().filters = filters_ = *made;
  }
  // All that comes in by the interface is led to the table.
  void lead(Gateway& gateway, const std::string& in) {
    FiltersConfig all;
    all.filters.resize(1);
    all.filters[0].name = "lead";
    all.filters[0].in = {in};
    all.filters[0].rules.resize(1);
    all.filters[0].rules[0].table = kLedTable;
    filter(gateway, all);
  }
  static void led_route(Gateway& gateway, const std::string& to, const NextHop& hop) {
    Route route;
    route.prefix = *IpPrefix::parse(to);
    route.origin = RouteOrigin::kFile;
    route.table = kLedTable;
    route.next_hops = {hop};
    ASSERT_TRUE(gateway.routing().add(route));
    gateway.routing().commit();
  }
  static Frame to_port(Frame frame, PortId port) {
    const MacAddress mac = own_mac(port);
    std::copy(mac.begin(), mac.end(), frame.begin());
    return frame;
  }
  std::shared_ptr<const FilterTables> filters_;
};

TEST_F(TunnelAroundTest, OuterSourcesPassTheReversePathOfTheWire) {
  right_.snapshot().features |= kFeatureUrpf;
  for (PortView& port : right_.snapshot().ports) port.features |= kFeatureUrpf;
  for (const Family family : {Family::kIpv4, Family::kIpv6}) {
    SCOPED_TRACE(family == Family::kIpv4 ? "IPv4" : "IPv6");
    if (family == Family::kIpv4)
      make(true, family);
    else
      for (Gateway* gateway : {&left_, &right_})
        set(*gateway, {{kTunnelId, kNoInterface, between(gateway->side(), true, family)}});
    InterfaceView& lan = right_.snapshot().interfaces[0];
    const Frame seen = outer(ipv4_frame(from_left()));
    ASSERT_FALSE(seen.empty());
    // The same from a host of the LAN, whence no way leads back to the other end.
    const auto spoofed = [&](unsigned packets) {
      std::vector<rte_mbuf*> all;
      for (unsigned i = 0; i < packets; ++i) all.push_back(packet(to_port(seen, 0)));
      right_.run(all, 0);
      return taken(right_, 0).size();
    };
    lan.urpf = UrpfMode::kOff;
    const uint64_t before = received_by_tunnel();
    EXPECT_EQ(spoofed(1), 1u);
    lan.urpf = UrpfMode::kLoose;
    EXPECT_EQ(spoofed(1), 1u) << "there is a way, by another interface";
    lan.urpf = UrpfMode::kStrict;
    EXPECT_EQ(spoofed(3), 0u);
    EXPECT_EQ(right_.refused(), std::vector<Reason>(3, Reason::kUrpf));
    EXPECT_EQ(received_by_tunnel(), before + 2);
    lan.urpf = UrpfMode::kOff;
    right_.snapshot().interfaces[1].urpf = UrpfMode::kStrict;
    EXPECT_EQ(arrived(seen).size(), 1u) << "whence the way leads";
  }
}

TEST_F(TunnelAroundTest, PolicersOfATunnelsInterfaceHoldWhatComesOutOfIt) {
  make(true, Family::kIpv4);
  const Frame four = outer(ipv4_frame(from_left())), six = outer(ipv6_frame(from_left6()));
  FiltersConfig all;
  all.policers.resize(1);
  all.policers[0].name = "thin";
  all.policers[0].rate_bps = 8000;
  all.policers[0].burst_bytes = 260;  // 120 and 140 of what is inside
  all.policers[0].in = {"tun"};
  filter(right_, all);
  const Frame plain = ipv4_frame(from_host("192.0.2.1", "10.2.0.1"));
  std::vector<rte_mbuf*> packets;
  for (const Frame* frame : {&plain, &four, &six, &four, &plain, &plain, &plain})
    packets.push_back(carried(packet(*frame)));
  right_.run(packets, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPoliced});
  EXPECT_EQ(taken(right_, 0).size(), 6u) << "what came by the wire alone is nobody's to hold";
  EXPECT_EQ(filters_->policers().at(0).red.packets, 1u);
}

TEST_F(TunnelAroundTest, WhatATunnelHasBroughtAndAFilterLeadsAsksForTheInnerOnesNeighbor) {
  make(false, Family::kIpv4);  // GRE's last bytes would do for the end of an Ethernet header
  NextHop unknown;
  unknown.gateway = IpAddress::parse("10.2.0.77");
  unknown.interface = 0;
  led_route(right_, "10.2.0.0/24", unknown);
  lead(right_, "tun");
  rte_mbuf* const came = carried(packet(outer(ipv4_frame(from_left()))));
  const Frame seen = bytes_of(came);
  right_.run({came}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kFilterUnresolved});
  EXPECT_EQ(right_.refused_frames()[0].second, seen);
  const std::vector<WantedNeighbor> wanted = filters_->wanted()->take();
  ASSERT_EQ(wanted.size(), 1u);
  EXPECT_EQ(wanted[0].destination.to_string(), "10.2.0.1");
  EXPECT_EQ(wanted[0].table, right_.routing().fib_table(kLedTable));
}

TEST_F(TunnelAroundTest, WhatIsUnderWayWhenItsTunnelGoesIsPuntedWhole) {
  make(true, Family::kIpv4);
  const Frame seen = outer(ipv4_frame(from_left()));
  ASSERT_EQ(arrived(seen).size(), 1u);
  right_.snapshot().tunnels = nullptr;
  EXPECT_TRUE(arrived(seen).empty());
  EXPECT_EQ(right_.refused(), std::vector{Reason::kLocal}) << "it is Linux's now";
  // One that was opened before, and comes from a device that has found no route.
  constexpr unsigned kOuterBytes = 24;
  rte_mbuf* const opened = carried(packet(seen));
  const Frame whole = bytes_of(opened);
  opened->port = 1;
  begin_later(opened, kOuterBytes);
  opened->ol_flags |= kOpenedFlag;
  const auto chunk = std::make_unique<Chunk>();
  chunk->v4.packets[0] = opened;
  chunk->v4.destinations[0] = 0x0a020001;
  chunk->v4.groups[0] = lookup::kNoRoute;
  chunk->v4.ingress[0] = {kTunnelId, kEthernetBytes};
  chunk->v4.count = 1;
  right_.run({}, 1);
  right_.pipeline().after_lookup(*chunk);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kNoRoute});
  ASSERT_EQ(right_.refused_frames().size(), 1u);
  EXPECT_EQ(right_.refused_frames()[0].first, InterfaceId(1)) << "where the whole of it came in";
  EXPECT_EQ(right_.refused_frames()[0].second, whole);
}

}  // namespace
}  // namespace hecto::router::test
