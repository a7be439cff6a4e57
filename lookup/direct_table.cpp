#include "lookup/direct_table.hpp"

#include <algorithm>

namespace hecto::lookup {
namespace {

constexpr uint32_t kFirstNodes = 1024;  // 512 KB
constexpr unsigned kRootBits = 24;

size_t words_for(uint32_t nodes) {
  return DIRECT_NODES_WORD + size_t{nodes} * DIRECT_NODE_WORDS;
}

}  // namespace

DirectTable::DirectTable(const FibOptions& options, Memory& memory, Reclaimer& reclaimer)
    : arena_(options.sockets, memory, reclaimer),
      reclaimer_(reclaimer),
      max_words_(options.max_bytes == 0 ? SIZE_MAX : options.max_bytes / 4),
      max_prefixes_(options.max_prefixes) {}

bool DirectTable::allocate() {
  if (!resize(kFirstNodes)) return false;
  ArenaHeader& header = arena_.header();
  header.magic = kDirectMagic;
  header.root = DIRECT_ROOT_WORD;
  header.nodes = DIRECT_NODES_WORD;
  arena_.write_header();
  return true;
}

// To `nodes`, or as many as the limit on bytes lets in, if that is more than now.
bool DirectTable::resize(uint32_t nodes) {
  if (max_words_ < words_for(node_count_ + 1)) return false;
  size_t room = (max_words_ - words_for(0)) / DIRECT_NODE_WORDS;
  nodes = static_cast<uint32_t>(std::min<size_t>({nodes, room, DIRECT_MAX_NODES}));
  if (nodes <= node_count_ || !arena_.resize(words_for(nodes))) return false;
  node_count_ = nodes;
  depth_.resize(position_of(nodes));
  prefixes_in_.resize(nodes);
  return true;
}

tl::expected<void, Error> DirectTable::add(const Prefix4& prefix, GroupId group) {
  const GroupId* before = prefixes_.find(prefix);
  if (before != nullptr && *before == group) return {};
  if (before == nullptr && prefixes_.size() >= max_prefixes_)
    return tl::unexpected(Error::kTableFull);
  bool needs_node =
      prefix.length > kRootBits && (entry(prefix.address.value >> 8) & DIRECT_NODE) == 0;
  if (needs_node && !have_node()) return tl::unexpected(Error::kArenaFull);
  bool fresh = before == nullptr;
  prefixes_.put(prefix, group);
  if (needs_node) make_node(prefix.address.value >> 8);
  if (fresh && prefix.length > kRootBits) {
    ++prefixes_in_[entry(prefix.address.value >> 8) & ~DIRECT_NODE];
  }
  apply(prefix, {group, prefix.length});
  return {};
}

tl::expected<void, Error> DirectTable::load(std::span<const Route<Ipv4Address>> routes) {
  std::vector<std::optional<GroupId>> before;
  before.reserve(routes.size());
  for (const auto& route : routes) {
    const GroupId* known = prefixes_.find(route.prefix);
    before.push_back(known != nullptr ? std::optional(*known) : std::nullopt);
    auto added = add(route.prefix, route.group);
    if (added) continue;
    before.pop_back();
    while (!before.empty()) {
      const Prefix4& prefix = routes[before.size() - 1].prefix;
      before.back() ? add(prefix, *before.back()) : remove(prefix);
      before.pop_back();
    }
    return added;
  }
  return {};
}

tl::expected<void, Error> DirectTable::remove(const Prefix4& prefix) {
  if (!prefixes_.erase(prefix)) return tl::unexpected(Error::kNotFound);
  auto uncovered = prefixes_.parent(prefix);
  Leaf below{kNoRoute, 0};
  if (uncovered) below = {uncovered->group, uncovered->length};
  apply(prefix, below);
  if (prefix.length > kRootBits) {
    Position at = prefix.address.value >> 8;
    uint32_t node = entry(at) & ~DIRECT_NODE;
    if (--prefixes_in_[node] == 0) collapse(at, node);
  }
  return {};
}

// Gives the leaves of the prefix, as far as no longer one owns them, to `leaf`.
void DirectTable::apply(const Prefix4& prefix, Leaf leaf) {
  uint32_t address = prefix.address.value;
  if (prefix.length <= kRootBits) {
    fill(address >> 8, uint32_t{1} << (kRootBits - prefix.length), prefix.length, leaf);
  } else {
    Position node = position_of(entry(address >> 8) & ~DIRECT_NODE);
    fill(node + (address & 0xff), uint32_t{1} << (32 - prefix.length), prefix.length, leaf);
  }
}

void DirectTable::fill(Position first, uint32_t count, uint8_t length, Leaf leaf) {
  for (Position at = first; at != first + count; ++at) {
    Entry here = entry(at);
    if ((here & DIRECT_NODE) != 0) {
      fill(position_of(here & ~DIRECT_NODE), DIRECT_NODE_ENTRIES, length, leaf);
    } else if (depth_[at] <= length) {
      arena_.store_half(DIRECT_ROOT_WORD * 2 + at, leaf.group);
      depth_[at] = leaf.depth;
    }
  }
}

bool DirectTable::have_node() {
  if (!free_nodes_.empty() || next_node_ < node_count_) return true;
  reclaim();
  return !free_nodes_.empty() || resize(node_count_ + node_count_ / 2);
}

uint32_t DirectTable::make_node(Position at) {
  uint32_t node = next_node_;
  if (free_nodes_.empty()) {
    ++next_node_;
  } else {
    node = free_nodes_.back();
    free_nodes_.pop_back();
  }
  Position first = position_of(node);
  for (uint32_t i = 0; i < DIRECT_NODE_ENTRIES; ++i) {
    arena_.store_half(DIRECT_ROOT_WORD * 2 + first + i, entry(at));
  }
  std::fill_n(depth_.begin() + first, DIRECT_NODE_ENTRIES, depth_[at]);
  arena_.store_half(DIRECT_ROOT_WORD * 2 + at, static_cast<Entry>(DIRECT_NODE | node));
  return node;
}

// No prefix ends in the node any more: all its leaves belong to one shorter prefix.
void DirectTable::collapse(Position at, uint32_t node) {
  depth_[at] = depth_[position_of(node)];
  arena_.store_half(DIRECT_ROOT_WORD * 2 + at, entry(position_of(node)));
  retired_.push_back(node);
}

void DirectTable::publish() {
  reclaim();
  arena_.publish();
}

void DirectTable::reclaim() {
  if (!retired_.empty()) {
    waiting_.push_back({reclaimer_.start(), std::move(retired_)});
    retired_.clear();
  }
  while (!waiting_.empty() && reclaimer_.passed(waiting_.front().token)) {
    auto& nodes = waiting_.front().nodes;
    free_nodes_.insert(free_nodes_.end(), nodes.begin(), nodes.end());
    waiting_.pop_front();
  }
  arena_.reclaim();
}

FibStatistics DirectTable::statistics() const {
  size_t used = next_node_ - free_nodes_.size();
  return {prefixes_.size(), (DIRECT_NODES_WORD + used * DIRECT_NODE_WORDS) * 4, arena_.size() * 4,
          arena_.generation(), "dir-24-8"};
}

}  // namespace hecto::lookup
