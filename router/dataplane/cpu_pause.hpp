// How a core rests for some microseconds while its thread keeps it: UMWAIT on the receive queue that
// it polls where CPU and driver have that, so that the first packet ends it; else TPAUSE; else PAUSE.
//
// A worker's own.
#pragma once

#include <cstdint>

#include "router/dataplane/core/snapshot.hpp"

namespace hecto::router {

class CpuPause {
 public:
  CpuPause() noexcept;  // asks the CPU

  // "umwait", "tpause" or "pause": the best that this CPU has.
  static const char* best() noexcept;
  // What is watched: a core can watch one place.
  void use(const WorkerView& view) noexcept;
  void pause(uint32_t us) const noexcept;

 private:
  bool monitors_ = false, waits_ = false;  // UMONITOR and UMWAIT, TPAUSE
  bool watches_ = false;                   // `only_`
  ReceiveQueue only_;
};

}  // namespace hecto::router
