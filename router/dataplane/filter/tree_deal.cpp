#include "router/dataplane/filter/tree_deal.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <utility>

namespace hecto::router {

std::vector<uint32_t> sample_of(const std::vector<uint32_t>& list, size_t most) {
  if (list.size() <= most) return list;
  std::vector<uint32_t> out;
  for (size_t i = 0; i < most; ++i) out.push_back(list[i * list.size() / most]);
  return out;
}

namespace {

using List = std::vector<uint32_t>;

// A field that rules may say much about: words of an address, or half a word.
struct Part {
  unsigned word, words;
  std::optional<bool> high;  // a half
};

// Its leading bits that a rule says.
template <typename Rule>
unsigned said(const Rule& rule, const Part& part) {
  if (part.high) {
    const Half half = half_of(rule.words[part.word], *part.high);
    return static_cast<unsigned>(std::countl_zero(static_cast<uint16_t>(half.first ^ half.last)));
  }
  unsigned bits = 0;
  for (unsigned i = 0; i < part.words; ++i) {
    const auto more = static_cast<unsigned>(std::countl_one(rule.words[part.word + i].b));
    bits += more;
    if (more < 32) break;
  }
  return bits;
}

// The first `bits` of it, as one number that may serve to tell rules apart.
template <typename Rule>
uint64_t leading(const Rule& rule, const Part& part, unsigned bits) {
  if (part.high) return half_of(rule.words[part.word], *part.high).first >> (16 - bits);
  uint64_t mixed = 0;
  for (unsigned i = 0; i < part.words && bits > 0; ++i) {
    const unsigned here = std::min(bits, 32u);
    mixed = mixed * 0x9e3779b97f4a7c15 + (uint64_t{rule.words[part.word + i].a} >> (32 - here));
    bits -= here;
  }
  return mixed;
}

// Those that say so many leading bits of one field that these tell most of them apart.
template <unsigned AddressBytes>
bool deal_tree(std::span<const TreeRule<AddressBytes>> rules, List& rest, List& tree) {
  using Rule = TreeRule<AddressBytes>;
  constexpr size_t kFew = 32;
  if (rest.size() <= kFew) return false;
  const List sample = sample_of(rest, 2048);
  const std::array<Part, 7> parts = {Part{Rule::kSource, Rule::kAddress, {}},
                                     Part{Rule::kDestination, Rule::kAddress, {}},
                                     Part{Rule::kPorts, 1, true},
                                     Part{Rule::kPorts, 1, false},
                                     Part{Rule::kClasses, 1, true},
                                     Part{Rule::kClasses, 1, false},
                                     Part{Rule::kSizes, 1, false}};
  double best = 0;
  Part chosen = parts[0];
  unsigned least = 0;
  std::vector<uint64_t> numbers;
  for (const Part& part : parts) {
    const unsigned most = part.high ? 16 : part.words * 32;
    for (unsigned bits = 4; bits <= most; bits += most > 32 && bits >= 64 ? 32 : 4) {
      numbers.clear();
      for (const uint32_t i : sample)
        if (said(rules[i], part) >= bits) numbers.push_back(leading(rules[i], part, bits));
      if (numbers.empty()) break;
      const auto some = static_cast<double>(numbers.size());
      std::ranges::sort(numbers);
      const auto distinct =
          static_cast<double>(std::unique(numbers.begin(), numbers.end()) - numbers.begin());
      const double score = some * std::log2(distinct);
      if (score <= best) continue;
      best = score;
      chosen = part;
      least = bits;
    }
  }
  if (best < static_cast<double>(sample.size())) return false;  // less than a bit a rule
  List left;
  for (const uint32_t i : rest) (said(rules[i], chosen) >= least ? tree : left).push_back(i);
  rest = std::move(left);
  return true;
}

}  // namespace

template <unsigned AddressBytes>
std::vector<List> deal_trees(std::span<const TreeRule<AddressBytes>> rules, List list,
                             size_t most) {
  std::vector<List> trees;
  List tree;
  while (trees.size() + 1 < most && deal_tree(rules, list, tree))
    trees.push_back(std::exchange(tree, {}));
  if (!list.empty()) trees.push_back(std::move(list));
  return trees;
}

template std::vector<List> deal_trees(std::span<const TreeRule<4>>, List, size_t);
template std::vector<List> deal_trees(std::span<const TreeRule<16>>, List, size_t);

}  // namespace hecto::router
