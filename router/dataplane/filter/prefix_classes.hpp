// Sets of prefixes as filters ask for them: the class of an address says in which sets it is, so that a
// rule asks for a few ranges of numbers, and a packet costs one look-up, however long the sets are.
//
//   prefixes of all sets ─► FIB ─► class ─► bits of the sets
//
// Classes are numbered along a Gray code of their bits, so that those of one set are few ranges. Each
// set has one of its own alone, and numbers stay when prefixes come and go, so that contexts stay too.
//
// Immutable, so thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "lookup/fib.hpp"

namespace hecto::router {

struct Span16 {
  uint16_t first = 0, last = 0xffff;  // both included
  bool any() const { return first == 0 && last == 0xffff; }
  bool operator==(const Span16&) const = default;
};

class PrefixClasses {
 public:
  // Sets that are named, at most kMostPrefixSets. Of `before` numbers stay where the names are the same,
  // and all of it where the prefixes are.
  static Result<std::shared_ptr<const PrefixClasses>> build(
      std::vector<config::PrefixSetConfig> sets, const std::vector<int>& sockets,
      std::shared_ptr<const PrefixClasses> before);

  // Of a set, in order; empty: there is no such set. Classes that no address has may be among them.
  std::vector<Span16> ranges(const std::string& set) const;
  bool holds(const std::string& set, lookup::Family family) const;  // some of that family
  lookup::Fib4View view4(int socket) const {
    return ipv4_ ? ipv4_->view(socket) : lookup::Fib4View{};
  }
  lookup::Fib6View view6(int socket) const {
    return ipv6_ ? ipv6_->view(socket) : lookup::Fib6View{};
  }
  uint64_t bytes() const;  // of the tables, all sockets

 private:
  struct Classified;
  Result<void> number(const Classified& prefixes, const PrefixClasses* before);

  std::vector<config::PrefixSetConfig> sets_;
  std::vector<int> sockets_;
  std::vector<uint32_t> bits_;  // by class; 0: none
  uint32_t in4_ = 0, in6_ = 0;  // sets that have prefixes of the family
  std::unique_ptr<lookup::Fib4> ipv4_;
  std::unique_ptr<lookup::Fib6> ipv6_;
};

}  // namespace hecto::router
