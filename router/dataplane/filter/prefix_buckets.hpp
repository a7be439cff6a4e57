// Buckets of a policer, one a prefix, by number: the same for all workers and over compilations, as long
// as some compiled filters have the prefix. Where they lie never moves.
//
// take(), keep() and give_back() from any thread; a bucket's meter and counts behind its lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "lookup/memory_block.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/filter/meter.hpp"

namespace hecto::router {

struct alignas(64) PrefixBucket {
  rte_spinlock_t lock = RTE_SPINLOCK_INITIALIZER;
  Meter meter;
  Counter red_packets, red_bytes;  // that were beyond all rates

  PrefixBucket() noexcept = default;
  explicit PrefixBucket(const MeterProfile& profile) noexcept : meter(profile) {}
};
static_assert(sizeof(PrefixBucket) == 64);

class PrefixBuckets {
 public:
  static constexpr unsigned kPageBits = 12, kPageBuckets = 1 << kPageBits;
  struct Page {
    PrefixBucket* buckets = nullptr;
    std::atomic<bool>* exceeded = nullptr;  // some bucket here has red packets: who looks for them
  };

  explicit PrefixBuckets(const MeterProfile& profile) : profile_(profile) {}
  PrefixBuckets(const PrefixBuckets&) = delete;
  PrefixBuckets& operator=(const PrefixBuckets&) = delete;

  // For one owner, full ones; all or none.
  Result<void> take(std::span<uint32_t> numbers);
  void keep(std::span<const uint32_t> numbers);       // for one more
  void give_back(std::span<const uint32_t> numbers);  // by one owner; no worker is at them for him
  std::vector<Page> pages() const;                    // those that there are now
  uint64_t bytes() const;

 private:
  bool grow(size_t buckets);

  const MeterProfile profile_;
  mutable std::mutex mutex_;
  std::vector<lookup::MemoryBlock> blocks_;
  std::vector<Page> pages_;
  std::deque<std::atomic<bool>> exceeded_;  // by page
  std::vector<uint16_t> owners_;            // by number, of those that were ever taken
  std::vector<uint32_t> free_;
};

}  // namespace hecto::router
