#include "lookup/fib_common.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_writer.hpp"

namespace hecto::lookup {

template class Trie<Ipv6Address>;

template <>
struct Fib6::State {
  FibOptions options;
  Trie<Ipv6Address> trie;
};

template <>
Fib6::Fib() = default;
template <>
Fib6::~Fib() = default;

template <>
tl::expected<std::unique_ptr<Fib6>, Error> Fib6::create(const FibOptions& options, Memory& memory,
                                                        Reclaimer& reclaimer) {
  kernels();
  FibOptions complete = options;
  if (complete.max_prefixes == 0) complete.max_prefixes = 1u << 20;
  std::unique_ptr<Fib6> fib(new Fib6);
  fib->state_.reset(new State{complete, Trie<Ipv6Address>(complete, memory, reclaimer)});
  if (!fib->state_->trie.allocate()) return tl::unexpected(Error::kNoMemory);
  return fib;
}

template <>
tl::expected<void, Error> Fib6::add(Prefix6 prefix, GroupId group, TableId table) {
  if (auto checked = check_change(state_->options, prefix, group, table); !checked) return checked;
  return state_->trie.add(table, prefix, group);
}

template <>
tl::expected<void, Error> Fib6::insert(Prefix6 prefix, GroupId group, TableId table) {
  if (auto checked = check_change(state_->options, prefix, group, table); !checked) return checked;
  if (state_->trie.find(table, prefix) != nullptr) return tl::unexpected(Error::kDuplicate);
  return state_->trie.add(table, prefix, group);
}

template <>
tl::expected<void, Error> Fib6::load(std::span<const Route<Ipv6Address>> routes, TableId table) {
  for (const auto& route : routes) {
    auto checked = check_change(state_->options, route.prefix, route.group, table);
    if (!checked) return checked;
  }
  return state_->trie.load(table, routes);
}

template <>
tl::expected<void, Error> Fib6::remove(Prefix6 prefix, TableId table) {
  if (auto checked = check_change(state_->options, prefix, 0, table); !checked) return checked;
  return state_->trie.remove(table, prefix);
}

template <>
void Fib6::publish() {
  state_->trie.publish();
}
template <>
Fib6View Fib6::view(int socket, TableId table) const {
  return {&state_->trie.arena().handle(socket), table};
}
template <>
void Fib6::attach(Journal* journal, TableId /*table*/) {
  state_->trie.attach(journal);
}
template <>
std::shared_ptr<const TableUpdate> Fib6::image(TableId /*table*/) const {
  return state_->trie.arena().image();
}
template <>
FibStatistics Fib6::statistics() const {
  return state_->trie.statistics();
}

void lookup_batch(Fib6View view, const Ipv6Address* destinations, GroupId* groups,
                  size_t n) noexcept {
  const uint32_t* arena = view.arena->load(std::memory_order_acquire);
  kernels().trie6(arena, view.table, destinations, groups, n);
}

}  // namespace hecto::lookup
