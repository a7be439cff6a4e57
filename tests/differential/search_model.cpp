// bench/throughput/search over a device that whoever started this plays, by lines:
//
//   stdin   {"goals": [0, 0.005], "width": 0.01, ...}     options, first
//   stdout  trial PPS SECONDS                             again and again
//   stdin   OFFERED FORWARDED                             the answer
//   stdout  {"0": {"pps": ..., "upper": ...}, ...}        last: by goal, in their order
//
// Time is the device's: a trial takes its seconds and no more. search_reference.py starts it.
#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "bench/throughput/search.hpp"

namespace {

using hecto::bench::GoalResult;
using hecto::bench::TrialRequest;
using hecto::bench::TrialResult;
using nlohmann::json;

class AskedDevice : public hecto::bench::TrialRunner {
 public:
  hecto::Result<TrialResult> run(const TrialRequest& request) override {
    fmt::print("trial {} {}\n", request.pps, request.seconds);
    std::fflush(stdout);
    TrialResult result;
    if (!(std::cin >> result.sent >> result.received)) return hecto::fail("nobody answers");
    result.seconds = request.seconds;
    result.wanted = result.sent;
    seconds_ += request.seconds;
    return result;
  }
  double seconds() const { return seconds_; }

 private:
  double seconds_ = 0;
};

}  // namespace

int main() {
  std::string line;
  std::getline(std::cin, line);
  const json asked = json::parse(line);
  AskedDevice device;
  hecto::bench::SearchOptions options;
  options.goals.clear();
  for (const double ratio : asked.at("goals")) options.goals.push_back({"goal", ratio});
  options.width = asked.at("width");
  options.exceed_ratio = asked.at("exceed");
  options.initial_trial_s = asked.at("initial_s");
  options.final_trial_s = asked.at("final_s");
  options.duration_sum_s = asked.at("sum_s");
  options.min_pps = asked.at("min_pps");
  options.max_pps = asked.at("max_pps");
  options.settle_s = 0;
  options.total_s = 1e9;
  options.now = [&device] { return device.seconds(); };
  const auto result = hecto::bench::search(device, options);
  json out = json::array();
  for (const GoalResult& goal : result.goals)
    out.push_back({{"pps", goal.pps}, {"upper", goal.upper_pps}, {"complete", goal.complete}});
  fmt::print("{}\n", json({{"goals", out}, {"seconds", device.seconds()}}).dump());
}
