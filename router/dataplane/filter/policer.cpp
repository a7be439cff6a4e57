#include "router/dataplane/filter/policer.hpp"

#include <fmt/format.h>

namespace hecto::router {

using config::Meter;
using config::PolicerConfig;

// As few bytes at once as there are, at least 100 ticks apart (as rte_meter has it), so that a bucket is
// looked at by small steps and no rate is lost to rounding.
Policer::Step Policer::step_of(uint64_t ticks_per_second, uint64_t bits_per_second) {
  constexpr uint64_t kLeastPeriod = 100 << kPartsShift;
  __extension__ using Wide = unsigned __int128;
  const Wide parts = (Wide{ticks_per_second} << kPartsShift) * 8;  // a byte takes parts / bits
  Step step;
  if (bits_per_second == 0) return {~uint64_t{0}, 0};
  step.bytes = static_cast<uint64_t>((Wide{kLeastPeriod} * bits_per_second + parts - 1) / parts);
  step.bytes = std::max<uint64_t>(step.bytes, 1);
  // Up: never more than the rate.
  step.period = static_cast<uint64_t>((parts * step.bytes + bits_per_second - 1) / bits_per_second);
  return step;
}

Result<std::shared_ptr<Policer>> Policer::create(const PolicerConfig& config,
                                                 uint64_t ticks_per_second) {
  const auto made = std::shared_ptr<Policer>(new Policer(config));
  made->kind_ = config.meter();
  const Step rate = step_of(ticks_per_second, config.rate_bps);
  const uint64_t burst = config.burst_bytes;
  switch (made->kind_) {
    case Meter::kSingleRate:
      if (burst + config.excess_bytes == 0)
        return fail(fmt::format("policer {}: without a burst nothing passes", config.name));
      made->single_.profile = {burst, config.excess_bytes, rate.period, rate.bytes};
      made->single_.meter = {0, burst, config.excess_bytes};
      break;
    case Meter::kTwoRate: {
      const Step peak = step_of(ticks_per_second, config.peak_bps);
      made->two_.profile = {
          burst, config.peak_burst_bytes, rate.period, rate.bytes, peak.period, peak.bytes};
      made->two_.meter = {0, 0, burst, config.peak_burst_bytes};
      break;
    }
    case Meter::kDifferentiated: {
      const Step excess = step_of(ticks_per_second, config.excess_bps);
      made->differentiated_.profile = {burst,      config.excess_bytes, rate.period,
                                       rate.bytes, excess.period,       excess.bytes};
      made->differentiated_.meter = {0, 0, burst, config.excess_bytes};
      break;
    }
  }
  return made;
}

Colour Policer::colour_of(uint64_t time, uint32_t bytes) noexcept {
  rte_color colour = RTE_COLOR_RED;
  switch (kind_) {
    case Meter::kSingleRate:
      colour = rte_meter_srtcm_color_blind_check(&single_.meter, &single_.profile, time, bytes);
      break;
    case Meter::kTwoRate:
      colour = rte_meter_trtcm_color_blind_check(&two_.meter, &two_.profile, time, bytes);
      break;
    case Meter::kDifferentiated:
      colour = rte_meter_trtcm_rfc4115_color_blind_check(&differentiated_.meter,
                                                         &differentiated_.profile, time, bytes);
      break;
  }
  return colour == RTE_COLOR_GREEN    ? Colour::kGreen
         : colour == RTE_COLOR_YELLOW ? Colour::kYellow
                                      : Colour::kRed;
}

PolicerStatus Policer::status() const {
  const auto count = [&](Colour colour) {
    const Count& of = counts_[static_cast<size_t>(colour)];
    return FilterCount{of.packets.get(), of.bytes.get()};
  };
  return {config_.name, count(Colour::kGreen), count(Colour::kYellow), count(Colour::kRed)};
}

}  // namespace hecto::router
