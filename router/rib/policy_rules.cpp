#include "router/rib/policy_rules.hpp"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

#include "router/rib/candidate.hpp"

namespace hecto::router {
namespace {

bool before(const PolicyRule& a, const PolicyRule& b) {
  return std::tuple(a.family, a.priority) < std::tuple(b.family, b.priority);
}

void add(std::vector<PolicyRule>& list, const PolicyRule& rule) {
  list.insert(std::upper_bound(list.begin(), list.end(), rule, before), rule);
}

// fib_default_rules_init(), fib6_rules_net_init().
bool is_usual(const PolicyRule& rule) {
  static constexpr std::array<std::pair<uint32_t, uint32_t>, 3> kUsual = {
      {{0, kTableLocal}, {32766, kTableMain}, {32767, kTableDefault}}};
  return std::any_of(kUsual.begin(), kUsual.end(), [&rule](const auto& usual) {
    PolicyRule wanted;
    wanted.family = rule.family;
    wanted.priority = usual.first;
    wanted.table = usual.second;
    wanted.protocol = rule.protocol;
    return rule == wanted;
  });
}

}  // namespace

void PolicyRules::rule(const PolicyRule& rule, bool removed) {
  const bool known = std::find(rules_.begin(), rules_.end(), rule) != rules_.end();
  if (known && removed) std::erase(rules_, rule);
  if (!known && !removed) add(rules_, rule);
  if (known == removed) ++version_;
  if (!next_) return;
  std::erase(*next_, rule);
  if (!removed) add(*next_, rule);
}

void PolicyRules::resync_end() {
  if (!next_) return;
  if (*next_ != rules_) ++version_;
  rules_ = std::move(*next_);
  next_.reset();
}

bool PolicyRules::usual(Family family) const {
  const auto of_family = [family](const PolicyRule& rule) { return rule.family == family; };
  const auto count = std::count_if(rules_.begin(), rules_.end(), of_family);
  if (count == 0) return true;
  const bool all = std::all_of(rules_.begin(), rules_.end(), [&](const PolicyRule& rule) {
    return !of_family(rule) || is_usual(rule);
  });
  return all && count == (family == Family::kIpv4 ? 3 : 2);
}

}  // namespace hecto::router
