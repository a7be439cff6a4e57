// Filters on their way to the workers: what they are bound to, reloads that fail, sets by the API.
#include <atomic>
#include <mutex>
#include <thread>

#include "router/control/reload_control.hpp"
#include "tests/unit/router/control/filter_control_bed.hpp"

namespace hecto::router::test {
namespace {

TEST_F(FilterControlTest, NoFiltersAreNoNews) {
  const auto bed = ControlBed::started(kBase);
  EXPECT_EQ(bed->plane.filters, nullptr);
  bed->filters.tick();
  EXPECT_TRUE(reload(bed->parts(), read(kBase)));
  EXPECT_EQ(bed->count("filters") + bed->count("no filters"), 0u);
}

TEST_F(FilterControlTest, AreThereBeforeTheFirstPublish) {
  ASSERT_TRUE(bed_->plane.filters);
  EXPECT_EQ(in("wan0"), 1);
  EXPECT_EQ(in("wan0.7"), 0) << "a VLAN is an interface of its own";
  EXPECT_EQ(notes(), Lines{"there is no interface lan0 (now)"});
  EXPECT_EQ(filters().lines(), Lines{"filter edge: there is no interface lan0 (now)"});
}

TEST_F(FilterControlTest, APortThatComesIsBoundBeforeItIsPublished) {
  ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kFilters))));
  EXPECT_EQ(in("lan0"), 1);
  EXPECT_TRUE(notes().empty());
  EXPECT_LT(bed_->at("add port lan0"), bed_->at("filters"));
  EXPECT_LT(bed_->at("filters"), bed_->at("publish"));
  EXPECT_EQ(filters().tables()->contexts(), 0u) << "nothing is compiled for it";
}

TEST_F(FilterControlTest, ATurnWithoutNewsDoesNothing) {
  const auto before = bed_->plane.filters;
  filters().tick();
  EXPECT_EQ(bed_->plane.filters, before);
  EXPECT_TRUE(bed_->said.empty());
}

