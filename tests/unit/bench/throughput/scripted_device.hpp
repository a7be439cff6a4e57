// Devices under test that a script describes: what a generator would see of them, in no time.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "bench/traffic/trial.hpp"

namespace hecto::bench {

class ScriptedDevice : public TrialRunner {
 public:
  // Packets that come out of so many a second for so many seconds.
  using Forward = std::function<double(double pps, double seconds)>;
  explicit ScriptedDevice(Forward forward, double generator_pps = 40e6)
      : forward_(std::move(forward)), generator_pps_(generator_pps) {}

  Result<TrialResult> run(const TrialRequest& request) override {
    if (dies_at_ && trials_ == *dies_at_) return fail("the router has ended by signal 9");
    TrialResult result;
    const double pps = std::min(request.pps > 0 ? request.pps : generator_pps_, generator_pps_);
    result.seconds = request.seconds;
    result.wanted = static_cast<uint64_t>(request.pps * request.seconds);
    result.sent = static_cast<uint64_t>(std::llround(pps * request.seconds));
    const auto forwarded = static_cast<uint64_t>(std::llround(forward_(pps, request.seconds)));
    result.received = std::min(result.sent, forwarded);
    if (lost_as_) result.wrong[*lost_as_] = result.lost();
    result.interrupted = interrupted_at_ && trials_ == *interrupted_at_;
    StreamResult stream;
    stream.name = "a-b";
    stream.sent = result.sent;
    stream.received = result.received;
    for (uint64_t ns = 1000; ns < 2000; ++ns) stream.latency_ns.record(ns);
    result.streams.push_back(std::move(stream));
    clock_ += request.seconds + request.settle_seconds;
    loads_.push_back(pps);
    ++trials_;
    return result;
  }
  void die_at(unsigned trial) { dies_at_ = trial; }
  void lose_as(Verdict verdict) { lost_as_ = verdict; }
  void interrupt_at(unsigned trial) { interrupted_at_ = trial; }
  std::function<double()> clock() {
    return [this] { return clock_; };
  }
  double seconds() const { return clock_; }
  unsigned trials() const { return trials_; }
  const std::vector<double>& loads() const { return loads_; }

 private:
  Forward forward_;
  double generator_pps_;
  double clock_ = 0;
  unsigned trials_ = 0;
  std::vector<double> loads_;
  std::optional<unsigned> dies_at_, interrupted_at_;
  std::optional<Verdict> lost_as_;
};

// Forwards up to its capacity, then loses the rest.
inline ScriptedDevice::Forward knee(double capacity_pps) {
  return [=](double pps, double seconds) { return std::min(pps, capacity_pps) * seconds; };
}

}  // namespace hecto::bench
