// rte_acl's context of a filter's rules of one family, on one socket: from a key to the first rule that
// holds. Immutable once built, so thread-safe.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "base/result.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/filter/fingerprint.hpp"
#include "router/dataplane/filter/rule_words.hpp"

struct rte_acl_ctx;

namespace hecto::router {

class AclContext {
 public:
  static constexpr uint64_t kMostEntries = 2'000'000;
  // Of memory, for a moment: 2.5 GB for 100,000 rules that have little in common.
  static constexpr uint64_t kBuildBytesAnEntry = 25'000;

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

  const rte_acl_ctx* get() const { return context_; }
  uint32_t needs() const { return needs_; }  // KeyNeed: what of a key must be written
  const Fingerprint& print() const { return print_; }
  int socket() const { return socket_; }
  uint64_t bytes() const { return bytes_; }
  const char* algorithm() const { return algorithm_; }

 private:
  AclContext() = default;

  rte_acl_ctx* context_ = nullptr;
  uint32_t needs_ = 0;
  Fingerprint print_;
  int socket_ = 0;
  uint64_t bytes_ = 0;
  const char* algorithm_ = "";
};

}  // namespace hecto::router
