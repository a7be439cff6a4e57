// Rules that are called dead, against every packet of a small world.
#include "config/file/filter_cover.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "config/file/filter_words.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/config/file/files.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

IpPrefix net(const char* text) {
  return *IpPrefix::parse(text);
}

std::vector<PrefixSetConfig> world_sets() {
  std::vector<PrefixSetConfig> sets(4);
  sets[0].name = "both";
  sets[0].prefixes = {net("fc00::/7"), net("10.0.0.0/9"), net("10.1.0.0/16")};
  sets[1].name = "wide";
  sets[1].prefixes = {net("10.0.0.0/8"), net("192.0.2.0/24"), net("2001:db8::/32")};
  sets[2].name = "host";
  sets[2].of_file = std::make_shared<const std::vector<IpPrefix>>(1, net("192.0.2.1/32"));
  sets[3].name = "empty";
  return sets;
}

// --- the naive twin: a packet and a rule, field by field ---

struct Packet {
  bool ipv6;
  lookup::IpAddress from, to;
  uint8_t protocol;
  bool later, fragment;
  uint16_t sport, dport;  // of TCP and UDP, but in later fragments
  uint8_t flags, type, code, dscp;
  uint32_t length, mark;
  const char* iif;
};

bool is_in(const std::vector<IpPrefix>& prefixes, const lookup::IpAddress& address) {
  for (const IpPrefix& each : prefixes)
    if (each.address.family == address.family && each.contains(address)) return true;
  return false;
}

bool holds(const FilterEnd& end, const lookup::IpAddress& address,
           const std::vector<PrefixSetConfig>& sets) {
  if (end.prefix) return is_in({*end.prefix}, address);
  if (end.set.empty()) return true;
  for (const PrefixSetConfig& set : sets)
    if (set.name == end.set)
      return is_in(set.prefixes, address) || (set.of_file && is_in(*set.of_file, address));
  return false;
}

bool holds(const std::vector<PortSpan>& spans, uint16_t port) {
  for (const PortSpan& span : spans)
    if (span.first <= port && port <= span.last) return true;
  return false;
}

bool holds(const FilterRuleConfig& rule, const Packet& p,
           const std::vector<PrefixSetConfig>& sets) {
  if (rule.family == (p.ipv6 ? RuleFamily::kIpv4 : RuleFamily::kIpv6)) return false;
  if (!holds(rule.from, p.from, sets) || !holds(rule.to, p.to, sets)) return false;
  const uint8_t wanted = p.ipv6 && rule.protocol == 1 ? 58 : rule.protocol;
  if (wanted != 0 && wanted != p.protocol) return false;
  if (!p.ipv6 && rule.protocol == 58) return false;
  switch (rule.fragments) {
    case FragmentMatch::kAny:
      break;
    case FragmentMatch::kNone:
      if (p.fragment) return false;
      break;
    case FragmentMatch::kFirst:
      if (!p.fragment || p.later) return false;
      break;
    case FragmentMatch::kLater:
      if (!p.later) return false;
      break;
    case FragmentMatch::kFragment:
      if (!p.fragment) return false;
  }
  const bool has_ports = (p.protocol == 6 || p.protocol == 17) && !p.later;
  if (!rule.sources.empty() && !(has_ports && holds(rule.sources, p.sport))) return false;
  if (!rule.destinations.empty() && !(has_ports && holds(rule.destinations, p.dport))) return false;
  if (rule.tcp_mask != 0 &&
      !(p.protocol == 6 && !p.later && (p.flags & rule.tcp_mask) == rule.tcp_set))
    return false;
  if (rule.icmp_type) {
    uint32_t first = rule.icmp_type->first, last = rule.icmp_type->last;
    if (p.ipv6 && rule.icmp_both) first = last = *icmp6_type_of(static_cast<uint8_t>(first));
    if (p.later || p.type < first || p.type > last) return false;
    if (rule.icmp_code && (p.code < rule.icmp_code->first || p.code > rule.icmp_code->last))
      return false;
  }
  return (!rule.dscp || *rule.dscp == p.dscp) &&
         (!rule.length || (rule.length->first <= p.length && p.length <= rule.length->last)) &&
         (rule.iif.empty() || rule.iif == p.iif) && (!rule.mark || *rule.mark == p.mark);
}

