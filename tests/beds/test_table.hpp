// One test body for every kind of table.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "lookup/direct_layout.hpp"
#include "lookup/fib.hpp"
#include "lookup/kernels.hpp"

namespace hecto::lookup {

// Which table of which FIB a test works on.
template <typename A, Engine kEngine, TableId kNumber>
struct TableKind {
  using Address = A;
  using Fib = lookup::Fib<Address>;
  using PrefixType = Prefix<Address>;
  static constexpr TableId kTable = kNumber;
  static constexpr bool kIsIpv4 = sizeof(Address) == sizeof(Ipv4Address);
  static constexpr bool kIsDirect = kIsIpv4 && kEngine == Engine::kDirect && kTable == 0;

  static FibOptions with(FibOptions options) {
    options.engine = kEngine;
    if (kTable >= options.tables) options.tables = kTable + 1;
    return options;
  }
  static Kernel kernel(const Kernels& kernels) {
    if (!kIsIpv4) return kernels.trie6;
    return kIsDirect ? kernels.direct4 : kernels.trie4;
  }
  static PrefixType default_route() { return PrefixType::make(Address{}, 0); }
  // A prefix of that length, the `number`th from some address.
  static PrefixType numbered(uint8_t length, uint32_t number) {
    Address address{};
    if constexpr (kIsIpv4) {
      address.value = 0x0a000000u + (number << (32 - length));
    } else {
      address.bytes[0] = 0x20;
      for (unsigned i = 0; i < 4 && i < length / 8u; ++i) {
        address.bytes[length / 8 - 1 - i] |= static_cast<uint8_t>(number >> 8 * i);
      }
    }
    return PrefixType::make(address, length);
  }
};

using DirectTable4 = TableKind<Ipv4Address, Engine::kDirect, 0>;
using TrieTable4 = TableKind<Ipv4Address, Engine::kTrie, 0>;
using VrfTable4 = TableKind<Ipv4Address, Engine::kTrie, 2>;
using MainTable6 = TableKind<Ipv6Address, Engine::kAuto, 0>;
using VrfTable6 = TableKind<Ipv6Address, Engine::kAuto, 2>;
using TableKinds = ::testing::Types<DirectTable4, TrieTable4, VrfTable4, MainTable6, VrfTable6>;

inline void lookup_in(Fib4View view, const Ipv4Address* from, GroupId* to, size_t n) {
  lookup_batch(view, reinterpret_cast<const uint32_t*>(from), to, n);
}
inline void lookup_in(Fib6View view, const Ipv6Address* from, GroupId* to, size_t n) {
  lookup_batch(view, from, to, n);
}

// A FIB through the table of it that a test works on.
template <typename Kind>
class TestTable {
 public:
  using Address = typename Kind::Address;
  using PrefixType = Prefix<Address>;

  explicit TestTable(const FibOptions& options = {}, Memory& memory = Memory::system(),
                     Reclaimer& reclaimer = Reclaimer::none())
      : fib_(Kind::Fib::create(Kind::with(options), memory, reclaimer).value()) {}

  explicit TestTable(std::unique_ptr<typename Kind::Fib> fib) : fib_(std::move(fib)) {}

  auto add(const PrefixType& prefix, GroupId group) {
    return fib_->add(prefix, group, Kind::kTable);
  }
  auto insert(const PrefixType& prefix, GroupId group) {
    return fib_->insert(prefix, group, Kind::kTable);
  }
  auto remove(const PrefixType& prefix) { return fib_->remove(prefix, Kind::kTable); }
  void publish() { fib_->publish(); }
  FibStatistics statistics() const { return fib_->statistics(); }
  auto view(int socket = 0) const { return fib_->view(socket, Kind::kTable); }
  const uint32_t* arena(int socket = 0) const { return view(socket).arena->load(); }
  typename Kind::Fib& fib() { return *fib_; }

  GroupId lookup(const Address& address) const {
    GroupId group = 0xdead;
    lookup_in(view(), &address, &group, 1);
    return group;
  }
  std::vector<GroupId> lookup(const std::vector<Address>& addresses) const {
    std::vector<GroupId> groups(addresses.size(), 0xdead);
    lookup_in(view(), addresses.data(), groups.data(), groups.size());
    return groups;
  }

 private:
  std::unique_ptr<typename Kind::Fib> fib_;
};

// Options for an arena that has little room: `nodes` of DIR-24-8, or the smallest trie.
template <typename Kind>
FibOptions little_room(uint32_t nodes = 3) {
  FibOptions options;
  if (Kind::kIsDirect) {
    options.max_bytes = (DIRECT_NODES_WORD + size_t{nodes} * DIRECT_NODE_WORDS) * 4;
  } else {
    options.max_bytes = TestTable<Kind>().statistics().bytes;
  }
  return options;
}

}  // namespace hecto::lookup
