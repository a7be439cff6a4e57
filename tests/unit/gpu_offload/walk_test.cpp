// One look-up of the walk against lookup's own kernels and the naive twin.
#include "lookup/walk.hpp"

#include <gtest/gtest.h>

#include "gpu_offload/kernels.hpp"
#include "tests/beds/naive.hpp"
#include "tests/beds/random_table.hpp"
#include "tests/beds/real_table.hpp"
#include "tests/beds/seed.hpp"
#include "tests/beds/test_table.hpp"

namespace hecto::gpu_offload {
namespace {

using namespace lookup;

// What a device gives for these destinations, in a job of its own.
template <typename Kind>
std::vector<GroupId> shade(const TestTable<Kind>& table,
                           const std::vector<typename Kind::Address>& destinations) {
  std::vector<GroupId> groups(destinations.size(), 0xdead);
  Job job{};
  job.kind = Kind::kIsIpv4 ? JobKind::kLookup4 : JobKind::kLookup6;
  job.table = Kind::kTable;
  job.count = static_cast<uint32_t>(destinations.size());
  job.arena = table.arena();
  job.arena_info = *table.arena();
  job.input = destinations.data();
  job.output = groups.data();
  EXPECT_TRUE(run_on_cpu(job));
  return groups;
}

using MainTables = ::testing::Types<DirectTable4, TrieTable4, MainTable6>;

template <typename Kind>
class WalkTest : public ::testing::Test {};
TYPED_TEST_SUITE(WalkTest, TableKinds);

TYPED_TEST(WalkTest, AnswersAsKernelsAndNaiveTwinDo) {
  using Address = typename TypeParam::Address;
  const uint64_t seed = test_seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  for (size_t prefixes : {size_t{1}, size_t{1000}}) {
    RandomTable<Address> random(seed + prefixes);
    TestTable<TypeParam> table;
    NaiveFib<Address> naive;
    for (size_t i = 0; i < prefixes; ++i) {
      auto prefix = random.prefix();
      auto group = static_cast<GroupId>(random.rng()() % (kMaxGroupId + 1));
      ASSERT_TRUE(table.add(prefix, group));
      naive.add(prefix, group);
    }
    table.publish();
    std::vector<Address> destinations(4000);
    for (Address& destination : destinations) destination = random.destination();
    auto groups = shade(table, destinations);
    ASSERT_EQ(groups, table.lookup(destinations));
    for (size_t i = 0; i < destinations.size(); ++i) {
      ASSERT_EQ(groups[i], naive.lookup(destinations[i])) << destinations[i].to_string();
    }
  }
}

const std::vector<std::string>& real_lines() {
  static const auto lines = read_real_table();
  return lines;
}

// Of one family; empty where there is no such table.
template <typename Address>
const std::vector<Route<Address>>& real_routes() {
  static const auto routes = [] {
    std::vector<Route<Address>> parsed;
    for (const std::string& line : real_lines()) {
      auto prefix = Prefix<Address>::parse(line);
      if (prefix) parsed.push_back({*prefix, group_of(line)});
    }
    return parsed;
  }();
  return routes;
}

template <typename Kind>
class RealTableWalkTest : public ::testing::Test {};
TYPED_TEST_SUITE(RealTableWalkTest, MainTables);

TYPED_TEST(RealTableWalkTest, AnswersAsKernelsDo) {
  using Address = typename TypeParam::Address;
  const auto& routes = real_routes<Address>();
  if (routes.empty()) GTEST_SKIP() << "no " << kRealTable << " in HECTO_DATA or ../shared/data";
  TestTable<TypeParam> table;
  ASSERT_TRUE(table.fib().load(routes, TypeParam::kTable));
  Rng rng(test_seed());
  std::vector<Address> destinations(200000);
  for (Address& destination : destinations) {
    destination = random_address(rng, Address{});
    if (rng() % 8) destination = put_inside(routes[rng() % routes.size()].prefix, destination);
  }
  ASSERT_EQ(shade(table, destinations), table.lookup(destinations));
}

}  // namespace
}  // namespace hecto::gpu_offload
