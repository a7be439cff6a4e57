// Random rules and packets, hostile ones among them, beside the naive twin.
#include <gtest/gtest.h>

#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/dataplane/filter/filter_bed.hpp"
#include "tests/unit/router/dataplane/filter/naive_filter.hpp"

namespace hecto::router::test {
namespace {

using config::FilterConfig;
using config::FilterRuleConfig;
using config::FiltersConfig;
using config::FragmentMatch;
using config::NumberSpan;
using config::PortSpan;
using config::RuleFamily;
using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;

class Dice {
 public:
  explicit Dice(uint64_t seed) : random_(seed) {}
  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  bool one_in(unsigned n) { return below(n) == 0; }
  template <typename T>
  T of(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<unsigned>(list.size()))];
  }

 private:
  std::mt19937_64 random_;
};

class Universe {
 public:
  explicit Universe(uint64_t seed) : dice_(seed) {}
  Dice& dice() { return dice_; }

  IpAddress address(Family family) {
    IpAddress made;
    made.family = family;
    const unsigned size = made.size();
    made.bytes[0] = family == Family::kIpv4 ? 10 : 0x20;
    for (unsigned i = 1; i < size; ++i)
      made.bytes[i] = static_cast<uint8_t>(dice_.of({0u, 1u, 2u, 128u, 255u}));
    return made;
  }
  IpPrefix prefix(Family family) {
    const unsigned bits = family == Family::kIpv4 ? 32 : 128;
    IpPrefix made{address(family), static_cast<uint8_t>(dice_.below(bits + 1))};
    if (dice_.one_in(4)) made.length = static_cast<uint8_t>(bits);
    if (dice_.one_in(3)) made.length = dice_.of<uint8_t>({8, 16, 24, 0});
    return made.network();
  }
  uint16_t port() { return dice_.of<uint16_t>({0, 1, 22, 53, 80, 443, 1023, 1024, 65535}); }
  std::vector<PortSpan> ports() {
    std::vector<PortSpan> made(dice_.below(3));
    for (PortSpan& span : made) {
      const uint16_t a = port(), b = dice_.one_in(2) ? a : port();
      span = {std::min(a, b), std::max(a, b)};
    }
    return made;
  }
  uint8_t protocol() { return dice_.of<uint8_t>({1, 6, 6, 6, 17, 17, 58, 47, 50, 132, 60, 44}); }
  uint32_t mark() { return dice_.of({0u, 1u, 7u, 0xffffffffu}); }

  FilterRuleConfig rule(const FiltersConfig& all) {
    FilterRuleConfig made;
    const Family family = dice_.of({Family::kIpv4, Family::kIpv6});
    if (dice_.one_in(6))
      made.family = family == Family::kIpv4 ? RuleFamily::kIpv4 : RuleFamily::kIpv6;
    for (config::FilterEnd* end : {&made.from, &made.to}) {
      if (dice_.one_in(2))
        end->prefix = prefix(family);
      else if (!all.sets.empty() && dice_.one_in(3))
        end->set = all.sets[dice_.below(static_cast<unsigned>(all.sets.size()))].name;
    }
    switch (dice_.below(5)) {
      case 0:
        break;
      case 1:
        made.protocol = protocol();
        break;
      case 2:
        made.protocol = dice_.of<uint8_t>({0, 6, 17, 132});
        made.sources = ports();
        made.destinations = ports();
        break;
      case 3:
        made.protocol = dice_.of<uint8_t>({0, 6});
        made.tcp_mask = static_cast<uint8_t>(dice_.below(64));
        made.tcp_set = made.tcp_mask & static_cast<uint8_t>(dice_.below(64));
        if (dice_.one_in(2)) made.destinations = ports();
        break;
      case 4:
        icmp(made);
        break;
    }
    if (dice_.one_in(5))
      made.fragments = dice_.of({FragmentMatch::kNone, FragmentMatch::kFirst, FragmentMatch::kLater,
                                 FragmentMatch::kFragment});
    if (dice_.one_in(8)) made.dscp = dice_.of<uint8_t>({0, 10, 46, 63});
    if (dice_.one_in(8)) {
      const uint32_t a = dice_.below(200);
      made.length = NumberSpan{a, a + dice_.of({0u, 40u, 70000u})};
    }
    if (dice_.one_in(8)) made.iif = dice_.of({"p0", "p1", "p9"});
    if (dice_.one_in(8)) made.mark = mark();
    return made;
  }

