// `nat:` as it is read, printed and compared, and what is refused there, one line each.
#include <gtest/gtest.h>

#include <algorithm>

#include "config/file/diff.hpp"
#include "config/file/load.hpp"
#include "config/file/to_yaml.hpp"

namespace hecto::config {
namespace {

constexpr const char* kPorts =
    "ports: {wan0: {device: e, addresses: [192.0.2.1/24]}, lan0: {device: f, addresses: "
    "[10.1.0.254/24], vlans: {7: {}}}}\n";

tl::expected<Config, Problems> parse_nat(const std::string& nat) {
  return parse(kPorts + ("nat: " + nat), "t.yaml");
}

TEST(NatConfig, IsReadAndPrinted) {
  const auto config = parse_nat(
      "{pools: {homes: {addresses: [198.51.100.0/30, 198.51.100.9], ports: 2000-60000, block_size: "
      "256, filtering: address-dependent}}, rules: [{inside: 10.1.0.0/24, pool: homes, out: wan0}, "
      "{inside: 10.2.0.0/24, outside: 203.0.113.0/24, out: lan0.7}, {inside: \"fd00:1::/48\", "
      "outside: \"2001:db8:1::/48\", out: wan0}]}");
  ASSERT_TRUE(config) << config.error()[0];
  const NatPoolConfig& pool = config->nat.pools[0];
  EXPECT_EQ(pool.address_count(), 5U);
  EXPECT_EQ(pool.blocks_per_address(), 226U);
  EXPECT_EQ(to_string(config->nat.rules[0]), "{inside: 10.1.0.0/24, pool: homes, out: wan0}");
  const auto again = parse(to_yaml(*config), "t.yaml");
  ASSERT_TRUE(again) << again.error()[0] << to_yaml(*config);
  EXPECT_EQ(again->nat, config->nat);
}

TEST(NatConfig, LeavesLinuxItsPorts) {
  const auto config = parse_nat(
      "{pools: {m: {addresses: [192.0.2.1]}}, rules: [{inside: 10.1.0.0/24, pool: m, out: wan0}]}");
  ASSERT_TRUE(config) << config.error()[0];
  EXPECT_EQ(config->nat.pools[0].first_port, 8192);
  EXPECT_EQ(config->nat.pools[0].last_port, 32767);
}

TEST(NatConfig, ChangesByReload) {
  const char* const kRules = "rules: [{inside: 10.1.0.0/24, pool: m, out: wan0}]}";
  const auto before = parse_nat(std::string("{pools: {m: {addresses: [198.51.100.1]}}, ") + kRules);
  const auto after = parse_nat(
      std::string("{pools: {m: {addresses: [198.51.100.1], udp_timeout_s: 400}}, ") + kRules);
  ASSERT_TRUE(before && after);
  const auto difference = diff(*before, *after);
  ASSERT_TRUE(difference);
  EXPECT_TRUE(difference->nat_changed);
  EXPECT_EQ(difference->lines.size(), 2U);
  EXPECT_FALSE(diff(*after, *after)->nat_changed);
}

struct NatCase {
  const char* nat;
  const char* problem;
};
class NatRefuses : public testing::TestWithParam<NatCase> {};

TEST_P(NatRefuses, WithWhatWouldBeRight) {
  const auto config = parse_nat(GetParam().nat);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error()[0], std::string("t.yaml:2: nat") + GetParam().problem);
  EXPECT_EQ(config.error().size(), 1U) << config.error().back();
}

#define POOL(more, inside) \
  "{pools: {m: {" more "}}, rules: [{inside: " inside ", pool: m, out: wan0}]}"
INSTANTIATE_TEST_SUITE_P(
    Files, NatRefuses,
    testing::Values(
        NatCase{"{rule: []}", ".rule: unknown key; did you mean rules?"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, out: wan0}]}",
                ".rules[0]: translates to nothing; add outside, for 1:1, or pool"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: 203.0.113.0/25, out: wan0}]}",
                ".rules[0].outside: 203.0.113.0/25 is not as long as inside, 10.1.0.0/24; use a "
                "/24"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: 203.0.113.0/24, out: wan1}]}",
                ".rules[0].out: wan1 is no interface of this file; did you mean wan0?"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: 203.0.113.0/24}]}",
                ".rules[0]: has no out; add an interface, as out: wan0"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: 203.0.113.0/24, out: wan0}, {inside: "
                "10.1.0.128/25, outside: 198.51.100.0/25, out: wan0}]}",
                ".rules[1].inside: 10.1.0.128/25 overlaps with 10.1.0.0/24 of another rule for "
                "wan0; use prefixes that do not"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: 203.0.113.0/24, out: wan0}, {inside: "
                "10.2.0.0/24, outside: 203.0.113.0/24, out: wan0}]}",
                ".rules[1].outside: 203.0.113.0/24 overlaps with 203.0.113.0/24 of the rule for "
                "10.1.0.0/24; use others"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: 10.1.0.0/24, out: wan0}]}",
                ".rules[0].outside: 10.1.0.0/24 holds 10.1.0.254, lan0's own address, to which "
                "nobody would get through; use another prefix, or a pool"},
        NatCase{"{rules: [{inside: 10.7.0.0/24, outside: 10.7.0.0/24, out: wan0}]}",
                ": inside 10.7.0.0/24 overlaps with 10.7.0.0/24 of the rule for 10.7.0.0/24, which "
                "is outside; an address can be one of the two"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, outside: \"2001:db8::/64\", out: wan0}]}",
                ".rules[0].outside: \"2001:db8::/64\" is not of the family of inside; use two "
                "prefixes of one family"},
        NatCase{
            "{rules: [{inside: \"fd00::/80\", outside: \"2001:db8::/80\", out: wan0}]}",
            ".rules[0].outside: \"2001:db8::/80\" is longer than /64, where no word is left for "
            "the checksum (RFC 6296 §3.7); use /64 or shorter"},
        NatCase{"{rules: [{inside: 0.0.0.0/0, pool: m, out: wan0}]}",
                ".rules[0].inside: 0.0.0.0/0 covers everything; use a length of 1 or more"},
        NatCase{POOL("addresses: [198.51.100.1], sessions: 5", "10.1.0.0/24"),
                ".pools.m.sessions: 5 is out of range; use 64 to 64000000"},
        NatCase{POOL("addresses: [198.51.100.1], block_size: 100", "10.1.0.0/24"),
                ".pools.m.block_size: 100 is not a power of two; use 512, 1024, 2048 or another"},
        NatCase{POOL("addresses: [198.51.0.0/16]", "10.1.0.0/24"),
                ".pools.m.addresses[0]: 198.51.0.0/16 has more than 1024 addresses; use less"},
        NatCase{POOL("addresses: [198.51.100.1], ports: 80-90", "10.1.0.0/24"),
                ".pools.m.ports: 80-90 is no range of ports; use one within 1024-65535"},
        NatCase{POOL("addresses: [198.51.100.1], ports: 2000-2100", "10.1.0.0/24"),
                ".pools.m: ports 2000-2100 have no room for a block of 512; use a smaller "
                "block_size, or more ports"},
        NatCase{POOL("addresses: [192.0.2.1], ports: 10000-40000", "10.1.0.0/24"),
                ".pools.m: ports 10000-40000 reach into 32768-60999, from which Linux opens "
                "connections of 192.0.2.1, wan0's own address; use up to 32767"},
        NatCase{POOL("addresses: [198.51.100.1, 198.51.100.0/31]", "10.1.0.0/24"),
                ".pools.m.addresses[1]: 198.51.100.0/31 overlaps with 198.51.100.1/32 of pool m; "
                "use others"},
        NatCase{POOL("addresses: [198.51.100.1]", "\"fd00::/64\""),
                ".rules[0].pool: m is of IPv4, and inside is IPv6; use outside, a prefix of the "
                "same length"},
        NatCase{"{pools: {m: {addresses: [198.51.100.1]}}}",
                ".pools.m: no rule uses the pool; add one, as {inside: 10.1.0.0/24, pool: m, out: "
                "wan0}, or take it out"},
        NatCase{"{rules: [{inside: 10.1.0.0/24, pool: n, out: wan0}]}",
                ".rules[0].pool: n is no pool of this file; there is none"}));
#undef POOL

}  // namespace
}  // namespace hecto::config
