#include "router/ipsec/esp/unseen_spd.hpp"

#include <utility>

namespace hecto::router::esp {
namespace {

bool asks_for_ports(const Policy& policy) noexcept {
  return (policy.selector.source_port_mask | policy.selector.destination_port_mask) != 0;
}

bool asks(const Policy& policy) noexcept {
  return asks_for_ports(policy) || policy.selector.protocol != 0;
}

bool strict(const Policy& policy) noexcept {
  return policy.action != PolicyAction::kBypass && asks(policy);
}

// Of the same rank and addresses.
std::unique_ptr<Policy> stand_in(const Policy& policy, uint8_t protocol) {
  auto made = std::make_unique<Policy>();
  made->serial = policy.serial;
  made->priority = policy.priority;
  made->action = policy.action;
  made->if_id = policy.if_id;
  made->selector = policy.selector;
  made->selector.protocol = protocol;
  made->selector.source_port = made->selector.source_port_mask = 0;
  made->selector.destination_port = made->selector.destination_port_mask = 0;
  return made;
}

bool outranks(const Policy& one, const Policy& other) noexcept {
  return std::pair(one.priority, one.serial) < std::pair(other.priority, other.serial);
}

// Whether what was found was found by what is not there.
bool guessed(const Policy& policy, Unseen unseen) noexcept {
  return unseen == Unseen::kProtocol ? asks(policy) : asks_for_ports(policy);
}

}  // namespace

UnseenSpd::UnseenSpd(lookup::Reclaimer& readers)
    : readers_(readers), without_ports_(readers), without_protocol_(readers) {}

const Policy* UnseenSpd::find(const FlowKey& key, uint32_t if_id) const noexcept {
  return (key.unseen == Unseen::kProtocol ? without_protocol_ : without_ports_).find(key, if_id);
}

void UnseenSpd::insert(std::span<Policy* const> policies) {
  std::vector<Policy*> ports, protocol;
  for (const Policy* policy : policies) {
    if (!strict(*policy)) continue;
    StandIns& made = stand_ins_[policy];
    if (asks_for_ports(*policy)) {
      made.without_ports = stand_in(*policy, policy->selector.protocol);
      ports.push_back(made.without_ports.get());
    }
    made.without_protocol = stand_in(*policy, 0);
    protocol.push_back(made.without_protocol.get());
  }
  without_ports_.change(ports, {});
  without_protocol_.change(protocol, {});
}

void UnseenSpd::remove(std::span<Policy* const> policies) {
  std::vector<Policy*> ports, protocol;
  Retired retired;
  for (const Policy* policy : policies) {
    const auto at = stand_ins_.find(policy);
    if (at == stand_ins_.end()) continue;
    if (at->second.without_ports) ports.push_back(at->second.without_ports.get());
    protocol.push_back(at->second.without_protocol.get());
    retired.policies.push_back(std::move(at->second));
    stand_ins_.erase(at);
  }
  without_ports_.change({}, ports);
  without_protocol_.change({}, protocol);
  reclaim();
  if (retired.policies.empty()) return;
  retired.token = readers_.start();
  retired_.push_back(std::move(retired));
}

void UnseenSpd::reclaim() {
  while (!retired_.empty() && readers_.passed(retired_.front().token)) retired_.pop_front();
}

Judged judge(const Spd& spd, const UnseenSpd& unseen, const FlowKey& key, uint32_t if_id) noexcept {
  if (key.unseen == Unseen::kNothing) return {spd.find(key, if_id), true};
  const Policy* const before = unseen.find(key, if_id);
  const Policy* const found = spd.find(key, if_id);
  const Policy* const behind = unseen.find(key, if_id);
  const auto doubted = [&](const Policy* other) {
    return other != nullptr && (found == nullptr || outranks(*other, *found));
  };
  const bool certain =
      !doubted(before) && !doubted(behind) && (found == nullptr || !guessed(*found, key.unseen));
  return {found, certain};
}

}  // namespace hecto::router::esp
