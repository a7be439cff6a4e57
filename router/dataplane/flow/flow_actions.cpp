#include "router/dataplane/flow/flow_actions.hpp"

#include <cstring>
#include <string_view>

namespace hecto::router {
namespace {

std::string_view bytes_of_action(const FlowAction& action) {
  static_assert(std::has_unique_object_representations_v<FlowAction>);
  return {reinterpret_cast<const char*>(&action), sizeof action};
}

}  // namespace

FlowActions::FlowActions(uint32_t room, int socket, lookup::Memory& memory,
                         lookup::Reclaimer& readers)
    : readers_(readers),
      block_(memory, size_t{room} * sizeof(FlowAction), socket),
      actions_(block_.as<FlowAction>()),
      room_(room) {}

uint32_t FlowActions::take(const FlowAction& action) {
  const uint64_t hash = std::hash<std::string_view>()(bytes_of_action(action));
  const auto found = numbers_.find(hash);
  const bool known = found != numbers_.end();
  // Two that meet by their hash are told apart; the later one is there once for each of its entries.
  if (known && bytes_of_action(actions_[found->second]) == bytes_of_action(action)) {
    ++users_[found->second];
    return found->second;
  }
  if (free_.empty() && next_ == room_) reclaim();
  uint32_t number = kNone;
  if (!free_.empty()) {
    number = free_.back();
    free_.pop_back();
  } else if (next_ < room_) {
    number = next_++;
    users_.push_back(0);
  } else {
    return kNone;
  }
  std::memcpy(static_cast<void*>(actions_ + number), &action, sizeof action);
  users_[number] = 1;
  ++in_use_;
  if (!known) numbers_.emplace(hash, number);
  return number;
}

void FlowActions::give_back(uint32_t number) {
  if (--users_[number] > 0) return;
  --in_use_;
  const uint64_t hash = std::hash<std::string_view>()(bytes_of_action(actions_[number]));
  if (const auto found = numbers_.find(hash); found != numbers_.end() && found->second == number)
    numbers_.erase(found);
  pending_.push_back(number);
}

void FlowActions::commit() {
  if (!pending_.empty()) retired_.push_back({readers_.start(), std::move(pending_)});
  pending_.clear();
  reclaim();
}

void FlowActions::reclaim() {
  for (; !retired_.empty() && readers_.passed(retired_.front().token); retired_.pop_front())
    free_.insert(free_.end(), retired_.front().numbers.begin(), retired_.front().numbers.end());
}

}  // namespace hecto::router