std::vector<Packet> world() {
  std::vector<Packet> out;
  const auto with_rest = [&](Packet p) {
    for (const uint8_t dscp : {0, 46})
      for (const uint32_t length : {64u, 1500u})
        for (const uint32_t mark : {0u, 7u})
          for (const char* iif : {"wan0", "lan0"}) {
            p.dscp = dscp;
            p.length = length;
            p.mark = mark;
            p.iif = iif;
            out.push_back(p);
          }
  };
  const auto with_ports = [&](Packet p) {
    if (p.later) return with_rest(p);
    for (const uint16_t sport : {22, 40000})
      for (const uint16_t dport : {22, 25, 80})
        for (const uint8_t flags : {0x02, 0x12}) {
          p.sport = sport;
          p.dport = dport;
          p.flags = flags;
          if (p.protocol == 6 || flags == 0x02) with_rest(p);
        }
  };
  const auto with_types = [&](Packet p) {
    if (p.later) return with_rest(p);
    for (const uint8_t type : p.ipv6 ? std::vector<uint8_t>{128, 1} : std::vector<uint8_t>{8, 3})
      for (const uint8_t code : {0, 4}) {
        p.type = type;
        p.code = code;
        with_rest(p);
      }
  };
  for (const bool ipv6 : {false, true})
    for (const char* from : {"10.1.0.1", "10.200.0.1", "192.0.2.1", "192.0.2.2", "2001:db8:1::1",
                             "fd00::1", "3fff::1"})
      for (const char* to : {"10.1.0.1", "192.0.2.1", "2001:db8:1::1", "3fff::1"}) {
        Packet p{};
        p.ipv6 = ipv6;
        p.from = *lookup::IpAddress::parse(from);
        p.to = *lookup::IpAddress::parse(to);
        const Family family = ipv6 ? Family::kIpv6 : Family::kIpv4;
        if (p.from.family != family || p.to.family != family) continue;
        for (const auto& [fragment, later] :
             {std::pair(false, false), {true, false}, {true, true}}) {
          p.fragment = fragment;
          p.later = later;
          for (const uint8_t protocol : {6, 17}) {
            p.protocol = protocol;
            with_ports(p);
          }
          p.protocol = ipv6 ? 58 : 1;
          with_types(p);
          p.protocol = 47;
          with_rest(p);
        }
      }
  return out;
}

class RandomRules {
 public:
  explicit RandomRules(uint64_t seed) : random_(static_cast<uint32_t>(seed)) {}

