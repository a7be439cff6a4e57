// Neighbors that packets wait for which a filter leads into a tunnel of Linux.
#include "router/control/tunnel_control.hpp"
#include "router/dataplane/filter/wanted_neighbors.hpp"
#include "tests/beds/control.hpp"
#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

constexpr const char* kLeading = R"(
workers: {0: [1]}
ports:
  wan0: {device: eth1, addresses: [192.0.2.1/24]}
  lan0: {device: eth2, addresses: [10.1.0.254/24]}
filters: {lead: {in: [lan0], rules: [{table: 100}]}}
)";
constexpr int kGre1 = 60;
constexpr uint32_t kLedTable = 100;

// With a filter that leads to table 100, where the way is gre1.
class FilterTunnelTest : public testing::Test {
 protected:
  FilterTunnelTest() {
    pool();  // dynamic fields of mbufs are DPDK's
    bed = ControlBed::started(kLeading, true);
  }
  static LinuxLink gre1() {
    LinuxLink link;
    link.ifindex = kGre1;
    link.name = "gre1";
    link.kind = "gre";
    link.mtu = 1476;
    link.up = link.carrier = true;
    LinuxTunnel& tunnel = link.tunnel.emplace();
    tunnel.gre = true;
    tunnel.local = *IpAddress::parse("192.0.2.1");
    tunnel.remote = *IpAddress::parse("192.0.2.2");
    return link;
  }
  // By a device, to a gateway or to whoever is there.
  void route(const std::string& prefix, int ifindex, const char* gateway = nullptr,
             uint32_t table = kTableMain, bool replace = false) {
    Route made;
    made.prefix = *IpPrefix::parse(prefix);
    made.table = table;
    NextHop hop;
    hop.ifindex = ifindex;
    if (gateway != nullptr) hop.gateway = IpAddress::parse(gateway);
    made.next_hops = {hop};
    bed->events.route(made, false, replace);
  }
  std::vector<std::pair<int, lookup::IpAddress>> wanted_for(const std::string& destination) {
    bed->routing.commit();
    bed->plane.filters->wanted()->add(
        0, {*IpAddress::parse(destination), *bed->routing.fib_table(kLedTable)});
    return bed->filters.take_wanted();
  }

  std::unique_ptr<ControlBed> bed;
};

TEST_F(FilterTunnelTest, NeighborsOfItsEndAreAskedForWhereLedPacketsWait) {
  TunnelControl tunnels{bed->routing, bed->interfaces, bed->plane};
  bed->events.link(gre1(), false);
  tunnels.tick();
  const int wan0 = bed->interface("wan0").ifindex;
  const auto neighbor = [&](const char* address) {
    return std::vector{std::pair{wan0, *IpAddress::parse(address)}};
  };
  route("10.2.0.0/24", kGre1, "10.9.0.2", kLedTable);
  route("192.0.2.0/24", wan0);
  EXPECT_EQ(wanted_for("10.2.0.1"), neighbor("192.0.2.2"));
  route("192.0.2.2/32", wan0, "192.0.2.9");
  EXPECT_EQ(wanted_for("10.2.0.1"), neighbor("192.0.2.9"));
  // Its end lies behind itself.
  route("192.0.2.2/32", kGre1, nullptr, kTableMain, true);
  EXPECT_TRUE(wanted_for("10.2.0.1").empty());
}

}  // namespace
}  // namespace hecto::router::test
