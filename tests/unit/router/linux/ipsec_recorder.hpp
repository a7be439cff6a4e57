// A plain model of the kernel's SAs and policies, fed by IpsecEvents.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <tuple>
#include <vector>

#include "router/ipsec/esp/sa_state.hpp"
#include "router/ipsec/events.hpp"

namespace hecto::router {

class IpsecRecorder : public IpsecEvents {
 public:
  struct Known {
    IpsecPolicy policy;
    unsigned seen;
  };

  void sa(SaState state) override {
    ++events;
    seen_[state.id] = generation_;
    order.push_back(state.id);
    sas.insert_or_assign(state.id, std::move(state));
  }
  void sa_removed(const SaId& id) override {
    ++events;
    sas.erase(id);
  }
  void sas_flushed() override {
    ++events;
    sas.clear();
  }
  void policy(const IpsecPolicy& policy) override {
    ++events;
    if (Known* known = find(policy)) {
      *known = {policy, generation_};
    } else {
      policies.push_back({policy, generation_});
    }
  }
  void policy_removed(const IpsecPolicy& policy) override {
    ++events;
    std::erase_if(policies, [&](const Known& known) { return same(known.policy, policy); });
  }
  void policies_flushed() override {
    ++events;
    policies.clear();
  }
  void ipsec_resync_begin() override {
    ++generation_;
    ++resyncs;
    in_resync = true;
  }
  void ipsec_resync_end() override {
    in_resync = false;
    std::erase_if(policies, [&](const Known& known) { return known.seen != generation_; });
    std::erase_if(sas, [&](const auto& entry) { return seen_[entry.first] != generation_; });
  }

  // By direction and selector, as "10.1.0.0/16".
  const IpsecPolicy* find_policy(PolicyDirection direction, const std::string& source) const {
    for (const Known& known : policies) {
      if (known.policy.direction == direction &&
          known.policy.selector.source.to_string() == source) {
        return &known.policy;
      }
    }
    return nullptr;
  }

  std::map<SaId, SaState> sas;
  std::vector<SaId> order;  // as they were told
  std::list<Known> policies;
  size_t events = 0;
  unsigned resyncs = 0;
  bool in_resync = false;

 private:
  static bool same(const IpsecPolicy& a, const IpsecPolicy& b) {
    return a.direction == b.direction && a.if_id == b.if_id && a.selector == b.selector;
  }
  Known* find(const IpsecPolicy& policy) {
    const auto at = std::find_if(policies.begin(), policies.end(),
                                 [&](const Known& known) { return same(known.policy, policy); });
    return at == policies.end() ? nullptr : &*at;
  }

  unsigned generation_ = 0;
  std::map<SaId, unsigned> seen_;
};

}  // namespace hecto::router
