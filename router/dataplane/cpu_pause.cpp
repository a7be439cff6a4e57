#define ALLOW_EXPERIMENTAL_API  // of rte_power_pause and rte_power_monitor, in 22.11
#include "router/dataplane/cpu_pause.hpp"

#include "router/dataplane/core/dpdk.hpp"

#include <rte_cpuflags.h>
#include <rte_power_intrinsics.h>

namespace hecto::router {
namespace {

constexpr uint64_t kMicros = 1'000'000;

rte_cpu_intrinsics intrinsics() noexcept {
  rte_cpu_intrinsics found{};
  rte_cpu_get_intrinsics_support(&found);
  return found;
}

}  // namespace

CpuPause::CpuPause() noexcept
    : monitors_(intrinsics().power_monitor), waits_(intrinsics().power_pause) {}

const char* CpuPause::best() noexcept {
  const rte_cpu_intrinsics found = intrinsics();
  return found.power_monitor ? "umwait" : found.power_pause ? "tpause" : "pause";
}

// Packets of a ring would not end it.
void CpuPause::use(const WorkerView& view) noexcept {
  watches_ = monitors_ && view.queues.size() == 1 && view.handoffs.empty() && view.spreads.empty();
  if (watches_) only_ = view.queues.front();
}

void CpuPause::pause(uint32_t us) const noexcept {
  const uint64_t until = rte_rdtsc() + rte_get_tsc_hz() * us / kMicros;
  rte_power_monitor_cond place{};
  if (watches_ && rte_eth_get_monitor_addr(only_.port, only_.queue, &place) == 0 &&
      rte_power_monitor(&place, until) == 0)
    return;
  if (waits_ && rte_power_pause(until) == 0) return;
  while (rte_rdtsc() < until) rte_pause();
}

}  // namespace hecto::router
