// Shortens DPDK's measuring of the TSC. Where the CPU does not tell the TSC's frequency (most virtual
// machines), rte_eal_init() sleeps for 100 ms and rounds what it has counted to 10 MHz, for which 10 ms
// are as good: nothing is forwarded meanwhile. While one lives, the first such sleep of its thread is
// shorter, and only where no remainder is asked for: drivers of NICs that wait for 100 ms keep them.
//
// It works by a nanosleep() of our own in the program, before libc's (tsc_measuring.cpp); elsewhere that
// is one branch more. Not under sanitizers, which have one: there DPDK takes its 100 ms.
//
// Of the thread that made it.
#pragma once

#include <cstdint>
#include <ctime>

namespace hecto::router {

class TscMeasuring {
 public:
  struct Instant {
    uint64_t ticks = 0;
    int64_t ns = 0;  // CLOCK_MONOTONIC_RAW, as DPDK measures
  };

  TscMeasuring();
  ~TscMeasuring();
  TscMeasuring(const TscMeasuring&) = delete;
  TscMeasuring& operator=(const TscMeasuring&) = delete;

  // A share: how far `hz` is from what has passed since it was made. A thread that is taken off its
  // core between DPDK's two readings makes it wrong, and ten times more so in a tenth of the time.
  double error_of(uint64_t hz) const;
  static double error_of(uint64_t hz, const Instant& begin, const Instant& end);

  // Of nanosleep()'s two arguments; any other sleep is kept.
  static timespec shortened(const timespec& asked, const timespec* left);
  static unsigned count();  // sleeps that were shorter, in this process

 private:
  Instant begin_;
};

}  // namespace hecto::router