TEST_F(FilterControlTest, AReloadThatFailsPutsBackWhatRan) {
  const auto before = bed_->plane.filters;
  std::string other = kBase + kFilters;
  other.replace(other.find("action: drop"), 12, "action: reject");
  const auto failed = reload_with(other, [](const std::string& step) {
    return step == "Linux" ? Result<void>(fail("no")) : Result<void>{};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(bed_->count("filters"), 2u) << "there and back";
  EXPECT_EQ(bed_->plane.filters, before);
  ASSERT_TRUE(reload_with(other));
  EXPECT_NE(bed_->plane.filters, before);
  ASSERT_TRUE(reload(bed_->parts(), read(kBase)));
  EXPECT_EQ(bed_->plane.filters, nullptr);
}

TEST_F(FilterControlTest, WhatWasCompiledBeforehandIsTaken) {
  std::string other = kBase + kFilters;
  other.replace(other.find("action: drop"), 12, "action: reject");
  const config::Config wanted = read(other);
  EXPECT_EQ(filters().job(bed_->running.config.filters), nullptr) << "they run";
  EXPECT_EQ(filters().job({}), nullptr);
  const auto job = filters().job(wanted.filters);
  ASSERT_TRUE(job);
  job->run();
  filters().offer(job);
  ASSERT_TRUE(reload(bed_->parts(), wanted));
  EXPECT_EQ(filters().config(), wanted.filters);
  // One for another configuration is not, and control compiles none itself.
  filters().offer(job);
  const auto refused = reload(bed_->parts(), read(kBase + kFilters));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error()[0],
            "filters: others run than when they were compiled: try again; all is as it was before");
  EXPECT_EQ(filters().config(), wanted.filters);
  ASSERT_TRUE(reload_with(kBase + kFilters));
  EXPECT_EQ(filters().config(), read(kBase + kFilters).filters);
}

TEST_F(FilterControlTest, SetsAreChangedWholeOrNotAtAll) {
  const auto before = bed_->plane.filters;
  EXPECT_EQ(change_set(change("bad", {"198.51.100.0/24", "2001:db8::/32"})).value(), 3u);
  EXPECT_NE(bed_->plane.filters, before);
  EXPECT_EQ(bed_->said.back(), "publish");
  EXPECT_EQ(change_set(change("bad", {"198.51.100.0/24"})).value(), 3u) << "it is there";
  const auto error = [&](const FilterControl::SetChange& wrong) {
    const auto now = bed_->plane.filters;
    const auto done = change_set(wrong);
    EXPECT_EQ(bed_->plane.filters, now);
    return done ? std::string("done") : done.error().message;
  };
  EXPECT_EQ(error(change("bda", {"10.0.0.0/8"})),
            "set bda: there is none of that name under sets in t.yaml");
  EXPECT_EQ(error(change("bad", {"10.0.0.0/8"}, {"10.1.0.0/16"})),
            "set bad: 10.1.0.0/16 is not in it");
  EXPECT_EQ(change_set(change("bad", {}, {"203.0.113.0/24"})).value(), 2u);
  // A reload of the same file leaves it; one that changes filters brings back the file's.
  ASSERT_TRUE(reload(bed_->parts(), read(kBase + kFilters)));
  EXPECT_EQ(change_set(change("bad", {"203.0.113.0/24"})).value(), 3u);
  std::string other = kBase + kFilters;
  other.replace(other.find("action: drop"), 12, "action: reject");
  ASSERT_TRUE(reload_with(other));
  EXPECT_EQ(change_set(change("bad", {"203.0.113.0/24"})).value(), 1u);
}

TEST_F(FilterControlTest, AJobHoldsThoughInterfacesCameMeanwhile) {
  std::string other = file(std::string(kWan) + kLan, kRoute + kFilters);
  ASSERT_TRUE(reload(bed_->parts(), read(other)));
  other.replace(other.find("action: drop"), 12, "action: reject");
  const auto job = filters().job(read(other).filters);
  ASSERT_TRUE(job);
  job->run();
  ASSERT_TRUE(change_set(change("bad", {"198.51.100.0/24"})));  // other tables run now
  filters().offer(job);
  ASSERT_TRUE(reload(bed_->parts(), read(other)));
  EXPECT_EQ(in("lan0"), 1);
  EXPECT_EQ(filters().config(), read(other).filters);
}

TEST_F(FilterControlTest, ALongChangeOfALongSet) {
  FilterControl::SetChange many{"bad", {}, {}};
  for (int i = 0; i < 10'000; ++i)
    many.add.push_back(net(fmt::format("100.64.{}.{}/32", i >> 8, i & 255)));
  EXPECT_EQ(change_set(many).value(), 10'001u);
  std::swap(many.add, many.remove);
  EXPECT_EQ(change_set(many).value(), 1u);
  EXPECT_FALSE(change_set(change("bad", {}, {"203.0.113.0/24", "203.0.113.0/24"})))
      << "it is there once";
}

TEST_F(FilterControlTest, RatesNeedTwoSamples) {
  const auto now = std::chrono::steady_clock::now();
  const auto count = [&](uint64_t packets) {
    views().cell(0, views().filters[0].actions[1].slot).add(packets, packets * 100);
  };
  count(500);
  filters().sampled(now);
  EXPECT_EQ(filters().rate(0, 0), 0);
  count(100);
  filters().sampled(now + std::chrono::milliseconds(50));
  EXPECT_EQ(filters().rate(0, 0), 0) << "a second is not over";
  filters().sampled(now + std::chrono::seconds(2));
  EXPECT_EQ(filters().rate(0, 0), 50);
  EXPECT_EQ(filters().rate(0, 1), 0) << "otherwise";
  EXPECT_EQ(filters().rate(9, 9), 0) << "there is none";
}

TEST_F(FilterControlTest, RatesOfManyRulesAreLookedAtInSlices) {
  std::string many = kBase + "filters: {edge: {in: [wan0], rules: [";
  constexpr size_t kRules = 3 * FilterRates::kAtOnce;
  for (size_t i = 0; i < kRules; ++i)
    many += fmt::format("{{to: 10.{}.{}.0/24}},", i / 250 % 250, i % 250);
  ASSERT_TRUE(reload_with(many + "]}}\n"));
  auto now = std::chrono::steady_clock::now();
  const auto sample_all = [&] {
    for (int slice = 0; slice < 4; ++slice) filters().sampled(now += std::chrono::milliseconds(50));
  };
  sample_all();
  const auto count = [&](size_t rule) {
    views().cell(0, views().filters[0].actions[rule + 1].slot).add(800, 800);
  };
  count(0);
  count(kRules - 1);
  now += std::chrono::milliseconds(850);  // a second since the round before began
  filters().sampled(now);
  EXPECT_NEAR(filters().rate(0, 0), 800, 1);
  EXPECT_EQ(filters().rate(0, kRules - 1), 0) << "not yet: a slice at once";
  sample_all();
  EXPECT_NEAR(filters().rate(0, kRules - 1), 800, 1);
}

// ---- Control compiles nothing ----

TEST_F(FilterControlTest, ControlCompilesNothing) {
  const auto control = std::this_thread::get_id();
  auto bed = std::make_unique<ControlBed>(kBase + kFilters);
  std::atomic<int> compiled{0}, by_control{0};
  bed->compile_filters = [&](const auto&... all) {
    by_control += std::this_thread::get_id() == control;
    ++compiled;
    return FilterTables::compile(all...);
  };
  ASSERT_TRUE(bed->start());
  EXPECT_EQ(compiled, 1);
  ASSERT_TRUE(bed->plane.filters) << "and it waits for them: nothing is forwarded before";
  EXPECT_LT(bed->at("filters"), bed->at("publish"));
  bed_ = std::move(bed);
  // What binds anew compiles nothing at all; rules that ask for what came are for a thread.
  ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kFilters))));
  EXPECT_EQ(compiled, 1);
  ASSERT_TRUE(reload(bed_->parts(), read(kBase + kFilters)));
  std::thread([&] {
    const config::Config wanted = read(kBase + kAsking);
    const auto job = filters().job(wanted.filters);
    job->run();
    filters().offer(job);
  }).join();
  ASSERT_TRUE(reload(bed_->parts(), read(kBase + kAsking)));
  ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kAsking))));
  EXPECT_TRUE(after_turns([&] { return !is_barred("lan0"); }));
  EXPECT_EQ(compiled, 3);
  EXPECT_EQ(by_control, 0);
}

