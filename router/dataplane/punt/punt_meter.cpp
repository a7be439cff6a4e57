#include "router/dataplane/punt/punt_meter.hpp"

#include <algorithm>

namespace hecto::router {

void PuntMeter::configure(uint64_t ticks_per_second, const PuntRates& rates) noexcept {
  if (rates == rates_ && ticks_per_second == ticks_per_second_) return;
  rates_ = rates;
  ticks_per_second_ = ticks_per_second;
  for (size_t i = 0; i < kReasonCount; ++i)
    reasons_[i].configure(ticks_per_second, rates.reasons[i], punt_burst(rates.reasons[i]));
  for (size_t i = 0; i < kPuntClassCount; ++i) {
    const uint32_t pps = rates.classes[i];
    by_interface_[i].rate.configure(ticks_per_second, pps, punt_class_burst(pps));
    const auto all =
        static_cast<uint32_t>(std::min<uint64_t>(uint64_t{pps} * kPuntShares, UINT32_MAX));
    all_[i].configure(ticks_per_second, all, punt_class_burst(all));
  }
}

bool PuntMeter::take(Reason reason, PuntClass punt_class, InterfaceId interface,
                     uint64_t now) noexcept {
  ByInterface& of_class = by_interface_[index(punt_class)];
  uint64_t& due = of_class.due[std::min<size_t>(interface, kMaxInterfaces)];
  TokenBucket& all = all_[index(punt_class)];
  TokenBucket& of_reason = reasons_[static_cast<size_t>(reason)];
  if (!of_class.rate.ready(due, now) || !all.ready(now) || !of_reason.ready(now)) return false;
  of_class.rate.spend(due, now);
  all.spend(now);
  of_reason.spend(now);
  return true;
}

}  // namespace hecto::router
