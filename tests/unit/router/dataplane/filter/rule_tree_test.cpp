// Trees beside a list of the same rules, asked one after the other; and what bounds their size and work.
#include "router/dataplane/filter/rule_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>
#include <random>

#include "base/bytes.hpp"
#include "router/dataplane/filter/tree_builder.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

// What rules of a set ask for.
enum class Kind { kFib, kAnyLengths, kLongLengths, kPortsAlone, kSomeOfAll, kAlike };

template <unsigned AddressBytes>
class TreeBed {
 public:
  using Rule = TreeRule<AddressBytes>;
  using Key = FilterKey<AddressBytes>;

  explicit TreeBed(uint64_t seed) : random_(seed) {}

  std::vector<Rule> rules(Kind kind, size_t count) {
    std::vector<Rule> made(count);
    for (size_t i = 0; i < count; ++i) {
      made[i].rule = static_cast<uint32_t>(i);
      fill(kind, made[i]);
    }
    return made;
  }
  // Half of them such that some rule may hold.
  Key key(const std::vector<Rule>& rules) {
    std::array<uint32_t, Rule::kWords> words;
    for (uint32_t& word : words) word = static_cast<uint32_t>(random_());
    if (below(2) == 0) {
      const Rule& near = rules[below(static_cast<uint32_t>(rules.size()))];
      for (unsigned w = 0; w < Rule::kWords; ++w) {
        const TreeWord& word = near.words[w];
        if (Rule::is_spans(w))
          words[w] =
              within(word.a >> 16, word.b >> 16) << 16 | within(word.a & 0xffff, word.b & 0xffff);
        else
          words[w] = (words[w] & ~word.b) | word.a;
      }
    }
    Key made{};
    for (unsigned w = 0; w < Rule::kWords; ++w)
      store32_be(reinterpret_cast<uint8_t*>(&made) + w * 4, words[w]);
    return made;
  }
  static uint32_t first(const std::vector<Rule>& rules, const Key& key) {
    for (const Rule& rule : rules)
      if (holds(rule, key)) return rule.rule + 1;
    return 0;
  }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  uint32_t within(uint32_t first, uint32_t last) { return first + below(last - first + 1); }

  static bool holds(const Rule& rule, const Key& key) {
    for (unsigned w = 0; w < Rule::kWords; ++w) {
      const uint32_t value = load32_be(reinterpret_cast<const uint8_t*>(&key) + w * 4);
      const TreeWord& word = rule.words[w];
      if (!Rule::is_spans(w)) {
        if (((value ^ word.a) & word.b) != 0) return false;
        continue;
      }
      for (const unsigned shift : {0u, 16u}) {
        const uint32_t half = value >> shift & 0xffff;
        if (half < (word.a >> shift & 0xffff) || half > (word.b >> shift & 0xffff)) return false;
      }
    }
    return true;
  }
  void prefix(Rule& rule, unsigned word, unsigned first_byte, unsigned least) {
    const unsigned length = least + below(AddressBytes * 8 + 1 - least);
    for (unsigned i = 0; i < Rule::kAddress && length > i * 32; ++i) {
      const uint32_t mask = ~uint32_t{0} << (32 - std::min(length - i * 32, 32u));
      auto value = static_cast<uint32_t>(random_());
      if (i == 0 && least >= 8) value = (value & 0xffffff) | first_byte << 24;
      rule.words[word + i] = {value & mask, mask};
    }
  }
  void span(Rule& rule, unsigned word, bool high, bool exact) {
    uint32_t a = below(0x10000), b = exact ? a : below(0x10000);
    if (a > b) std::swap(a, b);
    const unsigned shift = high ? 16 : 0;
    TreeWord& at = rule.words[word];
    at.a = (at.a & ~(uint32_t{0xffff} << shift)) | a << shift;
    at.b = (at.b & ~(uint32_t{0xffff} << shift)) | b << shift;
  }
  void protocol(Rule& rule, uint32_t number) { rule.words[0] = {number << 24, 0xffu << 24}; }

