// Whole tables at once.
#include "bench/lib/synthetic_table.hpp"
#include "tests/beds/growth.hpp"
#include "tests/unit/router/rib/rib_bed.hpp"
#include "tests/unit/router/rib/scale.hpp"

namespace hecto::router::test {

namespace {

std::shared_ptr<RouteTable> table_of(const std::vector<std::string>& prefixes,
                                     const std::vector<std::string>& gateways) {
  auto table = std::make_shared<RouteTable>();
  for (const std::string& gateway : gateways) table->next_hop_sets.push_back({hop(0, gateway)});
  for (size_t i = 0; i < prefixes.size(); ++i) {
    table->entries.push_back({net(prefixes[i]), static_cast<uint32_t>(i % gateways.size())});
  }
  return table;
}

class LoadTable : public testing::Test {
 protected:
  void SetUp() override {
    bed.add_interface(0, "10.0.0.254/24");
    for (uint8_t i = 1; i <= 4; ++i) bed.neighbor(11, fmt::format("10.0.0.{}", i), i);
  }
  Bed bed;
};

TEST_F(LoadTable, AddsReplacesAndCounts) {
  auto first = bed.routing->load(table_of({"20.1.0.0/16", "20.2.0.0/16"}, {"10.0.0.1"}), {});
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->added, 2u);
  auto second = bed.routing->load(
      table_of({"20.1.0.0/16", "20.2.0.0/16", "20.3.0.0/16"}, {"10.0.0.1", "10.0.0.2"}), {});
  ASSERT_TRUE(second);
  EXPECT_EQ(second->unchanged, 1u);
  EXPECT_EQ(second->replaced, 1u);
  EXPECT_EQ(second->added, 1u);
  EXPECT_EQ(bed.verdict("20.2.0.1"), "if0 02");
}

TEST_F(LoadTable, ReplaceDeletesWhatTheFileDoesNotHold) {
  ASSERT_TRUE(bed.routing->add(api_route("20.9.0.0/16", "10.0.0.3")));
  bed.add(linux_route("20.8.0.0/16", {hop(11, "10.0.0.3")}));
  ASSERT_TRUE(bed.routing->load(table_of({"20.1.0.0/16", "20.2.0.0/16"}, {"10.0.0.1"}), {}));
  LoadOptions options;
  options.replace = true;
  auto counts = bed.routing->load(table_of({"20.2.0.0/16"}, {"10.0.0.1"}), options);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->removed, 2u);
  EXPECT_EQ(bed.routing->counts().by_origin[2], 1u);
  EXPECT_EQ(bed.verdict("20.8.0.1"), "if0 03");
  EXPECT_EQ(bed.verdict("20.9.0.1"), "punt no_route");
}

TEST_F(LoadTable, InStepsAndTakenBack) {
  auto id = bed.routing->begin_load(
      check_table(table_of({"20.1.0.0/16", "20.2.0.0/16", "20.3.0.0/16"}, {"10.0.0.1"})).value(),
      {});
  ASSERT_TRUE(id);
  EXPECT_EQ(bed.routing->continue_load(*id, 2), 1u);
  EXPECT_EQ(bed.verdict("20.2.0.1"), "if0 01");
  EXPECT_EQ(bed.verdict("20.3.0.1"), "punt no_route");
  EXPECT_EQ(bed.routing->continue_load(*id, 2), 0u);
  EXPECT_EQ(bed.routing->end_load(*id).added, 3u);
  EXPECT_EQ(bed.routing->remove_load(*id), 3u);
  EXPECT_EQ(bed.routing->counts().total, 0u);
  EXPECT_EQ(bed.routing->statistics().sets, 0u);
}

TEST_F(LoadTable, AbandonedLoadLeavesNothing) {
  auto id = bed.routing->begin_load(
      check_table(table_of({"20.1.0.0/16", "20.2.0.0/16"}, {"10.0.0.1"})).value(), {});
  ASSERT_TRUE(id);
  bed.routing->continue_load(*id, 1);
  EXPECT_EQ(bed.routing->remove_load(*id), 1u);
  EXPECT_EQ(bed.routing->continue_load(*id, 1), 0u);
  EXPECT_EQ(bed.routing->statistics().sets, 0u);
}

TEST_F(LoadTable, ListedRoutesAreDeleted) {
  ASSERT_TRUE(bed.routing->load(table_of({"20.1.0.0/16", "20.2.0.0/16"}, {"10.0.0.1"}), {}));
  auto list = table_of({"20.2.0.0/16", "20.7.0.0/16"}, {"10.0.0.4"});
  EXPECT_EQ(bed.routing->remove_listed(*list, RouteOrigin::kApi, 0), 1u);
  EXPECT_EQ(bed.verdict("20.2.0.1"), "punt no_route");
}

TEST_F(LoadTable, RefusedAsAWholeBeforeAnythingChanges) {
  auto none = table_of({"20.1.0.0/16"}, {"10.0.0.1"});
  none->next_hop_sets.push_back({});
  none->entries.push_back({net("20.2.0.0/16"), 1});
  auto refused = bed.routing->load(none, {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "load: 20.2.0.0/16 has no next hop; give one with --via");
  auto wrong = bed.routing->load(table_of({"2001:db8::/32"}, {"10.0.0.1"}), {});
  EXPECT_FALSE(wrong);
  std::vector<std::string> prefixes, gateways;
  for (int i = 0; i < 700; ++i) {
    prefixes.push_back(fmt::format("20.{}.{}.0/24", i / 250, i % 250));
    gateways.push_back(fmt::format("10.0.{}.{}", i / 250, i % 250));
  }
  auto many = bed.routing->load(table_of(prefixes, gateways), {});
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().message,
            "load: its 700 sets of next hops do not fit into 512 next-hop groups; raise "
            "tables.groups");
  EXPECT_EQ(bed.routing->counts().total, 0u);
  EXPECT_EQ(bed.routing->statistics().sets, 0u);
}

