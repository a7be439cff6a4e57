// Filters while interfaces and reloads come and go: what is bound at once, what is compiled again, and what
// is not forgotten.
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "router/control/reload_control.hpp"
#include "tests/unit/router/control/filter_control_bed.hpp"

namespace {
// Allocations of this thread till one fails; below 0: none does.
thread_local long t_left = -1;
}  // namespace

void* operator new(size_t bytes) {
  if (t_left >= 0 && t_left-- == 0) throw std::bad_alloc();
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace hecto::router::test {
namespace {

constexpr InterfaceId kDmz = 40;

class FilterNewsTest : public FilterControlTest {
 protected:
  // Before a turn of control has seen it.
  void let_dmz0_come(const Vrf& vrf = {}) {
    InterfaceState state;
    state.id = kDmz;
    state.name = "dmz0";
    state.port = kNoPort;
    state.vrf = vrf;
    ASSERT_TRUE(bed_->routing.add_interface(state));
  }
  // From then on whatever has to be compiled is refused.
  void refuse_to_compile() {
    bed_->compile_filters =
        [this](const auto&... all) -> Result<std::shared_ptr<const FilterTables>> {
      if (!full_) return FilterTables::compile(all...);
      const std::lock_guard wait(holds_);
      ++refused_;
      return fail("filter edge: DPDK's memory is full");
    };
    full_ = true;
  }
  std::mutex holds_;
  std::atomic<bool> full_{false};
  std::atomic<int> refused_{0};
};

TEST_F(FilterNewsTest, WhatWaitedBeforeAReloadThatIsTakenBackStillComesIn) {
  ASSERT_TRUE(reload_with(kBase + kAsking));
  refuse_to_compile();
  ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kAsking))));
  ASSERT_TRUE(after_turns([&] { return refused_ > 0 && !filters().lines().empty(); }));
  ASSERT_TRUE(is_barred("lan0"));
  full_ = false;
  const config::Config wanted = read(file(kTwoPorts, kRoute + kFilters));
  const auto job = filters().job(wanted.filters);
  job->run();
  filters().offer(job);
  ReloadControl reloads;
  ReadRouteFiles none;
  const auto now = ReloadControl::Clock::now();
  ASSERT_TRUE(reloads.reload(bed_->parts(), wanted, none, std::chrono::seconds(5), now));
  filters().tick();
  ASSERT_FALSE(is_barred("lan0"));
  reloads.tick(bed_->parts(), now + std::chrono::seconds(6));
  ASSERT_FALSE(reloads.unconfirmed());
  EXPECT_TRUE(after_turns([&] { return !is_barred("lan0"); }));
}

TEST_F(FilterNewsTest, AnInterfaceThatComesAsCompilingFailsHasItsFilter) {
  const std::string asking =
      "filters: {edge: {in: [wan0, dmz0], rules: [{name: bad, iif: lan0, action: drop}]}}\n";
  ASSERT_TRUE(reload_with(kBase + asking));
  refuse_to_compile();
  {
    const std::lock_guard hold(holds_);
    ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + asking))));
    let_dmz0_come();
  }
  while (refused_ == 0) std::this_thread::yield();
  std::this_thread::sleep_for(
      std::chrono::milliseconds(100));  // the thread that compiled has ended
  filters().tick();
  EXPECT_EQ(views().in[kDmz], 1) << "and not when compiling is tried again";
  EXPECT_TRUE(is_barred("lan0"));
}

TEST_F(FilterNewsTest, WhereRulesLeadAsBeforeForWantOfMemoryIsSaid) {
  ASSERT_TRUE(
      reload_with(kBase + "filters: {edge: {in: [wan0], rules: [{name: red, vrf: red}]}}\n"));
  EXPECT_TRUE(filters().leads());
  refuse_to_compile();
  let_dmz0_come({"red", 10});
  ASSERT_TRUE(after_turns([&] { return refused_ > 0 && !filters().lines().empty(); }));
  EXPECT_EQ(filters().lines().front(),
            "filter edge: DPDK's memory is full; rules that name tables or VRFs lead to those that "
            "were there before");
}

