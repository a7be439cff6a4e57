// How long to wait before something is tried again: twice as long each time, up to a bound, and
// from the start again after a while of quiet. And how long a dump may be silent. Values without a
// clock of their own, so that tests can bring one. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>

namespace hecto::router {

class Backoff {
 public:
  using Clock = std::chrono::steady_clock;

  Backoff(Clock::duration first, Clock::duration most) : first_(first), most_(most), next_(first) {}

  // The pause from `now` on; the first again where there was quiet for twice the next, and kQuiet.
  Clock::duration pause(Clock::time_point now) {
    if (used_ && now - last_ > std::max<Clock::duration>(2 * next_, kQuiet)) next_ = first_;
    used_ = true;
    last_ = now;
    const Clock::duration pause = next_;
    next_ = std::min(next_ * 2, most_);
    return pause;
  }
  void reset() { next_ = first_; }
  Clock::duration next() const { return next_; }
  static constexpr std::chrono::seconds kQuiet{2};

 private:
  Clock::duration first_, most_, next_;
  Clock::time_point last_{};
  bool used_ = false;
};

// A dump that goes on says something now and then.
class DumpWatchdog {
 public:
  using Clock = std::chrono::steady_clock;

  explicit DumpWatchdog(Clock::duration silence) : silence_(silence) {}

  void heard(Clock::time_point now) { last_ = now; }  // also where one begins
  bool expired(Clock::time_point now) const { return now - last_ >= silence_; }
  Clock::time_point deadline() const { return last_ + silence_; }

 private:
  Clock::duration silence_;
  Clock::time_point last_{};
};

}  // namespace hecto::router
