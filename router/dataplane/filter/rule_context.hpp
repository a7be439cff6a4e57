// A filter's rules of one family as trees in the memory of one socket: from keys to the first rule that holds.
// Immutable once built, so thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/filter/fingerprint.hpp"
#include "router/dataplane/filter/rule_tree.hpp"
#include "router/dataplane/filter/rule_words.hpp"

namespace hecto::router {

class RuleContext {
 public:
  static constexpr uint64_t kMostEntries = 2'000'000;

  struct Order {
    std::string filter;  // whose they are, for errors
    lookup::Family family = lookup::Family::kIpv4;
    std::span<const RuleWords> rules;  // in order
    std::vector<int> sockets;
    Fingerprint print;        // of all that the rules say
    uint64_t free_bytes = 0;  // that building may have; 0: not known
  };
  // One for each socket. For rules of which some may hold. Fails for want of memory. Tenths of a second for
  // 100,000, whatever they ask for.
  using Built = std::vector<std::shared_ptr<const RuleContext>>;
  static Result<Built> build(const Order& order);
  ~RuleContext();
  RuleContext(const RuleContext&) = delete;
  RuleContext& operator=(const RuleContext&) = delete;

  const RuleTree<4>& tree4() const { return tree4_; }
  const RuleTree<16>& tree6() const { return tree6_; }
  uint32_t needs() const { return needs_; }  // KeyNeed: what of a key must be written
  const Fingerprint& print() const { return print_; }
  int socket() const { return socket_; }
  uint64_t bytes() const { return bytes_; }
  size_t longest_leaf() const {
    return longest_leaf_;
  }  // entries that a packet may be compared with

 private:
  RuleContext() = default;
  template <unsigned AddressBytes>
  static Result<Built> build_of(const Order& order, uint64_t entries, uint64_t rules);

  RuleTree<4> tree4_;
  RuleTree<16> tree6_;
  uint32_t needs_ = 0;
  Fingerprint print_;
  int socket_ = 0;
  uint64_t bytes_ = 0;
  size_t longest_leaf_ = 0;
  void* memory_ = nullptr;
};

}  // namespace hecto::router
