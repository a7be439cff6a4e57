// Keeps net_memif from taking memory away from under who polls it. When the other side of a memif
// goes, the driver marks the port unconnected and unmaps its rings, all on DPDK's interrupt thread
// and at once; a thread that is within a burst on that port then reads unmapped memory, and the
// process ends. With a guard each munmap() of that thread first waits until all who poll have
// finished the burst that they may be in: the next one finds the port unconnected and returns.
//
// It works by a munmap() of our own in the program, before libc's (memif_guard.cpp); without a
// guard, and on other threads, that is one branch more. Not under AddressSanitizer, which has one.
//
// One at a time; made and destroyed by the control thread, while no memif port is polled.
#pragma once

#include <functional>

namespace hecto::router {

class MemifGuard {
 public:
  // Returns once every poller has been outside of a burst since the call. From DPDK's interrupt
  // thread.
  explicit MemifGuard(std::function<void()> wait_for_pollers);
  ~MemifGuard();
  MemifGuard(const MemifGuard&) = delete;
  MemifGuard& operator=(const MemifGuard&) = delete;

  static unsigned waits();  // how often it has waited, in this process
};

}  // namespace hecto::router
