// One test body for both families.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "lookup/fib.hpp"
#include "lookup/kernels.hpp"

namespace hecto::lookup {

struct Ipv4Family {
  using Address = Ipv4Address;
  using Fib = Fib4;
  static constexpr const char* kDefault = "0.0.0.0/0";
  static Kernel kernel(const Kernels& kernels) { return kernels.lookup4; }
  static void lookup(const Fib& fib, const Address* from, GroupId* to, size_t n, int socket = 0) {
    lookup_batch(fib.view(socket), reinterpret_cast<const uint32_t*>(from), to, n);
  }
};

struct Ipv6Family {
  using Address = Ipv6Address;
  using Fib = Fib6;
  static constexpr const char* kDefault = "::/0";
  static Kernel kernel(const Kernels& kernels) { return kernels.lookup6; }
  static void lookup(const Fib& fib, const Address* from, GroupId* to, size_t n, int socket = 0) {
    lookup_batch(fib.view(socket), from, to, n);
  }
};

using Families = ::testing::Types<Ipv4Family, Ipv6Family>;

template <typename Family>
GroupId lookup_one(const typename Family::Fib& fib, const typename Family::Address& address,
                   int socket = 0) {
  GroupId group = 0xdead;
  Family::lookup(fib, &address, &group, 1, socket);
  return group;
}

template <typename Family>
std::vector<GroupId> lookup_all(const typename Family::Fib& fib,
                                const std::vector<typename Family::Address>& addresses) {
  std::vector<GroupId> groups(addresses.size(), 0xdead);
  Family::lookup(fib, addresses.data(), groups.data(), groups.size());
  return groups;
}

}  // namespace hecto::lookup