  FilterConfig filter(size_t rules) {
    FilterConfig filter;
    for (size_t i = 0; i < rules; ++i)
      filter.rules.push_back(i > 1 && one_in(12) ? filter.rules[below(static_cast<uint32_t>(i))]
                                                 : rule());
    return filter;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  FilterEnd end() {
    FilterEnd end;
    static const IpPrefix kPrefixes[] = {
        net("0.0.0.0/0"),     net("10.0.0.0/8"),     net("10.128.0.0/9"), net("10.1.0.0/16"),
        net("192.0.2.0/24"),  net("192.0.2.1/32"),   net("::/0"),         net("2000::/3"),
        net("2001:db8::/32"), net("2001:db8:1::/48")};
    static const char* const kSetNames[] = {"both", "wide", "host", "empty"};
    if (one_in(2)) return end;
    if (one_in(3))
      end.set = kSetNames[below(4)];
    else
      end.prefix = kPrefixes[below(10)];
    return end;
  }

  std::vector<PortSpan> ports() {
    static const std::vector<PortSpan> kSpans[] = {{{22, 22}},   {{80, 80}},
                                                   {{20, 30}},   {{22, 22}, {80, 80}},
                                                   {{0, 65535}}, {{25, 25}, {22, 22}}};
    return one_in(2) ? std::vector<PortSpan>() : kSpans[below(6)];
  }

  FilterRuleConfig rule() {
    static constexpr uint8_t kProtocols[] = {0, 6, 6, 17, 1, 58, 47};
    FilterRuleConfig r;
    r.from = end();
    r.to = end();
    if (one_in(6)) r.family = one_in(2) ? RuleFamily::kIpv4 : RuleFamily::kIpv6;
    r.protocol = kProtocols[below(7)];
    if (r.protocol == 6 || r.protocol == 17) {
      r.sources = one_in(3) ? ports() : std::vector<PortSpan>();
      r.destinations = ports();
    }
    if (r.protocol == 6 && one_in(2)) {
      r.tcp_mask = one_in(2) ? 0x12 : 0x10;
      r.tcp_set = static_cast<uint8_t>(r.tcp_mask & (one_in(2) ? 0x10 : 0x02));
    }
    if ((r.protocol == 1 || r.protocol == 58) && one_in(2)) {
      r.icmp_both = r.protocol == 1 && one_in(2);
      const uint32_t type = r.icmp_both ? (one_in(2) ? 8 : 3) : (one_in(2) ? 128 : 8);
      r.icmp_type = NumberSpan{one_in(4) && !r.icmp_both ? 0 : type, type};
      if (one_in(3)) r.icmp_code = NumberSpan{0, one_in(2) ? 0u : 4u};
    }
    if (one_in(4)) r.fragments = static_cast<FragmentMatch>(below(5));
    if (one_in(8)) r.dscp = one_in(2) ? 0 : 46;
    if (one_in(8)) r.length = one_in(2) ? NumberSpan{0, 100} : NumberSpan{64, 64};
    if (one_in(8)) r.iif = one_in(2) ? "wan0" : "lan0";
    if (one_in(8)) r.mark = one_in(2) ? 0 : 7;
    return r;
  }

  std::mt19937 random_;
};

TEST(FilterCover, ARuleThatIsCalledDeadHoldsForNoPacketFirst) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE(fmt::format("seed {}", seed));
  RandomRules random(seed);
  const auto sets = world_sets();
  const auto packets = world();
  size_t dead = 0, several = 0;
  for (int round = 0; round < 400; ++round) {
    const FilterConfig filter = random.filter(16);
    const Coverage coverage = covered_rules(filter, sets);
    ASSERT_TRUE(coverage.complete);
    for (const CoveredRule& covered : coverage.covered) {
      ++dead;
      several += covered.by.size() > 1 ? 1 : 0;
      ASSERT_FALSE(covered.by.empty());
      ASSERT_LT(covered.by.back(), covered.rule);
      const FilterRuleConfig& rule = filter.rules[covered.rule];
      for (const Packet& packet : packets) {
        if (!holds(rule, packet, sets)) continue;
        bool earlier = false;
        for (const size_t by : covered.by) earlier |= holds(filter.rules[by], packet, sets);
        ASSERT_TRUE(earlier) << to_string(rule) << " is called dead by "
                             << to_string(filter.rules[covered.by[0]]);
      }
    }
  }
  EXPECT_GT(dead, 300u);
  EXPECT_GT(several, 10u);
}

// The tuple space misses no part: what is there twice is found, whatever it asks for.
TEST(FilterCover, FindsEachRuleThatStandsThereTwice) {
  RandomRules random(test_seed() + 1);
  const auto sets = world_sets();
  size_t twins = 0;
  for (int round = 0; round < 400; ++round) {
    const FilterConfig filter = random.filter(16);
    std::vector<bool> dead(filter.rules.size());
    for (const CoveredRule& covered : covered_rules(filter, sets).covered)
      dead[covered.rule] = true;
    for (size_t i = 0; i < filter.rules.size(); ++i) {
      const FilterRuleConfig& rule = filter.rules[i];
      if (rule.from.set == "empty" || rule.to.set == "empty" || fragments_of(rule) == 0) continue;
      bool possible = false;  // in any family that its sets have
      for (const Family family : {Family::kIpv4, Family::kIpv6})
        possible |= rule.holds_for(family) &&
                    (family == Family::kIpv4 || (rule.from.set != "host" && rule.to.set != "host"));
      if (!possible) continue;
      for (size_t k = 0; k < i; ++k)
        if (filter.rules[k] == rule) {
          ++twins;
          EXPECT_TRUE(dead[i]) << to_string(rule);
          break;
        }
    }
  }
  EXPECT_GT(twins, 100u);
}

// --- by hand ---

std::vector<CoveredRule> covered(const std::string& rules) {
  const Config config =
      good(std::string(kPort) +
           "sets: {nets: [10.0.0.0/8, 192.0.2.0/24], mixed: [10.1.0.0/16, \"fc00::/7\"]}\n"
           "filters: {f: {rules: [" +
           rules + "]}}\n");
  return covered_rules(config.filters.filters[0], config.filters.sets).covered;
}
using Covered = std::vector<CoveredRule>;

