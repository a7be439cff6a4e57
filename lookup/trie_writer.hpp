// Trie's tables and memory. Included by fib4.cpp and fib6.cpp, which instantiate it.
#pragma once

#include "lookup/trie.hpp"
#include "lookup/trie_edit.hpp"

namespace hecto::lookup {

template <typename Address>
Trie<Address>::Trie(const FibOptions& options, Memory& memory, Reclaimer& reclaimer)
    : arena_(options.sockets, memory, reclaimer),
      reclaimer_(reclaimer),
      max_words_(options.max_bytes == 0 ? kOffsetWords
                                        : std::min(options.max_bytes / 4, kOffsetWords)),
      max_prefixes_(options.max_prefixes),
      routes_(options.tables) {}

template <typename Address>
bool Trie<Address>::allocate() {
  uint32_t root = TRIE_LINE_WORDS;
  uint32_t groups = root + (kHasRoot ? 2 * (TRIE_ROOT_PAIRS + 1) : 0);
  uint32_t tables = groups + (kHasRoot ? kMaxGroupId + 1u : 0);
  auto fixed = static_cast<uint32_t>(tables + routes_.size());
  uint32_t lines = (fixed + TRIE_LINE_WORDS - 1) / TRIE_LINE_WORDS;
  lines = (lines + LineHeap::kMaxLines - 1) & ~(LineHeap::kMaxLines - 1);
  uint32_t room = lines + 8 * LineHeap::kMaxLines;
  if (size_t{room} * TRIE_LINE_WORDS > max_words_) return false;
  if (!arena_.resize(size_t{room} * TRIE_LINE_WORDS)) return false;
  heap_.start_at(lines);
  heap_.grow(room);
  ArenaHeader& header = arena_.header();
  header.magic = kHasRoot ? kTrie6Magic : kTrie4Magic;
  header.root = kHasRoot ? root : 0;
  header.groups = kHasRoot ? groups : 0;
  header.tables = tables;
  header.table_count = static_cast<uint32_t>(routes_.size());
  header.nodes = lines * TRIE_LINE_WORDS;
  if constexpr (kHasRoot) {
    for (uint32_t group = 0; group <= kMaxGroupId; ++group) arena_.store(groups + group, group);
    for (uint32_t pair = 0; pair < TRIE_ROOT_PAIRS; ++pair) {
      arena_.store_pair(root + 2 * pair, pair_of(groups + kNoRoute, 1));
    }
    arena_.store_pair(root + 2 * TRIE_ROOT_PAIRS, pair_of(tables, 1));
  }
  arena_.write_header();
  return true;
}

template <typename Address>
tl::expected<void, Error> Trie<Address>::add(TableId table, const PrefixType& prefix,
                                             GroupId group) {
  auto [known, fresh] = routes_[table].insert(prefix, group);
  if (!fresh && *known == group) return {};
  GroupId before = *known;
  *known = group;
  if (fresh && prefixes_ == max_prefixes_) {
    routes_[table].erase(prefix);
    return tl::unexpected(Error::kTableFull);
  }
  if (!apply(table, prefix)) {
    if (fresh) {
      routes_[table].erase(prefix);
    } else {
      *routes_[table].find(prefix) = before;
    }
    return tl::unexpected(Error::kArenaFull);
  }
  prefixes_ += fresh;
  return {};
}

// One change for all of them: every block is built once.
template <typename Address>
tl::expected<void, Error> Trie<Address>::load(TableId table,
                                              std::span<const Route<Address>> routes) {
  auto& known = routes_[table];
  std::vector<std::optional<GroupId>> before;
  before.reserve(routes.size());
  uint64_t added = 0;
  for (const auto& route : routes) {
    auto [group, fresh] = known.insert(route.prefix, route.group);
    before.push_back(fresh ? std::nullopt : std::optional(*group));
    *group = route.group;
    added += fresh;
  }
  bool fits = prefixes_ + added <= max_prefixes_;
  if (fits && apply(table, PrefixType{})) {
    prefixes_ += added;
    return {};
  }
  for (size_t i = routes.size(); i-- > 0;) {
    if (before[i]) {
      *known.find(routes[i].prefix) = *before[i];
    } else {
      known.erase(routes[i].prefix);
    }
  }
  return tl::unexpected(fits ? Error::kArenaFull : Error::kTableFull);
}

template <typename Address>
tl::expected<void, Error> Trie<Address>::remove(TableId table, const PrefixType& prefix) {
  const GroupId* known = routes_[table].find(prefix);
  if (known == nullptr) return tl::unexpected(Error::kNotFound);
  GroupId before = *known;
  routes_[table].erase(prefix);
  removing_ = true;
  bool done = apply(table, prefix);
  removing_ = false;
  if (!done) {
    routes_[table].insert(prefix, before);
    return tl::unexpected(Error::kArenaFull);
  }
  --prefixes_;
  return {};
}

// Brings the arena in line with the routes under `prefix`.
template <typename Address>
bool Trie<Address>::apply(TableId table, const PrefixType& prefix) {
  paint(routes_[table], prefix, painted_);
  Change change{Bounds<Address>::of(prefix), prefix.length, &painted_};
  bool rooted = kHasRoot && table == 0;
  bool meets_root = rooted && change.bounds.last >= kRootStart && change.bounds.first <= kRootLast;
  bool meets_rest = !rooted || change.bounds.first < kRootStart || change.bounds.last > kRootLast;
  bool done = (!meets_root || change_root(change)) && (!meets_rest || change_table(table, change));
  done ? commit() : roll_back();
  if (done && rooted && change.bounds.last == kRootStart - 1) {
    // The range before the root is another now, and goes on over it.
    Intervals<Bits> carried;
    carried.put(kRootStart, painted_.items().back().group);
    change_table(0, {{kRootStart, kRootLast}, 3, &carried}) ? commit() : roll_back();
  }
  return done;
}

// The table's slot. What the root answers stays out of it: the range before goes on over it.
template <typename Address>
bool Trie<Address>::change_table(TableId table, const Change& change) {
  Intervals<Bits> rest;
  Change outside = change;
  if (kHasRoot && table == 0 && change.length < 3 && change.bounds.first < kRootStart) {
    Bits behind = kRootLast + 1;
    for (const Item& item : change.painted->items()) {
      if (item.start < kRootStart) rest.put(item.start, item.group);
    }
    if (change.bounds.last >= behind) rest.put(behind, change.painted->group_at(behind));
    for (const Item& item : change.painted->items()) {
      if (item.start > behind) rest.put(item.start, item.group);
    }
    outside.painted = &rest;
  }
  uint32_t word = arena_.header().tables + table;
  uint32_t slot = arena_.words()[word];
  auto changed = edit(slot, 0, 0, outside);
  if (!changed) return false;
  if (*changed != slot) stores_.push_back({word, *changed});
  return true;
}

template <typename Address>
bool Trie<Address>::change_root(const Change& change) {
  if constexpr (kHasRoot) {
    auto pair_at = [](Bits bits) {
      return static_cast<uint32_t>((bits - kRootStart) >> (Shape::kBits - kRootPairBits));
    };
    uint32_t first = change.bounds.first <= kRootStart ? 0 : pair_at(change.bounds.first);
    uint32_t last =
        change.bounds.last >= kRootLast ? TRIE_ROOT_PAIRS - 1 : pair_at(change.bounds.last);
    for (uint32_t pair = first; pair <= last; ++pair) {
      if (!change_pair(pair, change)) return false;
    }
  }
  return true;
}

template <typename Address>
bool Trie<Address>::change_pair(uint32_t pair, const Change& change) {
  if constexpr (kHasRoot) {
    uint32_t word = arena_.header().root + 2 * pair;
    uint32_t groups = arena_.header().groups;
    Bits start = kRootStart | Bits{pair} << (Shape::kBits - kRootPairBits);
    uint32_t old_base = arena_.words()[word];
    bool has_slots = old_base >= arena_.header().nodes;
    if (!has_slots && change.length <= kRootPairBits) {
      // Most of the root has one group and gets one.
      size_t first = change.painted->index_of(start);
      if (first == change.painted->index_of(start | Bounds<Address>::below(kRootPairBits))) {
        uint32_t base = groups + change.painted->items()[first].group;
        if (base != old_base) pair_stores_.push_back({word, pair_of(base, 1)});
        return true;
      }
    }
    std::array<uint32_t, TRIE_PAIR_CHILDREN> before;
    std::array<uint32_t, TRIE_PAIR_CHILDREN> children;
    Edit done = edit_children(word, before, children, start, kRootPairBits, change);
    if (done != Edit::kChanged) return done == Edit::kInPlace;
    if (has_slots && replace_in_place(word, before, children)) return true;
    uint32_t count = 0;
    uint32_t bitmap = pack(children, block_.data(), count);
    uint32_t base = groups + children[0];
    if (count != 1 || is_node(children[0])) {
      auto block = put_block(0, count > TRIE_LINE_WORDS ? 2 : 1);
      if (!block) return false;
      base = word_of(*block);
    }
    if (has_slots) drop(old_base / 2);
    pair_stores_.push_back({word, pair_of(base, bitmap)});
  }
  return true;
}

template <typename Address>
std::optional<uint32_t> Trie<Address>::take(uint32_t lines) {
  auto line = heap_.take(lines);
  if (!line) {
    reclaim();
    line = heap_.take(lines);
  }
  while (!line && grow()) line = heap_.take(lines);
  if (line) fresh_.push_back(*line);
  return line;
}

// By an eighth: a table in use should not carry much more than it needs. What is taken away may be
// more than it seems (a prefix taken out of a block can make it larger), so a removal is not held
// to the limit.
template <typename Address>
bool Trie<Address>::grow() {
  constexpr uint32_t kStep = 16 * LineHeap::kMaxLines;
  size_t lines = heap_.size() + heap_.size() / 8 / kStep * kStep + kStep;
  size_t limit = removing_ ? kOffsetWords : max_words_;
  lines = std::min(lines, limit / TRIE_LINE_WORDS) & ~size_t{LineHeap::kMaxLines - 1};
  if (lines <= heap_.size() || !arena_.resize(lines * TRIE_LINE_WORDS)) return false;
  heap_.grow(static_cast<uint32_t>(lines));
  return true;
}

template <typename Address>
void Trie<Address>::commit() {
  for (const Store& store : stores_) arena_.store(store.word, store.slot);
  for (const PairStore& store : pair_stores_) arena_.store_pair(store.word, store.pair);
  retired_.insert(retired_.end(), dropped_.begin(), dropped_.end());
  forget_change();
  // Their grace period should not begin only when there is no room left.
  if (retired_.size() >= kRetiredAtOnce) reclaim();
}

template <typename Address>
void Trie<Address>::roll_back() {
  for (uint32_t line : fresh_) heap_.give_back(line);
  forget_change();
}

template <typename Address>
void Trie<Address>::forget_change() {
  fresh_.clear();
  dropped_.clear();
  stores_.clear();
  pair_stores_.clear();
}

template <typename Address>
void Trie<Address>::publish() {
  reclaim();
  arena_.publish();
}

template <typename Address>
FibStatistics Trie<Address>::statistics() const {
  size_t fixed = arena_.header().nodes * size_t{4};
  return {prefixes_, fixed + size_t{heap_.used()} * TRIE_LINE_BYTES, arena_.size() * 4,
          arena_.generation(), "trie"};
}

template <typename Address>
void Trie<Address>::reclaim() {
  if (!retired_.empty()) {
    waiting_.push_back({reclaimer_.start(), std::move(retired_)});
    retired_.clear();
  }
  while (!waiting_.empty() && reclaimer_.passed(waiting_.front().token)) {
    for (uint32_t line : waiting_.front().lines) heap_.give_back(line);
    waiting_.pop_front();
  }
  arena_.reclaim();
}

}  // namespace hecto::lookup
