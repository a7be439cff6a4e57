#include "router/dataplane/filter/tree_builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_set>

#include "base/bytes.hpp"
#include "router/dataplane/filter/fingerprint.hpp"
#include "router/dataplane/filter/tree_deal.hpp"

namespace hecto::router {
namespace {

constexpr size_t kSample = 512;  // rules that a choice is made by

template <unsigned AddressBytes>
void write_entry(const TreeRule<AddressBytes>& rule, TreeEntry<AddressBytes>& entry) {
  using Rule = TreeRule<AddressBytes>;
  entry = {};
  const TreeWord& ports = rule.words[Rule::kPorts];
  for (const bool high : {true, false}) {
    const Half half = half_of(ports, high);
    entry.ports[high ? 0 : 1] = static_cast<uint16_t>(half.first);
    entry.port_spans[high ? 0 : 1] = static_cast<uint16_t>(half.last - half.first);
  }
  entry.protocol = static_cast<uint8_t>(rule.words[Rule::kProtocol].a >> 24);
  entry.protocol_mask = static_cast<uint8_t>(rule.words[Rule::kProtocol].b >> 24);
  const TreeWord *from = &rule.words[Rule::kSource], *to = &rule.words[Rule::kDestination];
  if constexpr (AddressBytes == 4) {
    entry.source = __builtin_bswap32(from->a);
    entry.source_mask = __builtin_bswap32(from->b);
    entry.destination = __builtin_bswap32(to->a);
    entry.destination_mask = __builtin_bswap32(to->b);
  } else {
    for (unsigned i = 0; i < 4; ++i) {
      store32_be(reinterpret_cast<uint8_t*>(entry.source) + i * 4, from[i].a);
      store32_be(reinterpret_cast<uint8_t*>(entry.destination) + i * 4, to[i].a);
      entry.source_length = static_cast<uint8_t>(entry.source_length + std::popcount(from[i].b));
      entry.destination_length =
          static_cast<uint8_t>(entry.destination_length + std::popcount(to[i].b));
    }
  }
}

}  // namespace

template <unsigned AddressBytes>
uint64_t TreeBuilder<AddressBytes>::most_bytes(uint64_t rules) {
  constexpr size_t kNodes = 3;  // of an entry; lists, and vectors that grow
  return rules * (sizeof(Rule) + sizeof(Fingerprint) * 3) +
         rules * copies_of(rules) * 2 *
             (sizeof(TreeEntry<AddressBytes>) + kNodes * sizeof(TreeNode));
}

template <unsigned AddressBytes>
BuiltTree<AddressBytes> TreeBuilder<AddressBytes>::build(std::span<const Rule> rules) {
  TreeBuilder builder(rules);
  builder.deal_out();
  return std::move(builder.built_);
}

// ---- Which tree ----

// By protocol, where that tells many apart. Of rules that say the same only the first can hold.
template <unsigned AddressBytes>
void TreeBuilder<AddressBytes>::deal_out() {
  List all;
  std::unordered_set<Fingerprint, FingerprintHash> seen;
  for (uint32_t i = 0; i < rules_.size(); ++i) {
    Fingerprint print;
    for (const TreeWord& word : rules_[i].words) print.add(uint64_t{word.a} << 32 | word.b);
    if (seen.insert(print).second) all.push_back(i);
  }
  constexpr unsigned kMostGroups = Tree::kMostGroups - 1;  // beside that of all others
  std::array<size_t, 256> asking{};
  size_t any = 0;
  const auto protocol_of = [&](uint32_t i) -> unsigned {
    const TreeWord& word = rules_[i].words[Rule::kProtocol];
    return word.b == 0 ? 256u : word.a >> 24;
  };
  for (const uint32_t i : all) protocol_of(i) == 256 ? ++any : ++asking[protocol_of(i)];
  for (unsigned group = 1; group <= kMostGroups; ++group) {
    const auto most = std::ranges::max_element(asking);
    if (*most == 0 || *most < any / 4) break;
    const auto protocol = static_cast<unsigned>(most - asking.begin());
    built_.tree_.group_[protocol] = static_cast<uint8_t>(group);
    *most = 0;
  }
  for (unsigned group = 0; group <= kMostGroups; ++group) {
    if (group > 0 && std::ranges::count(built_.tree_.group_, group) == 0) break;
    List list;
    for (const uint32_t i : all) {
      const unsigned protocol = protocol_of(i);
      if (protocol == 256 || built_.tree_.group_[protocol] == group) list.push_back(i);
    }
    Box box{};
    if (group > 0) {
      const auto protocol =
          std::ranges::find(built_.tree_.group_, group) - built_.tree_.group_.begin();
      box.words[Rule::kProtocol] = {static_cast<uint32_t>(protocol) << 24, 0xffu << 24};
    }
    cut_off(list, box);
    add_group(std::move(list), box);
  }
}

// What rules say least about is asked first: it holds for more, and others need not be looked at. It is built last,
// with what the others have left of their copies.
template <unsigned AddressBytes>
void TreeBuilder<AddressBytes>::add_group(List list, const Box& box) {
  std::vector<List> trees = deal_trees(rules_, std::move(list), Tree::kMostTrees);
  auto& roots = built_.tree_.roots_[groups_++];
  for (size_t i = 0; i < trees.size(); ++i) {
    spare_ += trees[i].size() * copies_of(rules_.size());
    const size_t before = built_.entries_.size();
    roots[trees.size() - 1 - i] = node(trees[i], box, spare_, 0);
    spare_ -= std::min(spare_, built_.entries_.size() - before);
  }
  built_.tree_.trees_ = std::max(built_.tree_.trees_, static_cast<unsigned>(trees.size()));
}

// ---- Nodes ----

// Behind one that holds for all keys of the box none can be the first.
template <unsigned AddressBytes>
void TreeBuilder<AddressBytes>::cut_off(List& list, const Box& box) const {
  const auto holds_for_all = [&](uint32_t i) {
    for (unsigned w = 0; w < Rule::kWords; ++w) {
      const TreeWord &rule = rules_[i].words[w], &known = box.words[w];
      if (!Rule::is_spans(w)) {
        if ((rule.b & ~known.b) != 0) return false;
        continue;
      }
      for (const bool high : {true, false}) {
        const Half half = half_of(rule, high);
        const uint32_t value = high ? known.a >> 16 : known.a & 0xffff;
        const uint32_t open = 0xffff & ~(high ? known.b >> 16 : known.b);
        if (half.first > value || half.last < (value | open)) return false;
      }
    }
    return true;
  };
  const auto found = std::ranges::find_if(list, holds_for_all);
  if (found != list.end()) list.erase(found + 1, list.end());
}

template <unsigned AddressBytes>
TreeNode TreeBuilder<AddressBytes>::leaf(const List& list) {
  if (list.empty()) return TreeNode();
  const auto first = static_cast<uint32_t>(built_.entries_.size());
  if (list.size() >= kGated) add_gate(list);
  for (const uint32_t i : list) {
    const Rule& rule = rules_[i];
    TreeEntry<AddressBytes>& entry = built_.entries_.emplace_back();
    write_entry(rule, entry);
    entry.rule = rule.rule;
    const bool more = rule.asks(Rule::kClasses) || rule.asks(Rule::kBits) ||
                      rule.asks(Rule::kSizes) || rule.asks(Rule::kMark);
    built_.rest_of_.push_back(0);
    if (!more) continue;
    entry.rule |= Tree::kMore;
    built_.rest_of_.back() = static_cast<uint32_t>(built_.rests_.size());
    built_.rests_.push_back({rule.words[Rule::kClasses], rule.words[Rule::kBits],
                             rule.words[Rule::kSizes], rule.words[Rule::kMark]});
  }
  built_.entries_.back().rule |= Tree::kLast;
  built_.longest_leaf_ = std::max(built_.longest_leaf_, list.size());
  return TreeNode::leaf(first, rules_[list[0]].rule);
}

// What all of a long leaf ask for, as an entry before them: a packet that lacks it is compared with none.
template <unsigned AddressBytes>
void TreeBuilder<AddressBytes>::add_gate(const List& list) {
  Rule all = rules_[list[0]];
  for (const uint32_t i : list)
    for (unsigned w = 0; w < Rule::kWords; ++w) {
      TreeWord& word = all.words[w];
      const TreeWord& each = rules_[i].words[w];
      if (Rule::is_spans(w)) {
        word.a =
            std::min(word.a >> 16, each.a >> 16) << 16 | std::min(word.a & 0xffff, each.a & 0xffff);
        word.b =
            std::max(word.b >> 16, each.b >> 16) << 16 | std::max(word.b & 0xffff, each.b & 0xffff);
      } else {
        word.b &= each.b & ~(word.a ^ each.a);
        const auto leading = static_cast<unsigned>(std::countl_one(word.b));
        if (w >= Rule::kSource && w < Rule::kPorts && leading < 32)  // a prefix
          word.b = leading == 0 ? 0 : ~uint32_t{0} << (32 - leading);
        word.a &= word.b;
      }
    }
  // Of a prefix nothing counts behind a word that is not whole.
  for (const unsigned begin : {Rule::kSource, Rule::kDestination})
    for (unsigned w = begin + 1; w < begin + Rule::kAddress; ++w)
      if (all.words[w - 1].b != ~uint32_t{0}) all.words[w] = {};
  TreeEntry<AddressBytes>& gate = built_.entries_.emplace_back();
  write_entry(all, gate);
  gate.rule = rules_[list[0]].rule | Tree::kGate;
  built_.rest_of_.push_back(0);
}

// `copies`: entries that it may have in all. The list is not needed behind it.
template <unsigned AddressBytes>
TreeNode TreeBuilder<AddressBytes>::node(List& list, const Box& box, size_t copies,
                                         unsigned depth) {
  Cut cut;
  if (list.size() <= kLeaf || depth == kDepth || !choose(list, box, copies, cut)) return leaf(list);
  const size_t count = size_t{1} << cut.bits;
  std::vector<List> lists(count);
  for (const uint32_t i : list)
    each_child(rules_[i], box, cut, [&](uint32_t child) { lists[child].push_back(i); });
  List().swap(list);
  const auto box_of = [&](size_t child) {
    Box inner = box;
    TreeWord& known = inner.words[cut.word];
    known.a = (known.a & ~(cut.mask() << cut.shift)) | static_cast<uint32_t>(child) << cut.shift;
    known.b |= cut.mask() << cut.shift;
    return inner;
  };
  size_t sum = 0;
  for (size_t child = 0; child < count; ++child) {
    cut_off(lists[child], box_of(child));
    sum += lists[child].size();
  }
  const auto children = static_cast<uint32_t>(built_.nodes_.size());
  built_.nodes_.resize(children + count);
  for (size_t child = 0; child < count;) {
    size_t end = child + 1;
    while (end < count && lists[end] == lists[child]) ++end;
    // Several that are one know no more than the cut's own box.
    const size_t share = lists[child].empty() ? 0 : copies * lists[child].size() / sum;
    const TreeNode made =
        node(lists[child], end == child + 1 ? box_of(child) : box, share, depth + 1);
    std::fill(built_.nodes_.begin() + static_cast<long>(children + child),
              built_.nodes_.begin() + static_cast<long>(children + end), made);
    child = end;
  }
  return TreeNode::cut(children, cut.word * 4, cut.shift, cut.mask());
}

// ---- Cuts ----

template <unsigned AddressBytes>
template <typename Each>
void TreeBuilder<AddressBytes>::each_child(const Rule& rule, const Box& box, const Cut& cut,
                                           Each&& each) const {
  const TreeWord& word = rule.words[cut.word];
  const uint32_t mask = cut.mask();
  if (!Rule::is_spans(cut.word)) {
    const uint32_t open = ~(word.b >> cut.shift) & mask;
    const uint32_t value = word.a >> cut.shift & mask & ~open;
    uint32_t some = 0;
    do {
      each(value | some);
      some = (some - open) & open;
    } while (some != 0);
    return;
  }
  const bool high = cut.shift >= 16;
  const unsigned shift = high ? cut.shift - 16 : cut.shift;
  Half half = half_of(word, high);
  const TreeWord& known = box.words[cut.word];
  const uint32_t value = high ? known.a >> 16 : known.a & 0xffff;
  const uint32_t bits = high ? known.b >> 16 : known.b & 0xffff;
  const uint32_t above = 0xffff & ~((uint32_t{1} << (shift + cut.bits)) - 1);
  if ((bits & above) == above) {
    const uint32_t from = value & above;
    half = {std::max(half.first, from), std::min(half.last, from | (0xffff & ~above))};
  }
  if (((half.first ^ half.last) & above) != 0) {
    for (uint32_t child = 0; child <= mask; ++child) each(child);
    return;
  }
  for (uint32_t child = half.first >> shift & mask; child <= (half.last >> shift & mask); ++child)
    each(child);
}

template <unsigned AddressBytes>
size_t TreeBuilder<AddressBytes>::children(const Rule& rule, const Box& box, const Cut& cut) const {
  if (!Rule::is_spans(cut.word))
    return size_t{1} << std::popcount(~(rule.words[cut.word].b >> cut.shift) & cut.mask());
  size_t count = 0;
  each_child(rule, box, cut, [&](uint32_t) { ++count; });
  return count;
}

// How many times shorter the list is that a rule finds itself in, in powers of two, less what copies cost; 0: too
// many of these.
template <unsigned AddressBytes>
double TreeBuilder<AddressBytes>::rate(const List& sample, const Box& box, const Cut& cut,
                                       double most_copies) {
  const auto rules = static_cast<double>(sample.size());
  size_t copies = 0;
  for (const uint32_t i : sample) copies += children(rules_[i], box, cut);
  if (static_cast<double>(copies) > most_copies * rules) return 0;
  sizes_.assign(size_t{1} << cut.bits, 0);
  for (const uint32_t i : sample)
    each_child(rules_[i], box, cut, [&](uint32_t child) { ++sizes_[child]; });
  double squares = 0;
  for (const uint32_t size : sizes_) squares += static_cast<double>(size) * size;
  const double mean = squares / static_cast<double>(copies);
  return std::log2(rules / mean) - price_ * std::log2(static_cast<double>(copies) / rules);
}

template <unsigned AddressBytes>
bool TreeBuilder<AddressBytes>::choose(const List& list, const Box& box, size_t copies, Cut& best) {
  const List sample = sample_of(list, kSample);
  const double most_copies =
      std::min(static_cast<double>(copies) / static_cast<double>(list.size()), 16.0);
  const auto most_bits = std::min<unsigned>(std::bit_width(list.size()) + 1, 12);
  // Where there is room for many copies they cost little.
  price_ = most_copies >= 16 ? 0.1 : most_copies >= 6 ? 0.3 : 0.5;
  double best_rate = list.size() > 32 ? 0.15 : 0.3;
  for (unsigned word = 0; word < Rule::kWords; ++word) {
    uint32_t tell = 0;  // bits that some rules say and that are not known
    if (Rule::is_spans(word)) {
      for (const uint32_t i : sample)
        for (const bool high : {true, false}) {
          const Half half = half_of(rules_[i].words[word], high);
          if (half.first != 0 || half.last != 0xffff) tell |= high ? 0xffff0000 : 0xffff;
        }
    } else {
      const TreeWord& first = rules_[sample[0]].words[word];
      uint32_t all = ~uint32_t{0};
      for (const uint32_t i : sample) {
        const TreeWord& each = rules_[i].words[word];
        tell |= each.b;
        all &= each.b & ~(each.a ^ first.a);
      }
      tell &= ~(all & first.b);  // where all say the same nothing is told apart
    }
    tell &= ~box.words[word].b;
    if (tell == 0) continue;
    for (unsigned bits = 2; bits <= most_bits; bits += 2)
      for (unsigned shift = 0; shift + bits <= 32; shift += bits > 4 ? 2 : 1) {
        if ((tell >> shift & ((uint32_t{1} << bits) - 1)) == 0) continue;
        if (Rule::is_spans(word) && shift < 16 && shift + bits > 16) continue;
        // A window with ends that tell nothing is a shorter one.
        if ((tell >> shift & 1) == 0 || (tell >> (shift + bits - 1) & 1) == 0) continue;
        const Cut cut{word, shift, bits};
        if (const double rated = rate(sample, box, cut, most_copies); rated > best_rate) {
          best_rate = rated;
          best = cut;
        }
      }
  }
  if (best.bits == 0) return false;
  size_t exact = 0;
  for (const uint32_t i : list) exact += children(rules_[i], box, best);
  return exact <= copies;
}

template class TreeBuilder<4>;
template class TreeBuilder<16>;

}  // namespace hecto::router
