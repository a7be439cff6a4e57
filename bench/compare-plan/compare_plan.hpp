// `hecto-bench compare-plan`: what the capacity model predicts for one worker over memory ports,
// what is measured, and the error, for every size and both families.
//
// A shared machine's speed changes within seconds, so that constants and what they are to predict
// take turns, round by round, in one process: the error is the median of the rounds' errors.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace hecto::bench {

struct ComparePlanOptions {
  std::string calibration;  // file; empty: this machine is calibrated in each round
  std::vector<std::string> sizes = {"64", "128", "256", "512", "1024", "1518", "9000", "imix"};
  std::string table;       // route file; empty: the real one where it is found, else synthetic
  std::string root = ".";  // where ../shared/data is looked for
  bool quick = false;
  bool alone = false;  // one size of a larger run, which gives the verdict
  std::string json;    // file to write, - for standard output; empty: none
};

struct PlanRow {
  std::string size, series;  // floor, ipv4, ipv6
  double predicted_cycles = 0, measured_cycles = 0;
  double predicted_mpps = 0, measured_mpps = 0;
  // The constants were measured with these very packets: a fit, which says little of the model.
  bool calibrated = false;
  double error = 0;         // of the rate: predicted / measured - 1, median of the rounds
  double error_spread = 0;  // how far the middle half of the rounds' errors lies apart
  double spread = 0;        // the same of the measured cycles, as a part of their median
  std::map<std::string, double> terms = {};  // cycles that the prediction is the sum of
};

// Of the predictions; points that calibration measures itself are told apart.
struct PlanVerdict {
  static constexpr double kBound = 0.15;  // of the error, with memory ports
  size_t predictions = 0, outside = 0;
  double median_error = 0, largest_error = 0;
  bool within() const { return predictions > 0 && outside == 0; }
};
PlanVerdict verdict_of(const std::vector<PlanRow>& rows);

// All sizes, each in a process of its own. 1 where a prediction is further off than the bound, or
// none was made.
int compare_plan(const ComparePlanOptions& options);

}  // namespace hecto::bench