  void icmp(FilterRuleConfig& made) {
    made.protocol = dice_.of<uint8_t>({0, 1, 58});
    const uint32_t type = dice_.of({0u, 3u, 8u, 11u, 128u, 129u, 255u});
    if (!dice_.one_in(4)) {
      made.icmp_type = NumberSpan{type, type};
      made.icmp_both = made.protocol != 58 && dice_.one_in(2);
      if (!made.icmp_both && dice_.one_in(3)) made.icmp_type->last = std::min(type + 3, 255u);
    }
    if (dice_.one_in(2)) made.icmp_code = NumberSpan{0, dice_.below(3)};
  }

  std::vector<uint8_t> packet(Family family) {
    std::vector<uint8_t> ip(family == Family::kIpv4 ? 20 : 40);
    const IpAddress from = address(family), to = address(family);
    const uint8_t dscp = static_cast<uint8_t>(dice_.of({0u, 10u, 46u, 63u}) << 2 | dice_.below(4));
    uint8_t next = protocol();
    std::vector<uint8_t> rest;
    const auto transport = [&](uint8_t kind) {
      const unsigned bytes = dice_.of({0u, 1u, 2u, 3u, 4u, 8u, 13u, 14u, 20u, 20u, 40u, 120u});
      std::vector<uint8_t> data(bytes);
      for (uint8_t& byte : data) byte = static_cast<uint8_t>(dice_.below(256));
      if (bytes >= 4 && kind != 1 && kind != 58)
        for (unsigned at : {0u, 2u}) {
          const uint16_t each = port();
          data[at] = static_cast<uint8_t>(each >> 8);
          data[at + 1] = static_cast<uint8_t>(each);
        }
      if (bytes >= 2 && (kind == 1 || kind == 58)) {
        data[0] = dice_.of<uint8_t>({0, 1, 3, 4, 8, 11, 128, 129, 133, 255});
        data[1] = static_cast<uint8_t>(dice_.below(4));
      }
      return data;
    };
    if (family == Family::kIpv4) {
      if (dice_.one_in(8)) ip.resize(20 + 4 * dice_.below(11));
      ip[0] = static_cast<uint8_t>(0x40 | ip.size() / 4);
      ip[1] = dscp;
      ip[9] = next;
      if (dice_.one_in(3)) {
        ip[6] = dice_.of<uint8_t>({0x20, 0x40, 0x00, 0x20});
        ip[7] = dice_.of<uint8_t>({0, 0, 1, 185});
      }
      std::copy_n(from.bytes.begin(), 4, ip.begin() + 12);
      std::copy_n(to.bytes.begin(), 4, ip.begin() + 16);
      rest = transport(next);
    } else {
      ip[0] = static_cast<uint8_t>(0x60 | dscp >> 4);
      ip[1] = static_cast<uint8_t>(dscp << 4 | dice_.below(16));
      std::copy_n(from.bytes.begin(), 16, ip.begin() + 8);
      std::copy_n(to.bytes.begin(), 16, ip.begin() + 24);
      uint8_t* link = &ip[6];
      const unsigned extensions = dice_.one_in(2) ? 0 : dice_.one_in(10) ? 18 : dice_.below(4);
      std::vector<uint8_t> chain;
      std::vector<size_t> links;
      for (unsigned i = 0; i < extensions; ++i) {
        const uint8_t kind = dice_.of<uint8_t>({0, 43, 44, 51, 60});
        (links.empty() ? *link : chain[links.back()]) = kind;
        links.push_back(chain.size());
        unsigned words = dice_.of({0u, 0u, 1u, 2u});
        const unsigned bytes = kind == 44 ? 8 : kind == 51 ? (words + 2) * 4 : (words + 1) * 8;
        if (dice_.one_in(12)) words = 255;  // it says to be longer than it is
        chain.resize(chain.size() + bytes);
        chain[links.back() + 1] = static_cast<uint8_t>(words);
        if (kind == 44) {
          chain[links.back() + 2] = dice_.of<uint8_t>({0, 0, 1});
          chain[links.back() + 3] = dice_.of<uint8_t>({0, 1, 6, 8, 9});
        }
      }
      (links.empty() ? *link : chain[links.back()]) = next;
      rest = transport(next);
      rest.insert(rest.begin(), chain.begin(), chain.end());
    }
    ip.insert(ip.end(), rest.begin(), rest.end());
    size_t total = ip.size();
    if (dice_.one_in(6)) total = total + dice_.below(60) - std::min<size_t>(total, dice_.below(40));
    if (family == Family::kIpv6) total = total < 40 ? 0 : total - 40;
    if (dice_.one_in(100)) total = 65535;
    const size_t at = family == Family::kIpv4 ? 2 : 4;
    ip[at] = static_cast<uint8_t>(total >> 8);
    ip[at + 1] = static_cast<uint8_t>(total);
    return ip;
  }