TEST_F(FilterControlTest, AStartThatCannotCompileIsRefused) {
  ControlBed bed(kBase + kFilters);
  bed.compile_filters = [](const auto&...) -> Result<std::shared_ptr<const FilterTables>> {
    return fail("filter edge: no room");
  };
  const auto started = bed.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().message, "filter edge: no room");
  EXPECT_EQ(bed.count("publish"), 0u);
}

TEST_F(FilterControlTest, WhatRulesAskForLetsNothingInTillTheyAreCompiled) {
  std::mutex holds;
  std::unique_lock hold(holds);
  bool slow = false;
  bed_->compile_filters = [&](const auto&... all) {
    if (slow) std::lock_guard wait(holds);
    return FilterTables::compile(all...);
  };
  ASSERT_TRUE(reload_with(kBase + kAsking));
  slow = true;
  ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kAsking))));
  EXPECT_TRUE(is_barred("lan0"));
  EXPECT_EQ(in("wan0"), 1) << "all others go on";
  for (int turn = 0; turn < 20; ++turn) filters().tick();
  EXPECT_TRUE(is_barred("lan0"));
  hold.unlock();
  EXPECT_TRUE(after_turns([&] { return !is_barred("lan0"); }));
  EXPECT_EQ(in("lan0"), 0) << "no filter of its own";
  EXPECT_TRUE(notes().empty()) << "the rule that asks for it holds";
  EXPECT_TRUE(filters().lines().empty());
}

