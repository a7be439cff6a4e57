// Whether a thread is within bursts, for who must not take memory away meanwhile (MemifGuard),
// where there is no QSBR to ask: the thread counts its turns, another waits for the next one.
#pragma once

#include <atomic>
#include <cstdint>

namespace hecto::router {

struct alignas(64) Poller {
  // By the thread itself. Odd: it polls.
  void begin() noexcept { turns.fetch_or(1, std::memory_order_seq_cst); }
  void turn() noexcept { turns.store(turns.load(std::memory_order_relaxed) + 2); }
  void end() noexcept { turns.fetch_add(1, std::memory_order_seq_cst); }
  // By another: until the burst that it may be in is over.
  template <typename Pause>
  void wait(Pause pause) const noexcept {
    const uint64_t seen = turns.load(std::memory_order_seq_cst);
    if ((seen & 1) == 0) return;
    while (turns.load(std::memory_order_acquire) == seen) pause();
  }

  std::atomic<uint64_t> turns{0};
};

}  // namespace hecto::router
