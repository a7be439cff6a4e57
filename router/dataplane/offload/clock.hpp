// Nanoseconds by the TSC: the clock of a worker's stages and decisions.
#pragma once

#include <cstdint>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

class OffloadClock {
 public:
  uint64_t operator()() const noexcept {
    return static_cast<uint64_t>(static_cast<double>(rte_rdtsc()) * ns_per_tick_);
  }

 private:
  double ns_per_tick_ = 1e9 / static_cast<double>(rte_get_tsc_hz());
};

}  // namespace hecto::router