TEST_F(FilterControlTest, WithoutMemoryItLetsNothingInAndSaysSoOnce) {
  std::atomic<int> tries{0};
  std::atomic<bool> full{false};
  bed_->compile_filters = [&](const auto&... all) -> Result<std::shared_ptr<const FilterTables>> {
    if (!full) return FilterTables::compile(all...);
    ++tries;
    return fail("filter edge: DPDK's memory is full");
  };
  ASSERT_TRUE(reload_with(kBase + kAsking));
  full = true;
  ASSERT_TRUE(reload(bed_->parts(), read(file(kTwoPorts, kRoute + kAsking))));
  const std::string line =
      "filter edge: DPDK's memory is full; what comes in by lan0 is dropped as filter_not_ready";
  ASSERT_TRUE(after_turns([&] { return filters().lines().front() == line; }));
  for (int turn = 0; turn < 50; ++turn) filters().tick();
  EXPECT_EQ(tries, 1) << "not each turn";
  EXPECT_TRUE(is_barred("lan0"));
  const auto later = std::chrono::steady_clock::now() + FilterControl::kAgain;
  filters().sampled(later);
  filters().tick();
  EXPECT_TRUE(after_turns([&] { return tries == 2; }));
  full = false;
  EXPECT_TRUE(after_turns([&] {
    filters().sampled(later + 10 * FilterControl::kAgain);
    return !is_barred("lan0");
  }));
  EXPECT_TRUE(filters().lines().empty());
}

TEST_F(FilterControlTest, ANumberThatGoesToAnotherIsNotTheRulesAnyMore) {
  let_lan0_come();
  ASSERT_TRUE(after_turns([&] { return !is_barred("lan0"); }));
  const InterfaceId number = bed_->interface("lan0").id;
  std::mutex holds;
  std::unique_lock hold(holds);
  bed_->compile_filters = [&](const auto&... all) {
    std::lock_guard wait(holds);
    return FilterTables::compile(all...);
  };
  ASSERT_TRUE(reload(bed_->parts(), read(kBase + kAsking)));
  EXPECT_EQ(views().filter(views().in[number]).actions[0].reason, Reason::kFilterNotReady);
  hold.unlock();
  EXPECT_TRUE(after_turns([&] { return views().in[number] == 0; }));
}

TEST_F(FilterControlTest, GoingBackUnconfirmedIsASwap) {
  const auto before = bed_->plane.filters;
  ASSERT_TRUE(change_set(change("bad", {"198.51.100.0/24"})));
  const config::FiltersConfig ran = filters().config();
  std::string other = kBase + kFilters;
  other.replace(other.find("action: drop"), 12, "action: reject");
  const config::Config wanted = read(other);
  const auto job = filters().job(wanted.filters);
  job->run();
  filters().offer(job);
  ReloadControl reloads;
  ReadRouteFiles none;
  const auto now = ReloadControl::Clock::now();
  ASSERT_TRUE(reloads.reload(bed_->parts(), wanted, none, std::chrono::seconds(5), now));
  EXPECT_TRUE(reloads.filters_of_rollback().empty()) << "nobody has to compile them";
  int compiled = 0;
  bed_->compile_filters = [&](const auto&... all) {
    ++compiled;
    return FilterTables::compile(all...);
  };
  reloads.tick(bed_->parts(), now + std::chrono::seconds(6));
  EXPECT_FALSE(reloads.unconfirmed());
  EXPECT_EQ(filters().config(), ran) << "with what the API had put into its sets";
  EXPECT_EQ(compiled, 0);
  // Confirmed, they are not kept: who goes back then has them compiled.
  filters().offer(job);
  ASSERT_TRUE(reloads.reload(bed_->parts(), wanted, none, std::chrono::seconds(5), now));
  ASSERT_TRUE(reloads.confirm());
  EXPECT_FALSE(reloads.filters_of_rollback().empty());
}

}  // namespace
}  // namespace hecto::router::test