  void fill(Kind kind, Rule& rule) {
    switch (kind) {
      case Kind::kFib:
        protocol(rule, below(2) == 0 ? 6 : 17);
        prefix(rule, below(2) == 0 ? Rule::kSource : Rule::kDestination, 10, 16);
        if (below(2) == 0) span(rule, Rule::kPorts, false, true);
        return;
      case Kind::kAnyLengths:
      case Kind::kLongLengths:
        protocol(rule, below(2) == 0 ? 6 : 17);
        prefix(rule, Rule::kSource, 10, kind == Kind::kAnyLengths ? 0 : 8);
        prefix(rule, Rule::kDestination, 172, kind == Kind::kAnyLengths ? 0 : 8);
        [[fallthrough]];
      case Kind::kPortsAlone:
        span(rule, Rule::kPorts, true, false);
        span(rule, Rule::kPorts, false, false);
        return;
      case Kind::kSomeOfAll:
        if (below(2) == 0) prefix(rule, Rule::kSource, 0, 0);
        if (below(2) == 0) prefix(rule, Rule::kDestination, 0, 0);
        if (below(2) == 0) protocol(rule, below(5) == 0 ? 6 : below(256));
        for (const unsigned word : {Rule::kClasses, Rule::kPorts, Rule::kSizes})
          for (const bool high : {false, true})
            if (below(4) == 0) span(rule, word, high, below(2) == 0);
        if (below(3) == 0) {
          const auto mask = static_cast<uint32_t>(random_() & random_()) & 0x3f1f3f00;
          rule.words[Rule::kBits] = {static_cast<uint32_t>(random_()) & mask, mask};
        }
        if (below(4) == 0) rule.words[Rule::kMark] = {below(4), ~uint32_t{0}};
        return;
      case Kind::kAlike:
        protocol(rule, below(3));
        if (below(20) == 0) rule.words[Rule::kMark] = {below(4), ~uint32_t{0}};
        return;
    }
  }

  std::mt19937_64 random_;
};

template <unsigned AddressBytes>
struct PlacedTree {
  explicit PlacedTree(const std::vector<TreeRule<AddressBytes>>& rules)
      : built(TreeBuilder<AddressBytes>::build(rules)),
        memory(static_cast<uint8_t*>(std::aligned_alloc(64, (built.bytes() + 127) / 64 * 64)),
               std::free),
        tree(built.placed(memory.get())) {}
  BuiltTree<AddressBytes> built;
  std::unique_ptr<uint8_t, decltype(&std::free)> memory;
  RuleTree<AddressBytes> tree;
};

constexpr Kind kKinds[] = {Kind::kFib,        Kind::kAnyLengths, Kind::kLongLengths,
                           Kind::kPortsAlone, Kind::kSomeOfAll,  Kind::kAlike};

