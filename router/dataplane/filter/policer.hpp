// A policer: RFC 2697, RFC 2698 or RFC 4115 by DPDK's rte_meter, one for all workers behind a lock that
// a worker takes once a burst, so that the rate is the policer's however many workers there are.
//
// DPDK counts whole cycles a byte; here a cycle has 256 parts, so that a rate is right to 0.02%.
#pragma once

#include <algorithm>

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk_acl.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

enum class Colour : uint8_t { kGreen, kYellow, kRed };

class alignas(64) Policer {
 public:
  // Both buckets are full at first. `ticks_per_second`: of what meter() is told.
  static Result<std::shared_ptr<Policer>> create(const config::PolicerConfig& config,
                                                 uint64_t ticks_per_second);

  const config::PolicerConfig& config() const noexcept { return config_; }
  // Between them meter(); the clock is read behind lock(), so that it runs one way.
  void lock() noexcept { rte_spinlock_lock(&lock_); }
  void unlock() noexcept { rte_spinlock_unlock(&lock_); }
  Colour meter(uint64_t now, uint32_t bytes) noexcept {
    now_ = std::max(now_, now);  // sockets' clocks may differ
    const Colour colour = colour_of(now_ << kPartsShift, bytes);
    Count& count = counts_[static_cast<size_t>(colour)];
    count.packets.add(1);
    count.bytes.add(bytes);
    return colour;
  }
  PolicerStatus status() const;  // from any thread

 private:
  static constexpr unsigned kPartsShift = 8;  // modulo 2^64: differences stay right
  struct Count {
    Counter packets, bytes;
  };
  // A bucket's: so many bytes each `period` parts of ticks.
  struct Step {
    uint64_t period = 1, bytes = 0;
  };
  static Step step_of(uint64_t ticks_per_second, uint64_t bits_per_second);

  explicit Policer(const config::PolicerConfig& config) : config_(config) {}
  Colour colour_of(uint64_t time, uint32_t bytes) noexcept;

  rte_spinlock_t lock_ = RTE_SPINLOCK_INITIALIZER;
  config::Meter kind_ = config::Meter::kSingleRate;
  uint64_t now_ = 0;
  union {
    struct {
      rte_meter_srtcm meter;
      rte_meter_srtcm_profile profile;
    } single_;
    struct {
      rte_meter_trtcm meter;
      rte_meter_trtcm_profile profile;
    } two_;
    struct {
      rte_meter_trtcm_rfc4115 meter;
      rte_meter_trtcm_rfc4115_profile profile;
    } differentiated_;
  };
  Count counts_[3];
  const config::PolicerConfig config_;
};

}  // namespace hecto::router
