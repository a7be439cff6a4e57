// What differs between the families in types only.
#pragma once

#include <cstdint>

#include "lookup/fib.hpp"

namespace hecto::bench {

struct Ipv4 {
  static constexpr unsigned kNumber = 4;
  using Prefix = lookup::Prefix4;
  using Address = lookup::Ipv4Address;
  using Destination = uint32_t;  // host order
  using Fib = lookup::Fib4;
  static Address address(Destination destination) { return {destination}; }
  static Destination destination(Address address) { return address.value; }
};

struct Ipv6 {
  static constexpr unsigned kNumber = 6;
  using Prefix = lookup::Prefix6;
  using Address = lookup::Ipv6Address;
  using Destination = lookup::Ipv6Address;
  using Fib = lookup::Fib6;
  static Address address(const Destination& destination) { return destination; }
  static Destination destination(const Address& address) { return address; }
};

template <typename Family>
struct Route {
  typename Family::Prefix prefix;
  lookup::GroupId group;
};

}  // namespace hecto::bench
