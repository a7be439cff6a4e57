#include "router/control/filter_rates.hpp"

namespace hecto::router {

void FilterRates::begin_anew() {
  seen_.clear();
  filter_ = rule_ = 0;
  round_ = {};
  for (size_t f = 0; tables_ != nullptr && f < tables_->filters(); ++f)
    seen_.emplace_back(tables_->rules(f) + 1);
}

void FilterRates::sample(const std::shared_ptr<const FilterTables>& tables, Clock::time_point now) {
  const bool same = tables_ && tables && tables_->same_rules(*tables);
  tables_ = tables;
  if (!same) begin_anew();
  if (filter_ == seen_.size()) {
    if (now - round_ < std::chrono::seconds(1)) return;
    filter_ = rule_ = 0;
  }
  if (filter_ == 0 && rule_ == 0) round_ = now;
  for (size_t left = kAtOnce; left > 0 && filter_ < seen_.size(); --left) {
    Seen& seen = seen_[filter_][rule_];
    const uint64_t packets = tables_->count(filter_, rule_).packets;
    if (seen.when != Clock::time_point{} && now > seen.when)
      seen.rate = packets < seen.packets
                      ? 0
                      : static_cast<double>(packets - seen.packets) /
                            std::chrono::duration<double>(now - seen.when).count();
    seen.when = now;
    seen.packets = packets;
    if (++rule_ < seen_[filter_].size()) continue;
    ++filter_;
    rule_ = 0;
  }
}

double FilterRates::of(size_t filter, size_t rule) const {
  return filter < seen_.size() && rule < seen_[filter].size() ? seen_[filter][rule].rate : 0;
}

}  // namespace hecto::router