 private:
  Dice dice_;
};

FiltersConfig random_config(Universe& universe, unsigned rules) {
  Dice& dice = universe.dice();
  FiltersConfig all;
  all.sets.resize(dice.below(8));
  for (size_t i = 0; i < all.sets.size(); ++i) {
    config::PrefixSetConfig& set = all.sets[i];
    set.name = "set" + std::to_string(i);
    const unsigned many = dice.below(12);
    auto of_file = std::make_shared<std::vector<IpPrefix>>();
    for (unsigned p = 0; p < many; ++p) {
      const IpPrefix prefix = universe.prefix(dice.of({Family::kIpv4, Family::kIpv6}));
      if (prefix.length == 0) continue;
      dice.one_in(2) ? set.prefixes.push_back(prefix) : of_file->push_back(prefix);
    }
    if (dice.one_in(2)) set.of_file = of_file;
  }
  all.filters.resize(1);
  all.filters[0].name = "edge";
  for (unsigned i = 0; i < rules; ++i) all.filters[0].rules.push_back(universe.rule(all));
  return all;
}

TEST(FilterDifferential, FindsTheRuleThatTheNaiveTwinFinds) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("HECTO_TEST_SEED=" + std::to_string(seed));
  pool();
  Universe universe(seed);
  Dice& dice = universe.dice();
  EdgePackets edge;
  const auto judge = std::make_unique<FilterJudge>();
  static const char* const kNames[] = {"p0", "p1", "p2"};
  std::shared_ptr<const FilterTables> tables;
  uint64_t asked = 0, held = 0;
  for (unsigned round = 0; round < 120; ++round) {
    const FiltersConfig all = random_config(universe, dice.of({1u, 3u, 10u, 40u, 200u}));
    auto compiled = FilterTables::compile(all, three_ports(), tables.get());
    ASSERT_TRUE(compiled) << compiled.error().message;
    tables = *compiled;
    const FilterViews& views = tables->views(0);
    const NaiveFilter naive(all, all.filters[0]);
    for (const Family family : {Family::kIpv4, Family::kIpv6})
      for (unsigned batch = 0; batch < 8; ++batch) {
        const unsigned n =
            dice.one_in(2) ? 1 + dice.below(kChunkSize) : dice.of({1u, 8u, 64u, 256u});
        std::vector<SeenPacket> seen;
        for (unsigned i = 0; i < n; ++i) {
          const std::vector<uint8_t> ip = universe.packet(family);
          const size_t least = family == Family::kIpv4 ? 20 : 40;
          size_t there = ip.size();
          if (dice.one_in(4)) there = least + dice.below(static_cast<unsigned>(there - least + 1));
          const unsigned interface = dice.below(3);
          edge.put(i, ip, there, InterfaceId(static_cast<uint16_t>(interface)));
          uint32_t mark = 0;
          if (views.mark.field >= 0 && dice.one_in(2))
            views.mark.set(edge.packets()[i], mark = universe.mark());
          seen.push_back(see(ip, there, kNames[interface], mark));
        }
        uint32_t rules[kChunkSize];
        const FilterView& filter = views.filters[0];
        if (family == Family::kIpv4)
          judge->judge4(views, filter.ipv4, edge.packets(), edge.ingress(), n, rules);
        else
          judge->judge6(views, filter.ipv6, edge.packets(), edge.ingress(), n, rules);
        for (unsigned i = 0; i < n; ++i) {
          const uint32_t expected = naive.first(seen[i]);
          ASSERT_EQ(rules[i], expected)
              << "round " << round << ", packet " << i << " of " << n << ", protocol "
              << seen[i].protocol << ", fragment " << seen[i].fragment << seen[i].later
              << ", ports " << seen[i].ports.has_value() << ", length " << seen[i].length;
          asked += expected == 0 ? all.filters[0].rules.size() : expected;
          held += expected != 0;
        }
      }
  }
  EXPECT_GT(asked, 1'000'000u);
  EXPECT_GT(held, 20'000u);
}

}  // namespace
}  // namespace hecto::router::test
