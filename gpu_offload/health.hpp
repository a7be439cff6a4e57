// Whether a device may be used: one word that its workers, its shader and control share.
//
//          retire(): whoever sees it fail          control, when all users have let go
//   ready ───────────────────────────────► retired ─────────────────────────────────► ready
//
// A user (a Stage, a Shader) holds jobs and copies of tables while the device is ready; when it is
// retired the user hands back or redoes what it has and then lets go. It may come back as soon as
// it sees the device ready again.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace hecto::gpu_offload {

enum class Cause : uint8_t {
  kNone,
  kNotStarted,
  kLate,         // jobs unanswered within their deadline
  kWrongAnswer,  // too few results, or results that cannot be
  kNoMemory,
  kBroken,
};
inline constexpr const char* kCauses[] = {"none",          "not started",   "late answers",
                                          "wrong answers", "out of memory", "device error"};
inline const char* to_string(Cause cause) noexcept {
  return kCauses[static_cast<unsigned>(cause)];
}

class Health {
 public:
  bool ready() const noexcept { return state_.load() == 0; }
  Cause cause() const noexcept { return static_cast<Cause>(state_.load()); }
  // Any thread. The first cause stays.
  void retire(Cause cause) noexcept {
    uint8_t expected = 0;
    state_.compare_exchange_strong(expected, static_cast<uint8_t>(cause));
  }
  void set_ready() noexcept {  // control
    epoch_.fetch_add(1);
    state_.store(0);
  }
  // Counts starts: what was meant for an earlier one is void.
  uint8_t epoch() const noexcept { return epoch_.load(); }

 private:
  std::atomic<uint8_t> state_{static_cast<uint8_t>(Cause::kNotStarted)};  // a Cause; 0: ready
  std::atomic<uint8_t> epoch_{0};
};

// 1, 2, 4 .. 64 seconds between two starts of a device; 1 again after it was well for as long as it
// had been kept away. Control's thread.
class BackOff {
 public:
  static constexpr uint64_t kFirstNs = 1'000'000'000;
  static constexpr uint64_t kLongestNs = 64 * kFirstNs;

  void started(uint64_t now_ns) noexcept { started_ns_ = now_ns; }
  void failed(uint64_t now_ns) noexcept {
    bool was_well = now_ns - started_ns_ > std::max(wait_ns_, kFirstNs) && started_ns_ != 0;
    wait_ns_ = wait_ns_ == 0 || was_well ? kFirstNs : std::min(2 * wait_ns_, kLongestNs);
    due_ns_ = now_ns + wait_ns_;
  }
  bool due(uint64_t now_ns) const noexcept { return now_ns >= due_ns_; }
  uint64_t due_ns() const noexcept { return due_ns_; }

 private:
  uint64_t started_ns_ = 0;
  uint64_t wait_ns_ = 0;
  uint64_t due_ns_ = 0;  // of the next start
};

}  // namespace hecto::gpu_offload
