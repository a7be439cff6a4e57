#include "lookup/direct_table.hpp"
#include "lookup/fib_common.hpp"
#include "lookup/first_level.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_writer.hpp"

namespace hecto::lookup {

template class Trie<Ipv4Address>;

// Table 0 has an arena of its own when it is a DirectTable; all others share that of a trie.
template <>
struct Fib4::State {
  State(const FibOptions& wanted, Memory& memory, Reclaimer& reclaimer)
      : options(wanted), trie(wanted, memory, reclaimer) {
    if (options.engine != Engine::kTrie) direct.emplace(options, memory, reclaimer);
  }
  bool is_direct(TableId table) const { return direct && table == 0; }
  bool knows(const Prefix4& prefix, TableId table) const {
    if (is_direct(table)) return direct->find(prefix) != nullptr;
    return trie.find(table, prefix) != nullptr;
  }
  uint64_t prefixes() const {  // in both
    return direct->statistics().prefixes + trie.statistics().prefixes;
  }
  bool has_trie() const { return !direct || options.tables > 1; }

  FibOptions options;
  std::optional<DirectTable> direct;
  Trie<Ipv4Address> trie;
};

template <>
Fib4::Fib() = default;
template <>
Fib4::~Fib() = default;

template <>
tl::expected<std::unique_ptr<Fib4>, Error> Fib4::create(const FibOptions& options, Memory& memory,
                                                        Reclaimer& reclaimer) {
  kernels();
  FibOptions complete = options;
  if (complete.max_prefixes == 0) complete.max_prefixes = 4u << 20;
  std::unique_ptr<Fib4> fib(new Fib4);
  fib->state_ = std::make_unique<State>(complete, memory, reclaimer);
  State& state = *fib->state_;
  if (state.direct && !state.direct->allocate()) return tl::unexpected(Error::kNoMemory);
  if (state.has_trie() && !state.trie.allocate()) return tl::unexpected(Error::kNoMemory);
  return fib;
}

template <>
tl::expected<void, Error> Fib4::add(Prefix4 prefix, GroupId group, TableId table) {
  if (auto checked = check_change(state_->options, prefix, group, table); !checked) return checked;
  bool has_both = state_->direct && state_->has_trie();
  if (has_both && state_->prefixes() >= state_->options.max_prefixes &&
      !state_->knows(prefix, table)) {
    return tl::unexpected(Error::kTableFull);
  }
  if (state_->is_direct(table)) return state_->direct->add(prefix, group);
  return state_->trie.add(table, prefix, group);
}

template <>
tl::expected<void, Error> Fib4::insert(Prefix4 prefix, GroupId group, TableId table) {
  if (auto checked = check_change(state_->options, prefix, group, table); !checked) return checked;
  if (state_->knows(prefix, table)) return tl::unexpected(Error::kDuplicate);
  return add(prefix, group, table);
}

template <>
tl::expected<void, Error> Fib4::load(std::span<const Route<Ipv4Address>> routes, TableId table) {
  for (const auto& route : routes) {
    auto checked = check_change(state_->options, route.prefix, route.group, table);
    if (!checked) return checked;
  }
  if (state_->direct && state_->has_trie()) {
    auto fresh = std::count_if(routes.begin(), routes.end(), [&](const auto& route) {
      return !state_->knows(route.prefix, table);
    });
    if (state_->prefixes() + static_cast<uint64_t>(fresh) > state_->options.max_prefixes) {
      return tl::unexpected(Error::kTableFull);
    }
  }
  if (state_->is_direct(table)) return state_->direct->load(routes);
  return state_->trie.load(table, routes);
}

template <>
tl::expected<void, Error> Fib4::remove(Prefix4 prefix, TableId table) {
  if (auto checked = check_change(state_->options, prefix, 0, table); !checked) return checked;
  if (state_->is_direct(table)) return state_->direct->remove(prefix);
  return state_->trie.remove(table, prefix);
}

template <>
void Fib4::publish() {
  if (state_->direct) state_->direct->publish();
  if (state_->has_trie()) state_->trie.publish();
}

template <>
Fib4View Fib4::view(int socket, TableId table) const {
  const Arena& arena = state_->is_direct(table) ? state_->direct->arena() : state_->trie.arena();
  return {&arena.handle(socket), table};
}

template <>
void Fib4::attach(Journal* journal, TableId table) {
  if (state_->is_direct(table)) {
    state_->direct->attach(journal);
  } else {
    state_->trie.attach(journal);
  }
}

template <>
std::shared_ptr<const TableUpdate> Fib4::image(TableId table) const {
  return (state_->is_direct(table) ? state_->direct->arena() : state_->trie.arena()).image();
}

template <>
FibStatistics Fib4::statistics() const {
  if (!state_->direct) return state_->trie.statistics();
  FibStatistics all = state_->direct->statistics();
  if (state_->has_trie()) {
    FibStatistics further = state_->trie.statistics();
    all.prefixes += further.prefixes;
    all.used_bytes += further.used_bytes;
    all.bytes += further.bytes;
  }
  return all;
}

const void* first_level(Fib4View view) noexcept {
  const uint32_t* arena = view.arena->load(std::memory_order_acquire);
  bool direct = reinterpret_cast<const ArenaHeader*>(arena)->magic == kDirectMagic;
  return direct ? arena + DIRECT_ROOT_WORD : nullptr;
}

void lookup_batch(Fib4View view, const uint32_t* destinations, GroupId* groups, size_t n) noexcept {
  const uint32_t* arena = view.arena->load(std::memory_order_acquire);
  bool direct = reinterpret_cast<const ArenaHeader*>(arena)->magic == kDirectMagic;
  (direct ? kernels().direct4 : kernels().trie4)(arena, view.table, destinations, groups, n);
}

}  // namespace hecto::lookup
