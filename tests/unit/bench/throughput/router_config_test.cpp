#include "bench/throughput/router_config.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <tuple>

#include "config/file/load.hpp"
#include "router/rib/route_file.hpp"
#include "tests/unit/bench/lib/folder.hpp"

namespace hecto::bench {
namespace {

TEST(RouterYaml, IsAConfigurationThatHectodTakes) {
  const Folder folder;
  RouterOptions options;
  options.worker_cpus = {1};
  options.mtu = 9000;
  options.burst = 32;
  options.idle = "adaptive";
  options.default_route = true;
  RouterChanges changes;
  for (const bool spare : {false, true}) {
    changes.spare_port = changes.other_burst = spare;
    const auto config = config::parse(router_yaml(options, folder.path(), changes), "test.yaml");
    ASSERT_TRUE(config) << config.error()[0];
    EXPECT_FALSE(config->linux_side.enabled);
    EXPECT_EQ(config->ports.size(), spare ? 3u : 2u);
    EXPECT_TRUE(config->ports[0].device.ends_with("mac=02:00:00:00:00:01"));
    EXPECT_EQ(config->ports[1].mtu, 9000);
    EXPECT_EQ(config->idle, IdleMode::kAdaptive);
    EXPECT_EQ(config->burst, spare ? 16u : 32u);
    EXPECT_EQ(config->neighbors.size(), 2 * options.next_hops);
    EXPECT_EQ(config->routes.size(), 2u);
  }
}

TEST(RouterYaml, OverVethNamesTheInterfacesOfWithVeth) {
  const Folder folder;
  RouterOptions options;
  options.worker_cpus = {1};
  options.veth = true;
  const auto config = config::parse(router_yaml(options, folder.path()), "test.yaml");
  ASSERT_TRUE(config) << config.error()[0];
  EXPECT_EQ(config->ports[0].device, "r0");
  EXPECT_EQ(config->ports[1].kind, config::DeviceKind::kKernel);
  EXPECT_EQ(generator_device(options, folder.path(), 1), "g1");
}

TEST(WriteRoutes, GivesEachPrefixANextHopOfItsFamily) {
  const Folder folder;
  const RouteSet routes = {"test",
                           {*lookup::IpPrefix::parse("10.0.0.0/8")},
                           {*lookup::IpPrefix::parse("2001:db8:77::/48")}};
  ASSERT_TRUE(write_routes(routes, 200, folder / "routes.txt"));
  const auto read = router::read_routes(folder / "routes.txt", {});
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->table.entries.size(), 2u);
  EXPECT_EQ(read->skipped, 0u);
  EXPECT_FALSE(write_routes(routes, 64, "/nonexistent/routes.txt"));
}

TEST(ChooseRoutes, TakesAsManyAsAskedForFromAllOverTheTable) {
  const Folder folder;
  std::ofstream file(folder / "table.txt");
  for (unsigned i = 0; i < 200; ++i) file << "10." << i << ".0.0/16\n";
  file << "2001:db8::/32\n";
  file.close();
  const auto some = choose_routes(folder / "table.txt", ".", 20);
  ASSERT_TRUE(some) << some.error().message;
  ASSERT_EQ(some->v4.size(), 20u);
  EXPECT_EQ(some->v4[19].to_string(), "10.190.0.0/16");
  EXPECT_EQ(some->v6.size(), 1u);
  EXPECT_EQ(choose_routes(folder / "table.txt", ".", 0)->v4.size(), 200u);
  EXPECT_FALSE(choose_routes("/nonexistent/table.txt", ".", 0));
}

TEST(PlanCpus, KeepsGeneratorAndWorkersApartWhereItCan) {
  const CpuPlan one = plan_cpus({3}, 1);
  EXPECT_EQ(one.generator, std::vector<unsigned>{3});
  EXPECT_EQ(one.workers, std::vector<unsigned>{3});
  const CpuPlan two = plan_cpus({0, 1}, 1);
  EXPECT_EQ(two.generator, std::vector<unsigned>{0});
  EXPECT_EQ(two.workers, std::vector<unsigned>{1});
  EXPECT_EQ(two.control, 0u);
  const CpuPlan many = plan_cpus({0, 1, 2, 3, 4, 5}, 3);
  EXPECT_EQ(many.generator, std::vector<unsigned>{1});
  EXPECT_EQ(many.workers, (std::vector<unsigned>{2, 3, 4}));
  EXPECT_EQ(many.control, 0u);
  EXPECT_EQ(plan_cpus({0, 1, 2, 3}, 3).workers.size(), 3u);
}

// The longest prefix decides, as in the router's table.
TEST(RouterConfig, KnowsWhereEachDestinationGoes) {
  for (const auto& [wide, narrow, within, beside, outside] :
       {std::tuple("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", "10.2.0.1", "192.0.2.1"),
        std::tuple("2001:db8::/32", "2001:db8:1::/48", "2001:db8:1::9", "2001:db8:2::1",
                   "2001:db9::1")}) {
    const std::vector<lookup::IpPrefix> table = {*lookup::IpPrefix::parse(wide),
                                                 *lookup::IpPrefix::parse(narrow)};
    const auto mac = [&](const char* prefix) { return next_hop_mac(router::fnv1a32(prefix) % 64); };
    ASSERT_NE(mac(wide), mac(narrow));
    const auto at = [](const char* text) { return *lookup::IpAddress::parse(text); };
    NextHopMac next_hop = next_hops_of(table, 64, {});
    EXPECT_EQ(next_hop(at(within)), mac(narrow));
    EXPECT_EQ(next_hop(at(beside)), mac(wide));
    EXPECT_EQ(next_hop(at(outside)), next_hop_mac(0));  // the default route's
    next_hop = next_hops_of(table, 64, {table[1]});
    EXPECT_EQ(next_hop(at(within)), std::nullopt);
    EXPECT_EQ(next_hop(at(beside)), mac(wide));
  }
  EXPECT_FALSE(next_hops_of({}, 64, {}));
}

}  // namespace
}  // namespace hecto::bench
