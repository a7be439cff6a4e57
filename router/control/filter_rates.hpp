// Packets a second by filter and rule. Of 100,000 rules some are looked at each time, all in about a
// second, so that control's turns stay short. Control only.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

class FilterRates {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kAtOnce = 5000;  // some 0.1 ms

  // Several times a second. Null: there are no filters.
  void sample(const std::shared_ptr<const FilterTables>& tables, Clock::time_point now);
  // As in FilterTables::status(); the last is `otherwise`. 0 till it was looked at twice.
  double of(size_t filter, size_t rule) const;

 private:
  struct Seen {
    Clock::time_point when{};
    uint64_t packets = 0;
    double rate = 0;
  };
  void begin_anew();

  std::shared_ptr<const FilterTables> tables_;
  std::vector<std::vector<Seen>> seen_;  // by filter
  Clock::time_point round_{};            // began then
  size_t filter_ = 0, rule_ = 0;         // the next of this round
};

}  // namespace hecto::router