TEST_F(LoadTable, FullSyntheticTableFitsInMemoryAndTakesTimeInProportion) {
  RouteFileOptions options;
  for (uint8_t i = 1; i <= 4; ++i) options.via.push_back(hop(11, fmt::format("10.0.0.{}", i)));
  for (uint8_t i = 1; i <= 4; ++i) options.via.push_back(hop(11, fmt::format("fe80::{}", i)));
  uint64_t bytes_per_prefix = 0;
  const auto comes_and_goes = [&](double scale) {
    const std::vector<IpPrefix> prefixes = synthetic_prefixes(1, scale);
    const auto table = std::make_shared<RouteTable>(with_next_hops(prefixes, options).table);
    ASSERT_EQ(table->entries.size(), prefixes.size());
    const auto counts = bed.routing->load(table, {});
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->added, prefixes.size());
    EXPECT_EQ(counts->refused, 0u);
    bytes_per_prefix = bed.routing->statistics().rib_bytes / prefixes.size();
    EXPECT_EQ(bed.routing->remove_origin(RouteOrigin::kApi), prefixes.size());
  };
  const Growth ten = growth(
      1, [&] { comes_and_goes(kTableScale / 10); }, [&] { comes_and_goes(kTableScale); });
  RecordProperty("ms", fmt::format("{:.0f}", ten.large_ms));
  RecordProperty("rib_bytes_per_prefix", fmt::format("{}", bytes_per_prefix));
  EXPECT_LE(bytes_per_prefix, kTableScale < 1 ? 200u : 100u);
  EXPECT_LT(ten.times(), kInProportionOfTen);
}

// What control does in one step of a million routes: each step is bounded by its work, and the
// longest is recorded (no test fails on a time).
TEST_F(LoadTable, AFullTableComesAndGoesInBoundedSteps) {
  constexpr size_t kStep = 256;  // as control's
  RouteFileOptions options;
  for (uint8_t i = 1; i <= 4; ++i) options.via.push_back(hop(11, fmt::format("10.0.0.{}", i)));
  for (uint8_t i = 1; i <= 4; ++i) options.via.push_back(hop(11, fmt::format("fe80::{}", i)));
  const std::vector<IpPrefix> prefixes = synthetic_prefixes(1, kTableScale);
  auto table = std::make_shared<RouteTable>(with_next_hops(prefixes, options).table);
  const auto longest = [this](const char* what, auto step) {
    double most = 0, all = 0;
    size_t steps = 0;
    for (bool more = true; more; ++steps) {
      const double start = thread_ms();
      more = step();
      bed.routing->commit();
      const double took = thread_ms() - start;
      most = std::max(most, took);
      all += took;
    }
    RecordProperty(what, fmt::format("{:.1f} ms of {:.0f} ms", most, all));
    return steps;
  };
  const CheckedTable checked = check_table(table).value();
  LoadOptions load_options;
  load_options.replace = true;
  LoadId id = 0;
  EXPECT_EQ(longest("begin",
                    [&] {
                      id = bed.routing->begin_load(checked, load_options).value();
                      return false;
                    }),
            1u);
  EXPECT_GE(longest("load", [&] { return bed.routing->continue_load(id, kStep) > 0; }),
            prefixes.size() / kStep);
  EXPECT_EQ(longest("end",
                    [&] {
                      EXPECT_EQ(bed.routing->end_load(id).added, prefixes.size());
                      return false;
                    }),
            1u);
  // One after the other: a resync's old routes, an origin's, a load's.
  Sweep sweep = bed.routing->sweep_origin(RouteOrigin::kApi);
  EXPECT_GE(longest("sweep", [&] { return sweep.step(kStep * Sweep::kErase); }),
            prefixes.size() / kStep);
  EXPECT_EQ(sweep.erased(), prefixes.size());
  EXPECT_EQ(bed.routing->counts().total, 0u);
}

// Routes that come while others are swept stay, wherever they come.
TEST_F(LoadTable, ASweepLeavesWhatIsNotItsOwn) {
  std::vector<std::string> old, fresh;
  for (int i = 0; i < 250; ++i) {
    old.push_back(fmt::format("20.0.{}.0/24", i));
    fresh.push_back(fmt::format("20.0.{}.0/25", i));
  }
  const auto first = bed.routing->begin_load(check_table(table_of(old, {"10.0.0.1"})).value(), {});
  ASSERT_TRUE(first);
  while (bed.routing->continue_load(*first, 1000) > 0) {
  }
  bed.routing->end_load(*first);
  Sweep sweep = bed.routing->sweep_load(*first);
  size_t turn = 0;
  for (bool more = true; more; ++turn) {
    more = sweep.step(100);
    if (turn < 10) {
      const std::vector<std::string> some(fresh.begin() + static_cast<long>(turn) * 25,
                                          fresh.begin() + static_cast<long>(turn + 1) * 25);
      ASSERT_TRUE(bed.routing->load(table_of(some, {"10.0.0.2"}), {}));
    }
  }
  EXPECT_GT(turn, 10u);
  EXPECT_EQ(sweep.erased(), 250u);
  EXPECT_EQ(bed.routing->counts().total, 250u);
}

}  // namespace
}  // namespace hecto::router::test
