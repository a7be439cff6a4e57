#include "router/dataplane/idle_policy.hpp"

#include <algorithm>

namespace hecto::router {
namespace {

constexpr unsigned kSpinPolls = 256;  // of sleep and interrupt, before they rest
constexpr unsigned kPollsADoubling = 8;
constexpr unsigned kFirstPolls = 32;  // of adaptive, behind a packet

constexpr uint32_t kAll = 1u << 16;
constexpr uint32_t kPauseFrom = kAll / 2;
constexpr uint32_t kSleepFrom = kAll / 8 * 7;
constexpr uint32_t kWaitFrom = kAll / 64 * 63;
constexpr unsigned kEmptyShift = 8, kBusyShift = 5;
constexpr uint64_t kForgotten = 256;  // polls with packets, after which nothing is left of others
constexpr uint32_t kMostWeight = 64;
constexpr unsigned kMostPauseDoublings = 4, kMostSleepDoublings = 14;

// How far `value` is on the way from `low` to `high`, in steps of `steps`.
constexpr unsigned part(uint32_t value, uint32_t low, uint32_t high, unsigned steps) {
  return std::min((value - low) * (steps + 1) / (high - low), steps);
}

Rest sleep_for(unsigned doublings, uint32_t longest_us) {
  return {RestStep::kSleep, std::min(1u << std::min(doublings, kMostSleepDoublings), longest_us)};
}

Rest rest_at(uint32_t emptiness, uint32_t longest_sleep_us, bool can_wait) {
  if (emptiness < kPauseFrom) return {};
  if (emptiness < kSleepFrom)
    return {RestStep::kPause, 1u << part(emptiness, kPauseFrom, kSleepFrom, kMostPauseDoublings)};
  if (emptiness >= kWaitFrom && can_wait) return {RestStep::kWait, 0};
  const uint32_t within = std::min(emptiness, kWaitFrom);
  return sleep_for(part(within, kSleepFrom, kWaitFrom, kMostSleepDoublings), longest_sleep_us);
}

// For how many empty polls a rest stands: one a microsecond.
uint32_t weight(const Rest& rest) {
  return rest.step == RestStep::kWait ? kMostWeight : std::clamp(rest.us, 1u, kMostWeight);
}

}  // namespace

void IdlePolicy::use(IdleMode mode, uint32_t longest_sleep_us, bool can_wait) noexcept {
  mode_ = mode;
  longest_sleep_us_ = longest_sleep_us;
  can_wait_ = can_wait;
}

Rest IdlePolicy::next(unsigned empty_polls, uint64_t busy_polls) noexcept {
  if (mode_ == IdleMode::kAdaptive) return adapt(empty_polls, busy_polls);
  if (mode_ == IdleMode::kPoll || empty_polls < kSpinPolls) return {};
  if (mode_ == IdleMode::kInterrupt && can_wait_) return {RestStep::kWait, 0};
  return sleep_for((empty_polls - kSpinPolls) / kPollsADoubling, longest_sleep_us_);
}

// What polls with packets take from the average is counted here, when the first empty one comes: they
// themselves do nothing for it.
Rest IdlePolicy::adapt(unsigned empty_polls, uint64_t busy_polls) noexcept {
  const uint64_t busy = busy_polls - busy_polls_;
  busy_polls_ = busy_polls;
  const bool rested = busy == 0 && empty_polls > kFirstPolls;
  const uint32_t polls = rested ? weight(rest_at(emptiness_, longest_sleep_us_, can_wait_)) : 1;
  if (busy >= kForgotten) emptiness_ = 0;
  for (uint64_t i = 0; i < busy && emptiness_ > 0; ++i)
    emptiness_ -= std::max(emptiness_ >> kBusyShift, 1u);
  for (uint32_t i = 0; i < polls; ++i) emptiness_ += (kAll - emptiness_) >> kEmptyShift;
  return empty_polls < kFirstPolls ? Rest{} : rest_at(emptiness_, longest_sleep_us_, can_wait_);
}

}  // namespace hecto::router
