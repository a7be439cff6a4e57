#include "router/dataplane/ports/memif_guard.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "router/dataplane/core/dpdk.hpp"

#include <rte_interrupts.h>

namespace hecto::router {
namespace {

std::atomic<bool> pollers_guarded{false};
std::atomic<unsigned> waited{0};
std::mutex pollers_mutex;
std::function<void()> wait_for_pollers;

}  // namespace

MemifGuard::MemifGuard(std::function<void()> wait) {
  const std::lock_guard lock(pollers_mutex);
  wait_for_pollers = std::move(wait);
  pollers_guarded.store(true);
}

MemifGuard::~MemifGuard() {
  const std::lock_guard lock(pollers_mutex);  // till nobody waits
  pollers_guarded.store(false);
  wait_for_pollers = nullptr;
}

unsigned MemifGuard::waits() {
  return waited.load();
}

namespace {

[[maybe_unused]] void let_pollers_finish() {
  const std::lock_guard lock(pollers_mutex);
  if (!wait_for_pollers) return;
  wait_for_pollers();
  ++waited;
}

}  // namespace
}  // namespace hecto::router

#ifndef __SANITIZE_ADDRESS__
// In the place of libc's, also for drivers that are loaded later: the dynamic linker looks into the
// program first.
extern "C" __attribute__((visibility("default"))) int munmap(void* address, size_t bytes) noexcept {
  using namespace hecto::router;
  if (pollers_guarded.load(std::memory_order_relaxed) && rte_thread_is_intr() != 0)
    let_pollers_finish();
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}
#endif
