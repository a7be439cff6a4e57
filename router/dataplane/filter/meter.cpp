#include "router/dataplane/filter/meter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {
namespace {

// A bucket's: so many bytes each `period` parts of ticks.
struct Step {
  uint64_t period = 1, bytes = 0;
};

// As few bytes at once as there are, at least 100 ticks apart (as rte_meter has it), so that a bucket is
// looked at by small steps and no rate is lost to rounding.
Step step_of(uint64_t ticks_per_second, uint64_t bits_per_second) {
  constexpr uint64_t kLeastPeriod = 100 << Meter::kPartsShift;
  __extension__ using Wide = unsigned __int128;
  // A byte takes parts / bits.
  const Wide parts = (Wide{ticks_per_second} << Meter::kPartsShift) * 8;
  Step step;
  if (bits_per_second == 0) return {~uint64_t{0}, 0};
  step.bytes = static_cast<uint64_t>((Wide{kLeastPeriod} * bits_per_second + parts - 1) / parts);
  step.bytes = std::max<uint64_t>(step.bytes, 1);
  // Up: never more than the rate.
  step.period = static_cast<uint64_t>((parts * step.bytes + bits_per_second - 1) / bits_per_second);
  return step;
}

}  // namespace

Result<MeterProfile> MeterProfile::create(const config::PolicerConfig& config,
                                          uint64_t ticks_per_second) {
  MeterProfile made;
  made.kind_ = config.meter();
  const Step rate = step_of(ticks_per_second, config.rate_bps);
  const uint64_t burst = config.burst_bytes;
  switch (made.kind_) {
    case config::Meter::kSingleRate:
      if (burst + config.excess_bytes == 0)
        return fail(fmt::format("policer {}: without a burst nothing passes", config.name));
      made.single_ = {burst, config.excess_bytes, rate.period, rate.bytes};
      break;
    case config::Meter::kTwoRate: {
      const Step peak = step_of(ticks_per_second, config.peak_bps);
      made.two_ = {burst,     config.peak_burst_bytes, rate.period, rate.bytes, peak.period,
                   peak.bytes};
      break;
    }
    case config::Meter::kDifferentiated: {
      const Step excess = step_of(ticks_per_second, config.excess_bps);
      made.differentiated_ = {burst,      config.excess_bytes, rate.period,
                              rate.bytes, excess.period,       excess.bytes};
      break;
    }
  }
  return made;
}

Meter::Meter(const MeterProfile& profile) noexcept : Meter() {
  switch (profile.kind_) {
    case config::Meter::kSingleRate:
      single_ = {0, profile.single_.cbs, profile.single_.ebs};
      break;
    case config::Meter::kTwoRate:
      two_ = {0, 0, profile.two_.cbs, profile.two_.pbs};
      break;
    case config::Meter::kDifferentiated:
      differentiated_ = {0, 0, profile.differentiated_.cbs, profile.differentiated_.ebs};
      break;
  }
}

Colour Meter::colour_of(const MeterProfile& profile, uint64_t time, uint32_t bytes) noexcept {
  rte_color colour = RTE_COLOR_RED;
  // Its headers take profiles that they do not change as changeable ones.
  auto& of = const_cast<MeterProfile&>(profile);
  switch (profile.kind_) {
    case config::Meter::kSingleRate:
      colour = rte_meter_srtcm_color_blind_check(&single_, &of.single_, time, bytes);
      break;
    case config::Meter::kTwoRate:
      colour = rte_meter_trtcm_color_blind_check(&two_, &of.two_, time, bytes);
      break;
    case config::Meter::kDifferentiated:
      colour = rte_meter_trtcm_rfc4115_color_blind_check(&differentiated_, &of.differentiated_,
                                                         time, bytes);
      break;
  }
  return colour == RTE_COLOR_GREEN    ? Colour::kGreen
         : colour == RTE_COLOR_YELLOW ? Colour::kYellow
                                      : Colour::kRed;
}

}  // namespace hecto::router