// A port's number may be another's next, and nothing is compiled for it.
TEST_F(FilterNewsTest, CopiesLeaveByThePortOfThatNameAtOnce) {
  ASSERT_TRUE(reload_with(
      file(kTwoPorts, kRoute + std::string("filters: {edge: {in: [wan0], rules: [{name: all, "
                                           "mirror: lan0}]}}\n"))));
  std::atomic<int> compiled{0};
  bed_->compile_filters = [&](const auto&... all) {
    ++compiled;
    return FilterTables::compile(all...);
  };
  const auto copies_to = [&] { return views().filters[0].tellings[1].mirror; };
  InterfaceState lan = bed_->routing.interfaces().all().at(bed_->interface("lan0").id);
  EXPECT_EQ(copies_to(), lan.port);
  EXPECT_TRUE(notes().empty());
  for (const PortId port : {PortId(9), kNoPort, PortId(7)}) {
    lan.port = port;
    ASSERT_TRUE(bed_->routing.update_interface(lan));
    filters().tick();
    EXPECT_EQ(copies_to(), port);
    EXPECT_EQ(notes(),
              port == kNoPort ? Lines{"rule all: mirror: there is no port lan0 (now)"} : Lines{});
  }
  for (int turn = 0; turn < 50; ++turn) filters().tick();
  EXPECT_EQ(compiled, 0);
}

TEST_F(FilterNewsTest, WhatWasCompiledForAReloadIsForNoLaterOne) {
  std::string other = kBase + kFilters;
  other.replace(other.find("action: drop"), 12, "action: reject");
  const config::Config wanted = read(other);
  const auto job = filters().job(wanted.filters);
  job->run();
  ReloadControl reloads;
  ReadRouteFiles none;
  const auto now = ReloadControl::Clock::now();
  filters().offer(job);
  const auto nothing = reloads.reload(bed_->parts(), read(kBase + kFilters), none, {}, now);
  ASSERT_TRUE(nothing);
  EXPECT_TRUE(nothing->empty());
  EXPECT_FALSE(reload(bed_->parts(), wanted)) << "it was for the one before";
  filters().offer(job);
  EXPECT_FALSE(reloads.rollback(bed_->parts(), none)) << "there is none to go back from";
  EXPECT_FALSE(reload(bed_->parts(), wanted));
  filters().offer(job);
  EXPECT_TRUE(reload(bed_->parts(), wanted));
}

// Whichever allocation it is that fails, the thread goes on and says so.
TEST_F(FilterNewsTest, WithoutMemoryAJobEndsWithAnError) {
  const auto tables = bed_->plane.filters;
  bed_->compile_filters = [&](const auto&...) -> Result<std::shared_ptr<const FilterTables>> {
    return tables;
  };
  unsigned failed = 0;
  for (long allocation = 0;; ++allocation) {
    const auto job = filters().change_job(change("bad", {"198.51.100.0/24", "2001:db8::/32"}));
    t_left = allocation;
    job->run();
    const bool enough = t_left >= 0;  // none was left to fail
    t_left = -1;
    if (enough) break;
    const auto taken = filters().take_change(job);
    if (taken) continue;  // a stream that asks how much is free keeps it to itself
    EXPECT_EQ(taken.error().message, "filters: there was no memory to compile them");
    ++failed;
  }
  EXPECT_GT(failed, 10u);
  EXPECT_EQ(bed_->plane.filters, tables);
}

TEST(RuleFacts, AreWhatControlNeedsOfRulesEachOnce) {
  const config::Config config = read(kBase + R"(
filters:
  edge:
    in: [wan0]
    rules: [{table: 100}, {log: true}, {table: 100}, {vrf: red}, {vrf: blue, log: true}, {vrf: red}]
  far: {in: [wan0.7], rules: [{to: 10.0.0.0/8}, {log: true, set_mark: 3}]}
)");
  const RuleFacts facts = facts_of(config.filters);
  std::vector<std::pair<uint32_t, std::string>> tables;
  for (const RuleFacts::Table& each : facts.tables) tables.emplace_back(each.table, each.vrf);
  EXPECT_EQ(tables,
            (std::vector<std::pair<uint32_t, std::string>>{{100, ""}, {0, "red"}, {0, "blue"}}));
  EXPECT_EQ(facts.logged, (std::vector<std::pair<uint32_t, uint32_t>>{{0, 1}, {0, 4}, {1, 1}}));
  EXPECT_TRUE(facts.marks);
  EXPECT_FALSE(facts_of(read(kBase + kFilters).filters).marks);
}

}  // namespace
}  // namespace hecto::router::test
