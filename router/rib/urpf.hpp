// For the reverse-path check (RFC 3704): by which interfaces may packets to a group's
// destinations leave? One bit per interface and group, read by workers with one 8-byte load.
//
// A connected route counts as reachable by its interface although its group punts to resolve
// neighbors. Local, broadcast and multicast routes have no bit at all: as a source they are
// martian. Nor do blackhole, unreachable and prohibit, so a blackhole route also drops by source
// (RFC 5635). The last bit says that some way exists, also one by an interface that only Linux
// has; it is the loose check.
//
// One writer; a bit changes by itself, and a group that is released keeps its bits until reuse.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <memory>
#include <vector>

#include "lookup/memory.hpp"
#include "lookup/nexthop.hpp"
#include "router/rib/interfaces.hpp"

namespace hecto::router {

using lookup::GroupId;
using UrpfInterfaces = std::bitset<kMaxInterfaceId + 2>;
inline constexpr unsigned kUrpfAnyBit = kMaxInterfaceId + 1;

// Trivially copyable; of one socket.
struct UrpfView {
  static constexpr unsigned kWords = (kUrpfAnyBit + 1) / 64;
  const uint64_t* words = nullptr;

  bool reachable_by(GroupId group, InterfaceId interface) const noexcept {
    return bit(group, interface);
  }
  bool reachable(GroupId group) const noexcept { return bit(group, kUrpfAnyBit); }

 private:
  bool bit(GroupId group, unsigned number) const noexcept {
    const uint64_t* word = words + size_t{group} * kWords + number / 64;
    return (__atomic_load_n(word, __ATOMIC_RELAXED) >> number % 64 & 1) != 0;
  }
};

class UrpfTable {
 public:
  // Groups 0 to max_groups - 1. Throws std::bad_alloc (start-up only).
  UrpfTable(const std::vector<int>& sockets, uint32_t max_groups,
            lookup::Memory& memory = lookup::Memory::system());
  ~UrpfTable();
  UrpfTable(const UrpfTable&) = delete;
  UrpfTable& operator=(const UrpfTable&) = delete;

  void set(GroupId group, const UrpfInterfaces& interfaces);
  UrpfInterfaces get(GroupId group) const;
  UrpfView view(int socket) const;

 private:
  struct Replica {
    int socket;
    uint64_t* words;
  };
  size_t bytes() const;

  uint32_t max_groups_;
  lookup::Memory& memory_;
  std::vector<Replica> replicas_;
};

}  // namespace hecto::router
