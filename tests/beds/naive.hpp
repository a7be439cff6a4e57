// The deliberately naive twin of a FIB: a list per prefix length, searched longest first. Tests
// hold every other structure against it.
#pragma once

#include <map>

#include "lookup/fib.hpp"
#include "lookup/prefix.hpp"

namespace hecto::lookup {

template <typename Address>
class NaiveFib {
 public:
  void add(Prefix<Address> prefix, GroupId group) { by_length_[prefix.length][prefix] = group; }
  bool remove(Prefix<Address> prefix) { return by_length_[prefix.length].erase(prefix) == 1; }

  GroupId lookup(const Address& address) const {
    for (int length = Prefix<Address>::kMaxLength; length >= 0; --length) {
      const auto& prefixes = by_length_[length];
      if (prefixes.empty()) continue;
      auto found = prefixes.find(Prefix<Address>::make(address, static_cast<uint8_t>(length)));
      if (found != prefixes.end()) return found->second;
    }
    return kNoRoute;
  }

 private:
  std::array<std::map<Prefix<Address>, GroupId>, Prefix<Address>::kMaxLength + 1> by_length_;
};

}  // namespace hecto::lookup
