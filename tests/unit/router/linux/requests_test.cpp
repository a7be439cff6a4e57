#include "router/linux/requests.hpp"

#include <linux/neighbour.h>

#include "tests/unit/router/linux/test_namespace.hpp"

namespace hecto::router {
namespace {

class Requests : public NamespaceTest {
 protected:
  void SetUp() override {
    NamespaceTest::SetUp();
    if (!space_) return;
    wan_ = std::make_unique<Tap>(make_tap("wan0"));
    auto opened = NetlinkRequests::open(*space_);
    ASSERT_TRUE(opened) << opened.error().message;
    requests_ = std::make_unique<NetlinkRequests>(std::move(*opened));
  }
  Route route(const std::string& prefix, const std::vector<std::string>& gateways) {
    Route route;
    route.prefix = *IpPrefix::parse(prefix);
    for (const auto& gateway : gateways) {
      NextHop hop;
      hop.gateway = IpAddress::parse(gateway);
      hop.ifindex = wan_->ifindex();
      route.next_hops.push_back(hop);
    }
    return route;
  }

  std::unique_ptr<Tap> wan_;
  std::unique_ptr<NetlinkRequests> requests_;
};

TEST_F(Requests, FindsInterfacesByName) {
  EXPECT_EQ(requests_->ifindex("wan0").value(), wan_->ifindex());
  EXPECT_EQ(requests_->ifindex("not0").value(), 0);
}

TEST_F(Requests, SetsLinksUpDownMtuAndMac) {
  const int wan = wan_->ifindex();
  ASSERT_TRUE(requests_->set_link_mtu(wan, 1400));
  ASSERT_TRUE(requests_->set_link_mac(wan, {2, 0, 0, 0, 0, 0x55}));
  EXPECT_NE(ip("link show wan0").find("mtu 1400"), std::string::npos);
  EXPECT_NE(ip("link show wan0").find("02:00:00:00:00:55"), std::string::npos);
  ASSERT_TRUE(requests_->set_link_up(wan, false));
  EXPECT_EQ(ip("link show wan0").find(",UP"), std::string::npos);
  ASSERT_TRUE(requests_->set_link_up(wan, true));
  EXPECT_NE(ip("link show wan0").find(",UP"), std::string::npos);
  const auto refused = requests_->set_link_mtu(wan, 70000);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("set MTU 70000"), std::string::npos);
  EXPECT_NE(refused.error().message.find("mtu greater than device maximum"), std::string::npos)
      << refused.error().message;
}

TEST_F(Requests, AddsAndRemovesAddresses) {
  const int wan = wan_->ifindex();
  const auto v4 = *IpPrefix::parse_interface("192.0.2.1/24");
  const auto v6 = *IpPrefix::parse_interface("2001:db8::1/64");
  ASSERT_TRUE(requests_->add_address(wan, v4));
  ASSERT_TRUE(requests_->add_address(wan, v4));  // there already: no error
  ASSERT_TRUE(requests_->add_address(wan, v6, true));
  EXPECT_NE(ip("addr show wan0").find("192.0.2.1/24"), std::string::npos);
  EXPECT_NE(ip("addr show wan0").find("2001:db8::1/64"), std::string::npos);
  ASSERT_TRUE(requests_->remove_address(wan, v4));
  const auto again = requests_->remove_address(wan, v4);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().error_number, EADDRNOTAVAIL);
}