template <unsigned AddressBytes>
void find_what_a_list_finds() {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("HECTO_TEST_SEED=" + std::to_string(seed));
  TreeBed<AddressBytes> bed(seed);
  uint64_t asked = 0, found = 0;
  for (const Kind kind : kKinds)
    for (const size_t count : {1u, 6u, 7u, 40u, 300u, 3000u}) {
      const auto rules = bed.rules(kind, count);
      const PlacedTree<AddressBytes> placed(rules);
      for (unsigned n : {1u, 3u, 64u, 256u}) {
        std::vector<FilterKey<AddressBytes>> keys(n);
        for (auto& key : keys) key = bed.key(rules);
        uint32_t got[256];
        placed.tree.find(keys.data(), n, got);
        for (unsigned i = 0; i < n; ++i) {
          const uint32_t expected = bed.first(rules, keys[i]);
          ASSERT_EQ(got[i], expected) << "kind " << static_cast<int>(kind) << ", " << count
                                      << " rules, key " << i << " of " << n;
          asked += expected == 0 ? count : expected;
          found += expected != 0;
        }
      }
    }
  EXPECT_GT(asked, 1'000'000u);
  EXPECT_GT(found, 1'000u);
}

TEST(RuleTree, FindsWhatAListFindsForIpv4) {
  find_what_a_list_finds<4>();
}
TEST(RuleTree, FindsWhatAListFindsForIpv6) {
  find_what_a_list_finds<16>();
}

TEST(RuleTree, WithoutRulesNoneHolds) {
  const PlacedTree<4> placed({});
  FilterKey4 key{};
  uint32_t rule = 7;
  placed.tree.find(&key, 1, &rule);
  EXPECT_EQ(rule, 0u);
}

TEST(RuleTree, WhatSaysTheSameIsThereOnce) {
  std::vector<TreeRule<4>> same(50'000);
  for (uint32_t i = 0; i < same.size(); ++i) {
    same[i].rule = i;
    same[i].words[TreeRule<4>::kMark] = {5, ~uint32_t{0}};
  }
  const PlacedTree<4> placed(same);
  EXPECT_EQ(placed.built.longest_leaf(), 1u);
  FilterKey4 key{};
  key.mark[3] = 5;
  uint32_t rule = 0;
  placed.tree.find(&key, 1, &rule);
  EXPECT_EQ(rule, 1u);
}

TEST(RuleTree, BehindARuleThatAlwaysHoldsNoneIsKept) {
  TreeBed<4> bed(1);
  auto rules = bed.rules(Kind::kAnyLengths, 20'000);
  rules[10] = {};
  rules[10].rule = 10;
  const PlacedTree<4> placed(rules);
  EXPECT_LT(placed.built.bytes(), 200'000u);
}

// Sources that differ in their first bit alone, and nothing that a cut could use: what all of a long leaf have in
// common is no prefix.
TEST(RuleTree, WhatAllOfALeafAskForIsAPrefix) {
  using Rule = TreeRule<16>;
  std::vector<Rule> rules;
  for (uint32_t i = 0; i < 400; ++i) {
    Rule& rule = rules.emplace_back();
    rule.rule = i;
    rule.words[Rule::kSource] = {(i & 1) << 31 | 0x20010db8, 0xffffffff};
    const uint32_t low = i * 7, high = 65535 - i * 11;
    rule.words[Rule::kPorts] = {low << 16 | low, high << 16 | high};
  }
  const PlacedTree<16> placed(rules);
  EXPECT_GE(placed.built.longest_leaf(), TreeBuilder<16>::kGated);
  for (const uint8_t first : {0x20, 0xa0}) {
    FilterKey6 key{};
    const uint8_t source[4] = {first, 0x01, 0x0d, 0xb8};
    std::copy_n(source, 4, key.source);
    store32_be(key.ports, 30'000u << 16 | 30'000);
    uint32_t rule = 0;
    placed.tree.find(&key, 1, &rule);
    EXPECT_EQ(rule, first == 0x20 ? 1u : 2u);
  }
}

// Whatever they ask for: size by what most_bytes() promises, work by the time that a thread has had.
template <unsigned AddressBytes>
void build_is_bounded() {
  TreeBed<AddressBytes> bed(20261127);
  for (const Kind kind : kKinds) {
    const auto rules = bed.rules(kind, 100'000);
    timespec begin{}, end{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    const auto built = TreeBuilder<AddressBytes>::build(rules);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    const double seconds = static_cast<double>(end.tv_sec - begin.tv_sec) +
                           static_cast<double>(end.tv_nsec - begin.tv_nsec) / 1e9;
    EXPECT_LT(built.bytes(), TreeBuilder<AddressBytes>::most_bytes(rules.size()));
    // With what a test is compiled with, and sanitizers, many times what a router needs.
    EXPECT_LT(seconds, 20.0) << "kind " << static_cast<int>(kind);
  }
}

TEST(RuleTree, IsBuiltInABoundedTimeForIpv4) {
  build_is_bounded<4>();
}
TEST(RuleTree, IsBuiltInABoundedTimeForIpv6) {
  build_is_bounded<16>();
}

}  // namespace
}  // namespace hecto::router::test
