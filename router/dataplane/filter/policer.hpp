// A policer: a meter, one for all workers behind a lock that a worker takes once a burst, so that the rate
// is the policer's however many workers there are.
#pragma once

#include <algorithm>

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk_meter.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/meter.hpp"

namespace hecto::router {

class alignas(64) Policer {
 public:
  // Both buckets are full at first. `ticks_per_second`: of what meter() is told.
  static Result<std::shared_ptr<Policer>> create(const config::PolicerConfig& config,
                                                 uint64_t ticks_per_second);

  const config::PolicerConfig& config() const noexcept { return config_; }
  // Between them meter() and count(); the clock is read behind lock(), so that it runs one way.
  void lock() noexcept { rte_spinlock_lock(&lock_); }
  void unlock() noexcept { rte_spinlock_unlock(&lock_); }
  Colour meter(uint64_t now, uint32_t bytes) noexcept { return meter_.meter(profile_, now, bytes); }
  // As if meter() had said green of each of n packets, where it would; else nothing is taken.
  bool take_all(uint64_t now, uint64_t n, uint64_t bytes) noexcept {
    if (!meter_.take_all(profile_, now, bytes)) return false;
    counts_[0].packets.add(n);
    counts_[0].bytes.add(bytes);
    return true;
  }
  // What meter() said of a burst, by colour.
  using Tally = ColourTally;
  void count(const Tally& tally) noexcept {
    for (unsigned i = 0; i < 3; ++i) {
      if (tally.packets[i] == 0) continue;
      counts_[i].packets.add(tally.packets[i]);
      counts_[i].bytes.add(tally.bytes[i]);
    }
  }
  PolicerStatus status() const;  // from any thread

 private:
  struct Count {
    Counter packets, bytes;
  };

  Policer(const config::PolicerConfig& config, const MeterProfile& profile)
      : meter_(profile), profile_(profile), config_(config) {}

  rte_spinlock_t lock_ = RTE_SPINLOCK_INITIALIZER;
  Meter meter_;
  const MeterProfile profile_;
  Count counts_[3];
  const config::PolicerConfig config_;
};

}  // namespace hecto::router
