// What a worker does after a poll that found nothing, by its mode. A state machine without clock,
// CPU or ports: the worker tells of its polls and does what it is told.
//
// `adaptive` goes by an average of how many of the last polls were empty, which forgets as polls
// come: one with packets weighs as much as eight without, and a rest stands for as many empty ones as
// it has microseconds (64 at most).
//
//     0                1/2               7/8              63/64             1   of the polls empty
//     │ spin           │ pause           │ sleep          │ wait            │
//     │                │ 1 to 16 us      │ 1 us to the longest              │
//
// So it settles by the time between two polls with packets: below 50 us or so it pauses, above 500 us
// it waits. After any packet it spins for 32 polls, however empty the queues were.
#pragma once

#include <cstdint>

#include "base/idle_mode.hpp"

namespace hecto::router {

// Whether a worker of this mode waits at all.
constexpr bool may_wait(IdleMode mode) noexcept {
  return mode == IdleMode::kInterrupt || mode == IdleMode::kAdaptive;
}
// What becomes of the mode where some queue says nothing; `adaptive` goes no further than sleep.
constexpr IdleMode in_force(IdleMode mode, bool can_wait) noexcept {
  return mode == IdleMode::kInterrupt && !can_wait ? IdleMode::kSleep : mode;
}

enum class RestStep : uint8_t {
  kSpin,   // polls again at once
  kPause,  // the core rests, the thread keeps it
  kSleep,  // the thread gives the core away
  kWait,   // the same, until a port or somebody else says that something came
};

struct Rest {
  RestStep step = RestStep::kSpin;
  uint32_t us = 0;  // of kPause and kSleep
  bool operator==(const Rest&) const = default;
};

class IdlePolicy {
 public:
  // `can_wait`: every queue says when something came. Where that is not so, it sleeps instead.
  void use(IdleMode mode, uint32_t longest_sleep_us, bool can_wait) noexcept;
  // `empty_polls` in turn, this one included; `busy_polls` found packets, ever.
  Rest next(unsigned empty_polls, uint64_t busy_polls) noexcept;

 private:
  Rest adapt(unsigned empty_polls, uint64_t busy_polls) noexcept;

  IdleMode mode_ = IdleMode::kSleep;
  uint32_t longest_sleep_us_ = 50;
  bool can_wait_ = false;
  uint64_t busy_polls_ = 0;
  uint32_t emptiness_ = 0;  // of 65536
};

}  // namespace hecto::router
