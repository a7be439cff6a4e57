// Packets and bytes by rule, of each thread by itself. A rule has a slot as long as some compiled
// filters have the rule; the pages that slots lie in never move, so that workers read their addresses
// once. A slot that was given back begins at 0 again for who has it next.
//
// A page's memory is first written by the thread that counts there, so it lies on that thread's socket.
// take(), keep() and give_back() from any thread; counting by each thread in its own cells.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "router/dataplane/core/counters.hpp"

namespace hecto::router {

struct FilterCount;

struct CounterCell {
  Counter packets, bytes;
  void add(uint64_t n, uint64_t sum) noexcept {
    packets.add(n);
    bytes.add(sum);
  }
};

class CounterSlots {
 public:
  static constexpr unsigned kPageBits = 8, kPageSlots = 1 << kPageBits;

  explicit CounterSlots(unsigned threads) : threads_(threads) {}
  ~CounterSlots();
  CounterSlots(const CounterSlots&) = delete;
  CounterSlots& operator=(const CounterSlots&) = delete;

  unsigned threads() const { return threads_; }
  Result<uint32_t> take();                          // for one owner
  void keep(uint32_t slot);                         // for one more
  void give_back(std::span<const uint32_t> slots);  // by one owner; no thread counts there for him
  FilterCount count(uint32_t slot) const;
  void begin_with(uint32_t slot, const FilterCount& count);  // of who has just taken it
  // Of a thread, by page: cells of kPageSlots. Those that there are now.
  std::vector<CounterCell*> pages(unsigned thread) const;
  uint64_t bytes() const;

 private:
  struct Page {
    CounterCell* cells = nullptr;  // by thread, then slot
    struct Base {
      uint64_t packets = 0, bytes = 0;
    };
    std::unique_ptr<Base[]> bases;  // what counts there before its owner
  };
  size_t page_bytes() const { return size_t{threads_} * kPageSlots * sizeof(CounterCell); }
  FilterCount raw(uint32_t slot) const;

  const unsigned threads_;
  mutable std::mutex mutex_;
  std::vector<Page> pages_;
  std::vector<uint32_t> owners_;  // by slot
  std::vector<uint32_t> free_;
};

}  // namespace hecto::router
