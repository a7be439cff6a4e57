// Time by the clock and in the thread's own: the difference is what others took of the core.
#pragma once

#include <time.h>

namespace hecto::bench {

class Stopwatch {
 public:
  double seconds() const { return now(CLOCK_MONOTONIC) - wall_; }
  double cpu_seconds() const { return now(CLOCK_THREAD_CPUTIME_ID) - cpu_; }

 private:
  static double now(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
  }

  double wall_ = now(CLOCK_MONOTONIC);
  double cpu_ = now(CLOCK_THREAD_CPUTIME_ID);
};

}  // namespace hecto::bench