TEST_F(Requests, AddsMultipathViaAndDropRoutesUnderOurProtocol) {
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("-6 addr add 2001:db8::1/64 dev wan0 nodad");
  ASSERT_TRUE(
      requests_->add_route(route("10.0.0.0/8", {"192.0.2.2", "192.0.2.3"}), RequestMode::kAdd));
  ASSERT_TRUE(requests_->add_route(route("11.0.0.0/8", {"2001:db8::2"}), RequestMode::kAdd));
  ASSERT_TRUE(requests_->add_route(route("2001:db8:f::/48", {"2001:db8::2", "2001:db8::3"}),
                                   RequestMode::kAdd));
  Route blackhole = route("12.0.0.0/8", {});
  blackhole.type = RouteType::kBlackhole;
  ASSERT_TRUE(requests_->add_route(blackhole, RequestMode::kAdd));
  const std::string shown = ip("route show proto 100") + ip("-6 route show proto 100");
  EXPECT_NE(shown.find("nexthop via 192.0.2.3"), std::string::npos) << shown;
  EXPECT_NE(shown.find("11.0.0.0/8 via inet6 2001:db8::2"), std::string::npos) << shown;
  EXPECT_NE(shown.find("blackhole 12.0.0.0/8"), std::string::npos) << shown;
  EXPECT_NE(shown.find("nexthop via 2001:db8::3"), std::string::npos) << shown;

  const auto twice = requests_->add_route(route("10.0.0.0/8", {"192.0.2.4"}), RequestMode::kAdd);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().error_number, EEXIST);
  EXPECT_TRUE(requests_->add_route(route("10.0.0.0/8", {"192.0.2.4"}), RequestMode::kReplace));
  EXPECT_TRUE(requests_->remove_route(route("10.0.0.0/8", {})));
  EXPECT_TRUE(requests_->remove_route(blackhole));
  const auto unreachable =
      requests_->add_route(route("13.0.0.0/8", {"203.0.113.1"}), RequestMode::kAdd);
  ASSERT_FALSE(unreachable);
  EXPECT_NE(unreachable.error().message.find("13.0.0.0/8 via 203.0.113.1"), std::string::npos);
  EXPECT_NE(unreachable.error().message.find("invalid gateway"), std::string::npos)
      << unreachable.error().message;
}

TEST_F(Requests, BatchGoesOnAfterAFailureAndNamesIt) {
  ip("addr add 192.0.2.1/24 dev wan0");
  std::vector<RouteRequest> batch;
  for (int i = 0; i < 5000; ++i) {
    const bool broken = i % 1000 == 7;
    batch.push_back(
        {route("10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24",
               {broken ? "203.0.113.1" : "192.0.2.2"})});
  }
  const auto outcome = requests_->apply(batch, RequestMode::kAdd);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->done, 4995U);
  EXPECT_EQ(outcome->failed, 5U);
  ASSERT_EQ(outcome->failures.size(), 5U);
  EXPECT_EQ(outcome->failures[1].index, 1007U);
  for (auto& request : batch) request.remove = true;
  EXPECT_EQ(requests_->apply(batch, RequestMode::kAdd)->done, 4995U);
  EXPECT_EQ(ip("route show proto 100"), "");
}

TEST_F(Requests, PinsAndRemovesNeighbors) {
  const int wan = wan_->ifindex();
  const auto v4 = *IpAddress::parse("192.0.2.2");
  const auto v6 = *IpAddress::parse("2001:db8::2");
  ASSERT_TRUE(requests_->set_permanent_neighbor(wan, v4, {2, 0, 0, 0, 0, 0x22}));
  ASSERT_TRUE(requests_->set_permanent_neighbor(wan, v6, {2, 0, 0, 0, 0, 0x23}));
  EXPECT_NE(ip("neigh").find("192.0.2.2 dev wan0 lladdr 02:00:00:00:00:22 PERMANENT"),
            std::string::npos);
  ASSERT_TRUE(requests_->remove_neighbor(wan, v4));
  ASSERT_TRUE(requests_->remove_neighbor(wan, v6));
  EXPECT_EQ(ip("neigh show dev wan0 nud permanent"), "");
}

TEST_F(Requests, ProbesAStaleNeighborAndResolvesANewOne) {
  ip("addr add 192.0.2.1/24 dev wan0");
  ip("neigh add 192.0.2.2 lladdr 02:00:00:00:00:22 dev wan0 nud stale");
  const int wan = wan_->ifindex();
  ASSERT_TRUE(requests_->probe_neighbor(wan, *IpAddress::parse("192.0.2.2")));
  EXPECT_NE(ip("neigh show 192.0.2.2").find("DELAY"), std::string::npos) << ip("neigh");
  ASSERT_TRUE(requests_->probe_neighbor(wan, *IpAddress::parse("192.0.2.9")));
  EXPECT_NE(ip("neigh show 192.0.2.9").find("INCOMPLETE"), std::string::npos) << ip("neigh");
}

}  // namespace
}  // namespace hecto::router
