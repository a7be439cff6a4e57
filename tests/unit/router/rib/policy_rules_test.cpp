#include "router/rib/policy_rules.hpp"

#include <gtest/gtest.h>

#include "router/rib/rule_text.hpp"

namespace hecto::router {
namespace {

PolicyRule rule(uint32_t priority, uint32_t table, const char* from = nullptr) {
  PolicyRule made;
  made.priority = priority;
  made.table = table;
  if (from != nullptr) made.from = IpPrefix::parse(from);
  return made;
}

std::string names(const PolicyRules& rules) {
  std::string text;
  for (const PolicyRule& each : rules.rules())
    text +=
        (text.empty() ? "" : ", ") + std::to_string(each.priority) + ":" + table_text(each.table);
  return text;
}

TEST(PolicyRules, AreInLinuxsOrder) {
  PolicyRules rules;
  rules.rule(rule(32766, 254), false);
  rules.rule(rule(0, 255), false);
  rules.rule(rule(100, 7), false);
  rules.rule(rule(100, 5), false);
  rules.rule(rule(100, 6), false);
  PolicyRule six = rule(0, 255);
  six.family = Family::kIpv6;
  rules.rule(six, false);
  EXPECT_EQ(names(rules), "0:local, 100:7, 100:5, 100:6, 32766:main, 0:local");
  const uint64_t version = rules.version();
  rules.rule(rule(100, 5), false);  // told again
  rules.rule(rule(101, 5), true);   // never was
  EXPECT_EQ(rules.version(), version);
  rules.rule(rule(100, 5), true);
  EXPECT_NE(rules.version(), version);
  EXPECT_EQ(names(rules), "0:local, 100:7, 100:6, 32766:main, 0:local");
}

TEST(PolicyRules, AResyncMendsWhatWasMissed) {
  PolicyRules rules;
  for (const uint32_t table : {5U, 6U, 7U}) rules.rule(rule(100, table), false);
  rules.resync_begin();
  rules.rule(rule(100, 9), false);  // a change before the dump
  for (const uint32_t table : {6U, 5U, 8U, 9U}) rules.rule(rule(100, table), false);
  EXPECT_EQ(names(rules), "100:5, 100:6, 100:7, 100:9, 100:8");  // nothing is lost meanwhile
  rules.rule(rule(100, 8), true);
  rules.resync_end();
  EXPECT_EQ(names(rules), "100:6, 100:5, 100:9");
  const uint64_t version = rules.version();
  rules.resync_begin();
  for (const uint32_t table : {6U, 5U, 9U}) rules.rule(rule(100, table), false);
  rules.resync_end();
  EXPECT_EQ(rules.version(), version);
  rules.resync_end();  // of one device: there was no list
  EXPECT_EQ(names(rules), "100:6, 100:5, 100:9");
}

TEST(PolicyRules, KnowLinuxsOwn) {
  PolicyRules rules;
  EXPECT_TRUE(rules.usual(Family::kIpv4));
  rules.rule(rule(0, 255), false);
  EXPECT_FALSE(rules.usual(Family::kIpv4)) << "main is missing";
  rules.rule(rule(32766, 254), false);
  rules.rule(rule(32767, 253), false);
  EXPECT_TRUE(rules.usual(Family::kIpv4));
  rules.rule(rule(200, 254, "10.0.0.0/8"), false);
  EXPECT_FALSE(rules.usual(Family::kIpv4));
  EXPECT_TRUE(rules.usual(Family::kIpv6));
}

}  // namespace
}  // namespace hecto::router
