// rte_acl's contexts of a filter's rules of one family, on one socket: from a key to the first rule that
// holds. One, as a rule; where it would take too much memory to build (rules that have no fields in
// common multiply in a trie), each half of the rules has its own, and those of the first are asked first.
// Immutable once built, so thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/filter/fingerprint.hpp"
#include "router/dataplane/filter/rule_words.hpp"

struct rte_acl_ctx;

namespace hecto::router {

class AclContext {
 public:
  static constexpr uint64_t kMostEntries = 2'000'000;
  // Of memory, for a moment: 2.5 GB were seen for 100,000 diverse rules; what takes more is halved.
  static constexpr uint64_t kBuildBytesAnEntry = 40'000, kBuildBytes = 256'000'000;
  static constexpr size_t kMostParts = 16;

  struct Order {
    std::string filter;  // whose they are, for errors
    lookup::Family family = lookup::Family::kIpv4;
    std::span<const RuleWords> rules;  // in order
    int socket = 0;
    Fingerprint print;        // of all that the rules say
    uint64_t most_bytes = 0;  // 0: what there is
    uint64_t free_bytes = 0;  // that building may have; 0: not known
  };
  // For rules of which some may hold. Fails for want of memory. Seconds for 100,000.
  static Result<std::shared_ptr<const AclContext>> build(const Order& order);
  ~AclContext();
  AclContext(const AclContext&) = delete;
  AclContext& operator=(const AclContext&) = delete;

  const std::vector<rte_acl_ctx*>& parts() const { return parts_; }  // in the order of their rules
  uint32_t needs() const { return needs_; }  // KeyNeed: what of a key must be written
  const Fingerprint& print() const { return print_; }
  int socket() const { return socket_; }
  uint64_t bytes() const { return bytes_; }
  const char* algorithm() const { return algorithm_; }

 private:
  AclContext() = default;

  Result<void> add_parts(const Order& order, size_t first, size_t end, const std::string& whom);

  std::vector<rte_acl_ctx*> parts_;
  uint32_t needs_ = 0;
  Fingerprint print_;
  int socket_ = 0;
  uint64_t bytes_ = 0;
  const char* algorithm_ = "";
};

}  // namespace hecto::router
