// What a worker waits on when it waits at all: its receive queues' descriptors, and a bell for those
// who have something for it (a snapshot, packets in a handoff ring, the end).
//
// The bell costs its worker nothing, and a ringer one load behind a fence while nobody waits:
//
//   worker   waiting = true │ fence │ looks once more at all that may have come │ wait()
//   ringer   puts it there  │ fence │ reads waiting: rings if it is true
//
// one of the two sees the other. watch() and unwatch() by control, ring() by any thread, all others
// by the worker.
#pragma once

#include <atomic>
#include <chrono>

#include "base/file_descriptor.hpp"

namespace hecto::router {

class Wakeup {
 public:
  Wakeup();  // throws std::system_error when there are no descriptors to be had
  Wakeup(const Wakeup&) = delete;
  Wakeup& operator=(const Wakeup&) = delete;

  // A queue's descriptor. By its edges: nobody reads from it, and one whose device has gone is told
  // once.
  bool watch(int fd) noexcept;
  void unwatch(int fd) noexcept;

  void ring() noexcept {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_relaxed)) [[unlikely]]
      wake();
  }

  // From here on whoever rings is heard. Look once more for what came before, then wait(), if there
  // was nothing, and end().
  void begin() noexcept {
    waiting_.store(true, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
  }
  void wait(std::chrono::milliseconds longest) noexcept;
  void end() noexcept { waiting_.store(false, std::memory_order_relaxed); }

 private:
  void wake() noexcept;

  std::atomic<bool> waiting_{false};
  FileDescriptor poll_, bell_;
};

}  // namespace hecto::router
