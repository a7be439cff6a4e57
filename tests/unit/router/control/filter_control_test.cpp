// Filters on their way to the workers: what they are bound to, reloads that fail, sets by the API.
#include "router/control/filter_control.hpp"

#include "router/dataplane/filter/filter_views.hpp"
#include "tests/beds/packets.hpp"
#include "tests/unit/router/control/reload_files.hpp"

namespace hecto::router::test {
namespace {

const std::string kFilters = R"(
sets: {bad: [203.0.113.0/24], unused: [10.0.0.0/8]}
filters:
  edge: {in: [wan0, lan0], rules: [{name: bad, from: bad, action: drop}]}
)";

class FilterControlTest : public testing::Test {
 protected:
  FilterControlTest() {
    pool();  // rte_acl needs DPDK
    bed_ = ControlBed::started(kBase + kFilters);
  }
  const FilterViews& views() const { return bed_->plane.filters->views(0); }
  FilterNumber in(const std::string& interface) const {
    return views().in[bed_->interface(interface).id];
  }
  FilterControl& filters() { return bed_->filters; }
  std::vector<std::string> notes() { return filters().tables()->status()[0].notes; }
  static FilterControl::SetChange change(const std::string& set, std::vector<std::string> add,
                                         std::vector<std::string> remove = {}) {
    FilterControl::SetChange out{set, {}, {}};
    for (const std::string& prefix : add) out.add.push_back(net(prefix));
    for (const std::string& prefix : remove) out.remove.push_back(net(prefix));
    return out;
  }

  std::unique_ptr<ControlBed> bed_;
};

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
  ASSERT_TRUE(reload(bed_->parts(), read(file(std::string(kWan) + kLan, kRoute + kFilters))));
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
  const auto failed = reload(bed_->parts(), read(other), [](const std::string& step) {
    return step == "Linux" ? Result<void>(fail("no")) : Result<void>{};
  });
  ASSERT_FALSE(failed);
  EXPECT_EQ(bed_->count("filters"), 2u) << "there and back";
  EXPECT_EQ(bed_->plane.filters, before);
  ASSERT_TRUE(reload(bed_->parts(), read(other)));
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
  // One for another configuration is not.
  filters().offer(job);
  ASSERT_TRUE(reload(bed_->parts(), read(kBase + kFilters)));
  EXPECT_EQ(filters().config(), read(kBase + kFilters).filters);
}

TEST_F(FilterControlTest, SetsAreChangedWholeOrNotAtAll) {
  const auto before = bed_->plane.filters;
  EXPECT_EQ(filters().change_set(change("bad", {"198.51.100.0/24", "2001:db8::/32"})).value(), 3u);
  EXPECT_NE(bed_->plane.filters, before);
  EXPECT_EQ(bed_->said.back(), "publish");
  EXPECT_EQ(filters().change_set(change("bad", {"198.51.100.0/24"})).value(), 3u) << "it is there";
  const auto error = [&](const FilterControl::SetChange& wrong) {
    const auto now = bed_->plane.filters;
    const auto done = filters().change_set(wrong);
    EXPECT_EQ(bed_->plane.filters, now);
    return done ? std::string("done") : done.error().message;
  };
  EXPECT_EQ(error(change("bda", {"10.0.0.0/8"})),
            "set bda: there is none of that name under sets in t.yaml");
  EXPECT_EQ(error(change("bad", {"10.0.0.0/8"}, {"10.1.0.0/16"})),
            "set bad: 10.1.0.0/16 is not in it");
  EXPECT_EQ(filters().change_set(change("bad", {}, {"203.0.113.0/24"})).value(), 2u);
  // A reload of the same file leaves it; one that changes filters brings back the file's.
  ASSERT_TRUE(reload(bed_->parts(), read(kBase + kFilters)));
  EXPECT_EQ(filters().change_set(change("bad", {"203.0.113.0/24"})).value(), 3u);
  std::string other = kBase + kFilters;
  other.replace(other.find("action: drop"), 12, "action: reject");
  ASSERT_TRUE(reload(bed_->parts(), read(other)));
  EXPECT_EQ(filters().change_set(change("bad", {"203.0.113.0/24"})).value(), 1u);
}

TEST_F(FilterControlTest, AJobHoldsThoughInterfacesCameMeanwhile) {
  std::string other = file(std::string(kWan) + kLan, kRoute + kFilters);
  ASSERT_TRUE(reload(bed_->parts(), read(other)));
  other.replace(other.find("action: drop"), 12, "action: reject");
  const auto job = filters().job(read(other).filters);
  ASSERT_TRUE(job);
  job->run();
  ASSERT_TRUE(filters().change_set(change("bad", {"198.51.100.0/24"})));  // other tables run now
  filters().offer(job);
  ASSERT_TRUE(reload(bed_->parts(), read(other)));
  EXPECT_EQ(in("lan0"), 1);
  EXPECT_EQ(filters().config(), read(other).filters);
}

TEST_F(FilterControlTest, ALongChangeOfALongSet) {
  FilterControl::SetChange many{"bad", {}, {}};
  for (int i = 0; i < 10'000; ++i)
    many.add.push_back(net(fmt::format("100.64.{}.{}/32", i >> 8, i & 255)));
  EXPECT_EQ(filters().change_set(many).value(), 10'001u);
  std::swap(many.add, many.remove);
  EXPECT_EQ(filters().change_set(many).value(), 1u);
  EXPECT_FALSE(filters().change_set(change("bad", {}, {"203.0.113.0/24", "203.0.113.0/24"})))
      << "it is there once";
}

TEST_F(FilterControlTest, RatesNeedTwoSamples) {
  const auto now = std::chrono::steady_clock::now();
  filters().sampled(now);
  EXPECT_EQ(filters().rate(0, 0), 0);
  filters().sampled(now + std::chrono::seconds(1));
  EXPECT_EQ(filters().rate(0, 0), 0);
  EXPECT_EQ(filters().rate(9, 9), 0) << "there is none";
}

}  // namespace
}  // namespace hecto::router::test