TEST(FilterCover, OfAddresses) {
  EXPECT_EQ(covered("{from: 10.0.0.0/8}, {from: 10.1.0.0/16}"), (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{from: 10.1.0.0/16}, {from: 10.0.0.0/8}"), Covered{});
  EXPECT_EQ(covered("{from: nets}, {from: 192.0.2.7}"), (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{from: nets}, {from: nets, to: mixed}"), (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{from: 192.0.2.7}, {from: nets}"), Covered{});
  EXPECT_EQ(covered("{from: 0.0.0.0/0}, {from: nets}"), (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{from: 10.0.0.0/8}, {from: \"fc00::/7\"}, {from: mixed}"),
            (Covered{{2, {0, 1}}}));
  EXPECT_EQ(covered("{from: 10.0.0.0/8}, {from: mixed}"), Covered{});
}

TEST(FilterCover, OfPortsAndFragments) {
  EXPECT_EQ(covered("{protocol: tcp}, {protocol: tcp, dport: 22}"), (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{protocol: tcp, dport: 0-65535}, {protocol: tcp}"), Covered{})
      << "fragments behind the first";
  EXPECT_EQ(covered("{protocol: tcp, dport: 1-100}, {protocol: tcp, dport: [22, 80]}"),
            (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{protocol: tcp, dport: 22}, {protocol: tcp, dport: 80},"
                    "{protocol: tcp, dport: [80, 22]}"),
            (Covered{{2, {0, 1}}}));
  EXPECT_EQ(covered("{protocol: tcp, dport: 22}, {protocol: udp, dport: 22}"), Covered{});
  EXPECT_EQ(covered("{fragments: fragment}, {fragments: first}, {fragments: none}, {fragments: "
                    "later}"),
            (Covered{{1, {0}}, {3, {0}}}));
  EXPECT_EQ(covered("{protocol: tcp, tcp_flags: {syn: true}}, {protocol: tcp, tcp_flags: {syn: "
                    "true, ack: false}}"),
            (Covered{{1, {0}}}));
}

TEST(FilterCover, OfIcmpInBothFamilies) {
  EXPECT_EQ(covered("{family: ipv4, protocol: icmp, icmp_type: 8}, {protocol: icmpv6, icmp_type: "
                    "128}, {protocol: icmp, icmp_type: echo-request}"),
            (Covered{{2, {0, 1}}}));
  EXPECT_EQ(covered("{protocol: icmp}, {protocol: icmpv6}"), (Covered{{1, {0}}}));
  EXPECT_EQ(covered("{protocol: icmpv6}, {protocol: icmp}"), Covered{});
}

// --- a hundred thousand of them ---

double seconds_of(const FilterConfig& filter, bool complete) {
  const auto begun = std::chrono::steady_clock::now();
  EXPECT_EQ(covered_rules(filter, {}).complete, complete);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  return took.count();
}

// Ten times what they take, for a machine that is busy or watches memory.
TEST(FilterCover, OfAHundredThousandRulesIsQuick) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  FilterConfig spread, ports, alike;
  const auto any_prefix = [&] {
    const auto length = static_cast<uint8_t>(8 + random() % 25);
    return IpPrefix{lookup::IpAddress::from(lookup::Ipv4Address{static_cast<uint32_t>(random())}),
                    length}
        .network();
  };
  for (uint32_t i = 0; i < 100'000; ++i) {
    FilterRuleConfig rule;
    rule.protocol = 6;
    const auto first = static_cast<uint16_t>(random() % 60000);
    rule.destinations = {{first, first}};
    ports.rules.push_back(rule);
    rule.destinations = {{first, static_cast<uint16_t>(first + 1 + random() % 9)}};
    rule.length = NumberSpan{i % 1000, i % 1000};
    alike.rules.push_back(rule);
    rule.length.reset();
    rule.from.prefix = any_prefix();
    rule.to.prefix = any_prefix();
    spread.rules.push_back(rule);
  }
  EXPECT_LT(seconds_of(ports, true), 20);
  EXPECT_LT(seconds_of(spread, true), 20);
  EXPECT_LT(seconds_of(alike, false), 20) << "it ends early, and says so";
}

}  // namespace
}  // namespace hecto::config
