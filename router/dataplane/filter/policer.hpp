// A policer: RFC 2697, RFC 2698 or RFC 4115 by DPDK's rte_meter, one for all workers behind a lock that
// a worker takes once a burst, so that the rate is the policer's however many workers there are.
//
// DPDK counts whole cycles a byte; here a cycle has 256 parts, so that a rate is right to 0.02%.
#pragma once

#include <algorithm>

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk_meter.hpp"
#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

enum class Colour : uint8_t { kGreen, kYellow, kRed };

class alignas(64) Policer {
 public:
  // Both buckets are full at first. `ticks_per_second`: of what meter() is told.
  static Result<std::shared_ptr<Policer>> create(const config::PolicerConfig& config,
                                                 uint64_t ticks_per_second);

  const config::PolicerConfig& config() const noexcept { return config_; }
  // Between them meter() and count(); the clock is read behind lock(), so that it runs one way.
  void lock() noexcept { rte_spinlock_lock(&lock_); }
  void unlock() noexcept { rte_spinlock_unlock(&lock_); }
  Colour meter(uint64_t now, uint32_t bytes) noexcept {
    if (now <= now_) return colour_at_once(bytes);  // sockets' clocks may differ
    now_ = now;
    return colour_of(now << kPartsShift, bytes);
  }
  // As if meter() had said green of each of n packets, where it would; else nothing is taken.
  bool take_all(uint64_t now, uint64_t n, uint64_t bytes) noexcept {
    if (now > now_) {
      now_ = now;
      (void)colour_of(now << kPartsShift, 0);  // what has come in since then
    }
    if (!spend_all(bytes)) return false;
    counts_[0].packets.add(n);
    counts_[0].bytes.add(bytes);
    return true;
  }
  // What meter() said of a burst, by colour.
  struct Tally {
    uint64_t packets[3] = {}, bytes[3] = {};
    void add(Colour colour, uint32_t more) noexcept {
      ++packets[static_cast<size_t>(colour)];
      bytes[static_cast<size_t>(colour)] += more;
    }
  };
  void count(const Tally& tally) noexcept {
    for (unsigned i = 0; i < 3; ++i) {
      if (tally.packets[i] == 0) continue;
      counts_[i].packets.add(tally.packets[i]);
      counts_[i].bytes.add(tally.bytes[i]);
    }
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
  // Of one that comes with the last, as those of a burst do: no token has come in between, and
  // rte_meter would divide to find that out.
  Colour colour_at_once(uint32_t bytes) noexcept {
    const auto spend = [bytes](uint64_t& tokens) {
      if (tokens < bytes) return false;
      tokens -= bytes;
      return true;
    };
    const auto blind = [&](auto& meter) {
      return spend(meter.tc) ? Colour::kGreen : spend(meter.te) ? Colour::kYellow : Colour::kRed;
    };
    if (kind_ == config::Meter::kSingleRate) return blind(single_.meter);
    if (kind_ == config::Meter::kDifferentiated) return blind(differentiated_.meter);
    if (!spend(two_.meter.tp)) return Colour::kRed;
    return spend(two_.meter.tc) ? Colour::kGreen : Colour::kYellow;
  }

  // Green of each is green of all: none would have been without tokens.
  bool spend_all(uint64_t bytes) noexcept {
    uint64_t* const committed = kind_ == config::Meter::kSingleRate ? &single_.meter.tc
                                : kind_ == config::Meter::kTwoRate  ? &two_.meter.tc
                                                                    : &differentiated_.meter.tc;
    if (*committed < bytes) return false;
    if (kind_ == config::Meter::kTwoRate) {
      if (two_.meter.tp < bytes) return false;
      two_.meter.tp -= bytes;
    }
    *committed -= bytes;
    return true;
  }

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
