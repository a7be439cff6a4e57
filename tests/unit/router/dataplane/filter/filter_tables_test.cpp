// What goes on from one compilation to the next, what is said of rules, and what is refused.
#include "router/dataplane/filter/filter_tables.hpp"

#include <gtest/gtest.h>

#include <random>

#include "base/reason.hpp"
#include "tests/beds/packets.hpp"
#include "tests/unit/router/dataplane/filter/filter_bed.hpp"

namespace hecto::router::test {
namespace {

using config::FilterRuleConfig;
using config::FiltersConfig;
using lookup::IpPrefix;
using Tables = std::shared_ptr<const FilterTables>;

FilterRuleConfig from(const char* prefix) {
  FilterRuleConfig made;
  made.from.prefix = IpPrefix::parse(prefix);
  return made;
}
FilterRuleConfig from_set(const char* set) {
  FilterRuleConfig made;
  made.from.set = set;
  return made;
}

class FilterTablesTest : public testing::Test {
 protected:
  FilterTablesTest() {
    pool();
    config_.filters.resize(1);
    config_.filters[0].name = "edge";
    config_.filters[0].in = {"p0"};
  }
  std::vector<FilterRuleConfig>& rules() { return config_.filters[0].rules; }
  config::PrefixSetConfig& set(const char* name) {
    config_.sets.push_back({name, {}, {}, {}});
    return config_.sets.back();
  }
  Tables compile() {
    auto made = FilterTables::compile(config_, around_, tables_.get());
    EXPECT_TRUE(made) << made.error().message;
    if (made) tables_ = *made;
    return tables_;
  }
  std::string refusal() {
    auto made = FilterTables::compile(config_, around_, tables_.get());
    return made ? "" : made.error().message;
  }
  // As a worker does.
  void count(size_t rule, uint64_t packets, unsigned thread = 0) {
    const FilterViews& views = tables_->views(0);
    views.cell(thread, views.filters[0].actions[rule].slot).add(packets, packets * 100);
  }
  uint64_t counted(size_t rule) { return tables_->status()[0].rules[rule].count.packets; }
  std::vector<std::string> notes() { return tables_->status()[0].notes; }
  // From 1; 0: none holds.
  uint32_t rule_of(const char* source, uint16_t interface = 0) {
    std::vector<uint8_t> ip(20);
    ip[0] = 0x45;
    ip[3] = 20;
    const auto address = lookup::IpAddress::parse(source);
    std::copy_n(address->bytes.begin(), 4, ip.begin() + 12);
    edge_.put(0, ip, 20, InterfaceId(interface));
    uint32_t rule = 99;
    const FilterViews& views = tables_->views(0);
    judge_->judge4(views, views.filters[0].ipv4, edge_.packets(), edge_.ingress(), 1, &rule);
    return rule;
  }

