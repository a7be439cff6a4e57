#include <algorithm>
#include <chrono>

#include "bench/calibrate/parts.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr unsigned kAdds = 64;  // of one loop

// Additions that wait for each other: one core cycle each on any CPU since 1995. The loop's own
// instructions run beside them.
uint64_t dependent_adds(uint64_t loops) {
  uint64_t value = 1;
  for (uint64_t i = 0; i < loops; ++i) {
#pragma GCC unroll 64
    for (unsigned add = 0; add < kAdds; ++add) {
      value += 3;
      asm volatile("" : "+r"(value));
    }
  }
  return value;
}

// Ticks of the time-stamp counter in a nanosecond.
double tsc_ghz(std::chrono::milliseconds time) {
  const auto start = std::chrono::steady_clock::now();
  const uint64_t first = rte_rdtsc();
  while (std::chrono::steady_clock::now() - start < time) rte_pause();
  const uint64_t last = rte_rdtsc();
  const std::chrono::duration<double, std::nano> ns = std::chrono::steady_clock::now() - start;
  return static_cast<double>(last - first) / ns.count();
}

}  // namespace

Result<void> measure_clock(const CalibrateOptions& options, MeasuredConstants& found) {
  using enum config::Constant;
  constexpr uint64_t kLoops = 20'000;
  const double tsc = tsc_ghz(std::chrono::milliseconds(options.quick ? 20 : 200));
  uint64_t least = UINT64_MAX;  // whoever interrupts makes it longer
  for (int round = 0; round < (options.quick ? 20 : 200); ++round) {
    const uint64_t start = rte_rdtsc();
    dependent_adds(kLoops);
    least = std::min(least, rte_rdtsc() - start);
  }
  found.set(kTscGhz, tsc);
  found.set(kCoreGhz, tsc * static_cast<double>(kLoops * kAdds) / static_cast<double>(least));
  return {};
}

}  // namespace hecto::bench
