// Neighbors that packets wait for which a filter leads: Linux, given the packet, would look for another
// one, so control has it find these. Workers write, control takes.
//
// Of each thread the last few; what comes while those are not taken is left out.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "lookup/fib.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {

struct WantedNeighbor {
  lookup::IpAddress destination;  // of the packet; its next hop is control's to find
  lookup::TableId table = 0;
  bool operator==(const WantedNeighbor&) const = default;
};

class WantedNeighbors {
 public:
  static constexpr uint32_t kMost = 16;  // of a thread

  explicit WantedNeighbors(unsigned threads) : threads_(threads), slots_(new Slots[threads]) {}

  unsigned threads() const noexcept { return threads_; }
  // Of the thread alone. One that has just been asked for is not asked for again.
  void add(unsigned thread, const WantedNeighbor& wanted) noexcept {
    Slots& of = slots_[thread < threads_ ? thread : threads_ - 1];
    const uint32_t end = of.end.load(std::memory_order_relaxed);
    const uint32_t begin = of.begin.load(std::memory_order_acquire);
    if (end - begin == kMost) return;
    for (uint32_t i = begin; i != end; ++i)
      if (of.wanted[i % kMost] == wanted) return;
    of.wanted[end % kMost] = wanted;
    of.end.store(end + 1, std::memory_order_release);
  }
  // Control's: all of them.
  std::vector<WantedNeighbor> take() {
    std::vector<WantedNeighbor> all;
    for (unsigned thread = 0; thread < threads_; ++thread) {
      Slots& of = slots_[thread];
      const uint32_t end = of.end.load(std::memory_order_acquire);
      for (uint32_t i = of.begin.load(std::memory_order_relaxed); i != end; ++i)
        all.push_back(of.wanted[i % kMost]);
      of.begin.store(end, std::memory_order_release);
    }
    return all;
  }

 private:
  struct alignas(64) Slots {
    std::atomic<uint32_t> begin{0}, end{0};
    std::array<WantedNeighbor, kMost> wanted;
  };
  const unsigned threads_;
  const std::unique_ptr<Slots[]> slots_;
};

}  // namespace hecto::router
