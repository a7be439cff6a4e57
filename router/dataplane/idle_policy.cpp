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
constexpr unsigned kMostPauseDoublings = 4, kMostSleepDoublings = 14;

// How far `value` is on the way from `low` to `high`, in steps of `steps`.
constexpr unsigned part(uint32_t value, uint32_t low, uint32_t high, unsigned steps) {
  return std::min((value - low) * (steps + 1) / (high - low), steps);
}

}  // namespace

void IdlePolicy::use(IdleMode mode, uint32_t longest_sleep_us, bool can_wait) noexcept {
  mode_ = mode;
  longest_sleep_us_ = longest_sleep_us;
  can_wait_ = can_wait;
}

Rest IdlePolicy::sleep_for(unsigned doublings) const noexcept {
  return {RestStep::kSleep,
          std::min(1u << std::min(doublings, kMostSleepDoublings), longest_sleep_us_)};
}

Rest IdlePolicy::next(unsigned empty_polls, uint64_t busy_polls) noexcept {
  if (mode_ == IdleMode::kAdaptive) return adapt(empty_polls, busy_polls);
  if (mode_ == IdleMode::kPoll || empty_polls < kSpinPolls) return {};
  if (mode_ == IdleMode::kInterrupt && can_wait_) return {RestStep::kWait, 0};
  return sleep_for((empty_polls - kSpinPolls) / kPollsADoubling);
}

// What polls with packets take from the average is counted here, when the first empty one comes: they
// themselves do nothing for it.
Rest IdlePolicy::adapt(unsigned empty_polls, uint64_t busy_polls) noexcept {
  const uint64_t busy = busy_polls - busy_polls_;
  busy_polls_ = busy_polls;
  if (busy >= kForgotten) emptiness_ = 0;
  for (uint64_t i = 0; i < busy && emptiness_ > 0; ++i)
    emptiness_ -= std::max(emptiness_ >> kBusyShift, 1u);
  emptiness_ += (kAll - emptiness_) >> kEmptyShift;
  if (empty_polls < kFirstPolls || emptiness_ < kPauseFrom) return {};
  if (emptiness_ < kSleepFrom)
    return {RestStep::kPause, 1u << part(emptiness_, kPauseFrom, kSleepFrom, kMostPauseDoublings)};
  if (emptiness_ >= kWaitFrom && can_wait_) return {RestStep::kWait, 0};
  return sleep_for(
      part(std::min(emptiness_, kWaitFrom), kSleepFrom, kWaitFrom, kMostSleepDoublings));
}

}  // namespace hecto::router