  FiltersConfig config_;
  FilterSurroundings around_ = three_ports();
  Tables tables_;
  EdgePackets edge_;
  std::unique_ptr<FilterJudge> judge_ = std::make_unique<FilterJudge>();
};

TEST_F(FilterTablesTest, CountsStayWithARuleThatSaysTheSame) {
  rules() = {from("10.0.0.0/8"), from("11.0.0.0/8")};
  compile();
  count(1, 5);
  count(2, 7, 1);
  count(0, 3);
  rules() = {from("12.0.0.0/8"), from("11.0.0.0/8"), from("10.0.0.0/8")};
  compile();
  EXPECT_EQ(counted(0), 0u);
  EXPECT_EQ(counted(1), 7u);
  EXPECT_EQ(counted(2), 5u);
  EXPECT_EQ(tables_->status()[0].otherwise, (FilterCount{3, 300}));
  count(3, 1);
  EXPECT_EQ(counted(2), 6u) << "and count on";
}

TEST_F(FilterTablesTest, ARuleOfAnotherNameOrFilterBeginsAtNothing) {
  rules() = {from("10.0.0.0/8"), from("11.0.0.0/8")};
  rules()[0].name = "ten";
  compile();
  count(1, 5);
  count(2, 5);
  rules()[0].name = "eleven";
  compile();
  EXPECT_EQ(counted(0), 0u);
  EXPECT_EQ(counted(1), 5u);
  config_.filters[0].name = "other";
  compile();
  EXPECT_EQ(counted(1), 0u);
}

TEST_F(FilterTablesTest, ASlotIsNotGivenOnWhileOldFiltersMayCountThere) {
  rules() = {from("10.0.0.0/8")};
  const Tables first = compile();
  const FilterViews& old = first->views(0);
  const uint32_t slot = old.filters[0].actions[1].slot;
  rules() = {from("11.0.0.0/8")};
  compile();
  old.cell(0, slot).add(9, 900);  // by a worker that still has the old one
  EXPECT_EQ(counted(0), 0u);
  EXPECT_NE(tables_->views(0).filters[0].actions[1].slot, slot);
}

TEST_F(FilterTablesTest, ASlotThatIsGivenOnBeginsAtNothing) {
  rules() = {from("10.0.0.0/8")};
  compile();
  count(1, 9);
  for (int i = 0; i < 600; ++i) {
    rules() = {from(("11.0." + std::to_string(i % 250) + ".0/24").c_str())};
    compile();
    ASSERT_EQ(counted(0), 0u) << i;
    count(1, 9);
  }
  EXPECT_LT(tables_->bytes(), 1'000'000u) << "slots come back";
}

TEST_F(FilterTablesTest, MoreThreadsTakeCountsAlong) {
  rules() = {from("10.0.0.0/8")};
  compile();
  count(1, 9, 1);
  around_.threads = 5;
  compile();
  EXPECT_EQ(counted(0), 9u);
  count(1, 1, 4);
  EXPECT_EQ(counted(0), 10u);
}

TEST_F(FilterTablesTest, WhatSaysTheSameIsNotBuiltAgain) {
  rules() = {from("10.0.0.0/8"), from("2001:db8::/32")};
  compile();
  EXPECT_EQ(tables_->contexts(), 2u);
  compile();
  EXPECT_EQ(tables_->contexts(), 0u);
  rules()[0].verdict = config::FilterVerdict::kDrop;
  compile();
  EXPECT_EQ(tables_->contexts(), 0u) << "an action is in no context";
  rules()[0].from.prefix = IpPrefix::parse("11.0.0.0/8");
  compile();
  EXPECT_EQ(tables_->contexts(), 1u) << "IPv6's stays";
}

TEST_F(FilterTablesTest, AnotherInterfaceIsAnotherContext) {
  rules() = {from("10.0.0.0/8")};
  rules()[0].iif = "p9";
  compile();
  EXPECT_EQ(notes(),
            std::vector<std::string>{"rule 1 never holds: there is no interface p9 (now)"});
  around_.interface = [](const std::string&) { return InterfaceId(9); };
  compile();
  EXPECT_EQ(tables_->contexts(), 1u);
  EXPECT_TRUE(notes().empty());
}

TEST_F(FilterTablesTest, PrefixesComeAndGoWithoutAContext) {
  set("bogons").prefixes = {*IpPrefix::parse("10.0.0.0/8")};
  set("blocked").prefixes = {*IpPrefix::parse("192.0.2.1/32")};
  rules() = {from_set("blocked"), from_set("bogons")};
  compile();
  EXPECT_EQ(rule_of("192.0.2.1"), 1u);
  EXPECT_EQ(rule_of("192.0.2.2"), 0u);
  const Tables old = tables_;
  config_.sets[1].prefixes = {*IpPrefix::parse("192.0.2.2/32")};
  compile();
  EXPECT_EQ(tables_->contexts(), 0u);
  EXPECT_EQ(rule_of("192.0.2.2"), 1u);
  EXPECT_EQ(rule_of("192.0.2.1"), 0u);
  // Of both sets, as none was before.
  config_.sets[1].prefixes.push_back(*IpPrefix::parse("10.1.0.0/16"));
  compile();
  EXPECT_EQ(tables_->contexts(), 1u);
  EXPECT_EQ(rule_of("10.1.2.3"), 1u);
  EXPECT_EQ(rule_of("10.2.2.3"), 2u);
  config_.sets[1].prefixes = {*IpPrefix::parse("10.7.0.0/16")};
  compile();
  EXPECT_EQ(tables_->contexts(), 0u);
  EXPECT_EQ(rule_of("10.7.0.1"), 1u);
  tables_ = old;
  EXPECT_EQ(rule_of("192.0.2.1"), 1u) << "the old is as it was";
}

TEST_F(FilterTablesTest, AMillionPrefixesAreOneLookUp) {
  auto many = std::make_shared<std::vector<IpPrefix>>();
  for (uint32_t i = 0; i < config::kMostSetPrefixes; ++i) {
    IpPrefix prefix{lookup::IpAddress::from(lookup::Ipv4Address{0x0a000000 + i * 3}), 32};
    many->push_back(prefix);
  }
  set("blocked").of_file = many;
  rules() = {from_set("blocked")};
  compile();
  EXPECT_EQ(rule_of("10.0.0.0"), 1u);
  EXPECT_EQ(rule_of("10.0.0.1"), 0u);
  EXPECT_EQ(rule_of("10.0.0.3"), 1u);
  compile();
  EXPECT_EQ(tables_->contexts(), 0u);
}

TEST_F(FilterTablesTest, SaysWhatNeverHoldsAndWhatIsNotThere) {
  rules() = {from("10.0.0.0/8"), from_set("nobody"), {}, {}};
  rules()[0].protocol = 47;
  rules()[0].destinations = {{22, 22}};
  rules()[2].mirror = "p1";
  rules()[3].name = "sampled";
  rules()[3].sample = 100;
  config_.filters[0].in = {"p0", "p9"};
  config_.filters[0].vrfs = {"blue"};
  set("nobody");
  compile();
  EXPECT_EQ(notes(), (std::vector<std::string>{
                         "rule 1 never holds: protocol 47 has no ports",
                         "rule 2 never holds: its sets have no prefixes of its family",
                         "there is no interface p9 (now)", "VRF blue has no interface (now)",
                         "rule 3: mirror: there is no port p1 (now)"}));
}

TEST_F(FilterTablesTest, AVlanIsItsInterfaces) {
  rules() = {{}, {}, {}};
  rules()[0].vlans = {{100, 199}};
  rules()[1].vlans = {{7, 7}};
  rules()[2].iif = "p0";
  rules()[2].vlans = {{100, 100}};
  around_.vlans = {{InterfaceId(5), 150}, {InterfaceId(6), 200}};
  compile();
  EXPECT_EQ(rule_of("10.0.0.1", 5), 1u);
  EXPECT_EQ(rule_of("10.0.0.1", 6), 0u);
  EXPECT_EQ(rule_of("10.0.0.1"), 0u);
  EXPECT_EQ(notes(), (std::vector<std::string>{
                         "rule 2 never holds: there is no interface with its VLAN (now)",
                         "rule 3 never holds: there is no interface with its VLAN (now)"}));
  around_.vlans = {{InterfaceId(9), 7}};
  compile();
  EXPECT_EQ(rule_of("10.0.0.1", 9), 2u) << "bound anew";
  EXPECT_EQ(rule_of("10.0.0.1", 5), 0u);
}

TEST_F(FilterTablesTest, ASecondFilterOfAnInterfaceIsSaid) {
  config_.filters.push_back(config_.filters[0]);
  config_.filters[1].name = "second";
  compile();
  EXPECT_EQ(tables_->status()[1].notes,
            std::vector<std::string>{"in of p0 has filter edge already"});
  EXPECT_EQ(tables_->views(0).in[0], 1);
}

TEST_F(FilterTablesTest, RefusesWhatFindsNoRoomAndLeavesTheOld) {
  rules() = {from("10.0.0.0/8")};
  compile();
  count(1, 4);
  for (uint32_t i = 0; i < 3000; ++i) {
    FilterRuleConfig rule;
    rule.protocol = 6;
    rule.from.prefix = IpPrefix{lookup::IpAddress::from(lookup::Ipv4Address{i * 2654435761u}), 32};
    rule.to.prefix = IpPrefix{lookup::IpAddress::from(lookup::Ipv4Address{i * 40503u * 77}), 32};
    rules().push_back(rule);
  }
  around_.free_bytes = 1'000'000;
  EXPECT_EQ(
      refusal(),
      "filter edge: 3001 rules of IPv4 (3001 entries) may take 4 MB while they are built, and "
      "1 MB are free");
  EXPECT_EQ(counted(0), 4u);
  EXPECT_EQ(rule_of("10.1.1.1"), 1u);
}

// Ports at random, and nothing else: no cut tells them apart.
TEST_F(FilterTablesTest, RulesThatAreMuchAlikeAreSaid) {
  std::mt19937 random(7);
  for (unsigned i = 0; i < 20'000; ++i) {
    FilterRuleConfig rule;
    rule.protocol = 17;
    for (auto* ports : {&rule.sources, &rule.destinations}) {
      const auto a = static_cast<uint16_t>(random()), b = static_cast<uint16_t>(random());
      ports->push_back({std::min(a, b), std::max(a, b)});
    }
    rules().push_back(rule);
  }
  compile();
  ASSERT_EQ(notes().size(), 2u);
  const std::string said = "rules of IPv4 are much alike: a packet may be compared with ";
  EXPECT_EQ(notes()[0].substr(0, said.size()), said);
}

TEST_F(FilterTablesTest, BoundAnewItCompilesNothingAndCountsOn) {
  rules() = {from("10.0.0.0/8")};
  compile();
  count(1, 5);
  FilterSurroundings other = three_ports();
  other.interface = [](const std::string&) { return InterfaceId(7); };
  other.barred = {3};
  const Tables bound = tables_->bound(config_, other);
  EXPECT_EQ(bound->contexts(), 0u);
  EXPECT_TRUE(bound->same_rules(*tables_));
  EXPECT_EQ(bound->views(0).in[0], 0);
  EXPECT_EQ(bound->views(0).in[7], 1);
  const FilterViews& views = bound->views(0);
  const FilterView& barrier = views.filter(views.in[3]);
  EXPECT_EQ(barrier.actions[0].reason, Reason::kFilterNotReady);
  EXPECT_EQ(barrier.ipv4.tree, nullptr) << "whatever it is";
  EXPECT_EQ(barrier.ipv6.tree, nullptr);
  tables_ = bound;
  count(1, 1);
  EXPECT_EQ(counted(0), 6u);
}

TEST_F(FilterTablesTest, RefusesListsThatMultiplyBeyondReason) {
  rules().resize(2);
  for (uint32_t i = 0; i < 2000; ++i) {
    const auto port = static_cast<uint16_t>(i * 2 + 1);
    rules()[1].sources.push_back({port, port});
    rules()[1].destinations.push_back({port, port});
  }
  rules()[1].protocol = 6;
  EXPECT_EQ(
      refusal(),
      "filter edge: its first 2 rules are more than 2000000 entries: lists of ports, and sets "
      "that overlap, multiply");
}

TEST_F(FilterTablesTest, OfManySetsThatOverlapAnAddressIsInEach) {
  for (unsigned i = 0; i < config::kMostPrefixSets; ++i) {
    const std::string name = "s" + std::to_string(i);
    set(name.c_str()).prefixes = {
        *IpPrefix::parse("10.0.0.0/" + std::to_string(i + 1 < 8 ? 8 : i + 1))};
  }
  rules() = {from_set("s31"), from_set("s20"), from_set("s3")};
  compile();
  EXPECT_EQ(rule_of("10.0.0.0"), 1u);
  EXPECT_EQ(rule_of("10.0.0.1"), 2u);
  EXPECT_EQ(rule_of("10.128.0.1"), 3u);
  EXPECT_EQ(rule_of("11.128.0.1"), 0u);
}

}  // namespace
}  // namespace hecto::router::test
