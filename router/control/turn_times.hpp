// How long control's turns take, and what netlink says needs to reach the tables. Control only.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace hecto::router {

// Of times, by decades and thirds of them from 100 microseconds to 10 seconds.
class TimeHistogram {
 public:
  static constexpr std::array<double, 11> kBounds_s = {0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03,
                                                       0.1,    0.3,    1,     3,     10};

  void add(std::chrono::nanoseconds time) {
    const double seconds = std::chrono::duration<double>(time).count();
    size_t bucket = 0;
    while (bucket < kBounds_s.size() && seconds > kBounds_s[bucket]) ++bucket;
    ++counts_[bucket];
    sum_s_ += seconds;
  }
  // Up to each bound and above the one before; then those above the last.
  const std::array<uint64_t, kBounds_s.size() + 1>& counts() const { return counts_; }
  double sum_s() const { return sum_s_; }

 private:
  std::array<uint64_t, kBounds_s.size() + 1> counts_{};
  double sum_s_ = 0;
};

class TurnTimes {
 public:
  using Clock = std::chrono::steady_clock;

  void begins() { begin_ = Clock::now(); }  // there is something to do
  void reads_routes() {
    if (read_ == Clock::time_point()) read_ = Clock::now();
  }
  void committed() {
    if (read_ != Clock::time_point()) updates_.add(Clock::now() - read_);
    read_ = {};
  }
  void ends() { turns_.add(Clock::now() - begin_); }

  const TimeHistogram& turns() const { return turns_; }
  const TimeHistogram& updates() const { return updates_; }  // changes of routes

 private:
  Clock::time_point begin_, read_;
  TimeHistogram turns_, updates_;
};

}  // namespace hecto::router
