// Linux's policy rules as they are now, in its order: IPv4 before IPv6, by priority, and of one
// priority as they came.
//
// A resync builds a second list from what is told, dump and changes alike, which takes the first
// one's place at its end; a dump comes in Linux's order, so what is told again moves behind the
// others of its priority. Two rules that are the same are one: `ip rule` makes no such.
//
// Control thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "router/rib/rule.hpp"

namespace hecto::router {

class PolicyRules {
 public:
  void rule(const PolicyRule& rule, bool removed);
  void resync_begin() { next_.emplace(); }
  void resync_end();

  const std::vector<PolicyRule>& rules() const { return rules_; }
  // Another one whenever rules() has changed.
  uint64_t version() const { return version_; }
  // The family has none but those that Linux begins with, or none was told of yet.
  bool usual(Family family) const;

 private:
  std::vector<PolicyRule> rules_;
  std::optional<std::vector<PolicyRule>> next_;  // while a resync goes on
  uint64_t version_ = 0;
};

}  // namespace hecto::router
