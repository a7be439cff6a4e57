#include "router/rib/urpf.hpp"

#include <new>

namespace hecto::router {

static_assert((kUrpfAnyBit + 1) % 64 == 0, "an entry is whole words");

UrpfTable::UrpfTable(const std::vector<int>& sockets, uint32_t max_groups, lookup::Memory& memory)
    : max_groups_(max_groups), memory_(memory) {
  for (int socket : sockets) {
    auto* words = static_cast<uint64_t*>(memory_.allocate(bytes(), socket));
    if (words == nullptr) {
      for (const Replica& replica : replicas_) memory_.release(replica.words, bytes());
      throw std::bad_alloc();
    }
    replicas_.push_back({socket, words});
  }
}

UrpfTable::~UrpfTable() {
  for (const Replica& replica : replicas_) memory_.release(replica.words, bytes());
}

size_t UrpfTable::bytes() const {
  return size_t{max_groups_} * UrpfView::kWords * sizeof(uint64_t);
}

void UrpfTable::set(GroupId group, const UrpfInterfaces& interfaces) {
  if (group >= max_groups_) return;
  const UrpfInterfaces low(~uint64_t{0});
  for (unsigned i = 0; i < UrpfView::kWords; ++i) {
    uint64_t word = (interfaces >> (i * 64) & low).to_ullong();
    for (const Replica& replica : replicas_) {
      uint64_t* place = replica.words + size_t{group} * UrpfView::kWords + i;
      if (*place != word) __atomic_store_n(place, word, __ATOMIC_RELAXED);
    }
  }
}

UrpfInterfaces UrpfTable::get(GroupId group) const {
  UrpfInterfaces interfaces;
  if (group >= max_groups_ || replicas_.empty()) return interfaces;
  for (unsigned i = 0; i < UrpfView::kWords; ++i) {
    uint64_t word = replicas_[0].words[size_t{group} * UrpfView::kWords + i];
    interfaces |= UrpfInterfaces(word) << (i * 64);
  }
  return interfaces;
}

// A socket without a replica of its own is served by the first.
UrpfView UrpfTable::view(int socket) const {
  for (const Replica& replica : replicas_) {
    if (replica.socket == socket) return {replica.words};
  }
  return {replicas_.empty() ? nullptr : replicas_[0].words};
}

}  // namespace hecto::router
