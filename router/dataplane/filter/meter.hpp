// RFC 2697, RFC 2698 or RFC 4115 by DPDK's rte_meter: what a policer says, and the buckets of one that is
// held to it. Neither has a lock.
//
// DPDK counts whole cycles a byte; here a cycle has 256 parts, so that a rate is right to 0.02%.
#pragma once

#include "base/result.hpp"
#include "config/file/filters.hpp"
#include "router/dataplane/core/dpdk_meter.hpp"

namespace hecto::router {

enum class Colour : uint8_t { kGreen, kYellow, kRed };

// What comes by a burst, by colour.
struct ColourTally {
  uint64_t packets[3] = {}, bytes[3] = {};
  void add(Colour colour, uint64_t more, uint64_t count = 1) noexcept {
    packets[static_cast<size_t>(colour)] += count;
    bytes[static_cast<size_t>(colour)] += more;
  }
};

class MeterProfile {
 public:
  // `ticks_per_second`: of what Meter::meter() is told.
  static Result<MeterProfile> create(const config::PolicerConfig& config,
                                     uint64_t ticks_per_second);

 private:
  friend class Meter;
  MeterProfile() noexcept : two_{} {}

  config::Meter kind_ = config::Meter::kSingleRate;
  union {
    rte_meter_srtcm_profile single_;
    rte_meter_trtcm_profile two_;
    rte_meter_trtcm_rfc4115_profile differentiated_;
  };
};

class Meter {
 public:
  Meter() noexcept : two_{} {}
  explicit Meter(const MeterProfile& profile) noexcept;  // its buckets are full

  Colour meter(const MeterProfile& profile, uint64_t now, uint32_t bytes) noexcept {
    if (now <= now_) return colour_at_once(profile, bytes);  // sockets' clocks may differ
    now_ = now;
    return colour_of(profile, now << kPartsShift, bytes);
  }
  // As if meter() had said green of all packets of these bytes, where it would; else nothing is taken.
  bool take_all(const MeterProfile& profile, uint64_t now, uint64_t bytes) noexcept {
    if (now > now_) {
      now_ = now;
      (void)colour_of(profile, now << kPartsShift, 0);  // what has come in since then
    }
    return spend_all(profile, bytes);
  }

  static constexpr unsigned kPartsShift = 8;  // modulo 2^64: differences stay right

 private:
  Colour colour_of(const MeterProfile& profile, uint64_t time, uint32_t bytes) noexcept;
  // Of one that comes with the last, as those of a burst do: no token has come in between, and
  // rte_meter would divide to find that out.
  Colour colour_at_once(const MeterProfile& profile, uint32_t bytes) noexcept {
    const auto spend = [bytes](uint64_t& tokens) {
      if (tokens < bytes) return false;
      tokens -= bytes;
      return true;
    };
    const auto blind = [&](auto& meter) {
      return spend(meter.tc) ? Colour::kGreen : spend(meter.te) ? Colour::kYellow : Colour::kRed;
    };
    if (profile.kind_ == config::Meter::kSingleRate) return blind(single_);
    if (profile.kind_ == config::Meter::kDifferentiated) return blind(differentiated_);
    if (!spend(two_.tp)) return Colour::kRed;
    return spend(two_.tc) ? Colour::kGreen : Colour::kYellow;
  }

  // Green of each is green of all: none would have been without tokens.
  bool spend_all(const MeterProfile& profile, uint64_t bytes) noexcept {
    uint64_t* const committed = profile.kind_ == config::Meter::kSingleRate ? &single_.tc
                                : profile.kind_ == config::Meter::kTwoRate  ? &two_.tc
                                                                            : &differentiated_.tc;
    if (*committed < bytes) return false;
    if (profile.kind_ == config::Meter::kTwoRate) {
      if (two_.tp < bytes) return false;
      two_.tp -= bytes;
    }
    *committed -= bytes;
    return true;
  }

  uint64_t now_ = 0;
  union {
    rte_meter_srtcm single_;
    rte_meter_trtcm two_;
    rte_meter_trtcm_rfc4115 differentiated_;
  };
};

}  // namespace hecto::router
