// `hecto-bench compare-plan`: what the capacity model predicts for one worker over memory ports,
// what `hecto-bench forward` measures, and the error, for every size and both families.
#pragma once

#include <string>
#include <vector>

#include "bench/calibrate/parts.hpp"
#include "config/cycles.hpp"

namespace hecto::bench {

struct ComparePlanOptions {
  std::string calibration;  // file; empty: this machine is calibrated before each size
  std::vector<std::string> sizes = {"64", "128", "256", "512", "1024", "1518", "9000", "imix"};
  std::string table;       // route file; empty: the real one where it is found, else synthetic
  std::string root = ".";  // where ../shared/data is looked for
  bool quick = false;
  std::string json;  // file to write, - for standard output; empty: none
};

struct PlanRow {
  std::string size, series;  // floor, ipv4, ipv6
  double predicted_cycles = 0, measured_cycles = 0;
  double predicted_mpps = 0, measured_mpps = 0;
  double spread = 0;                     // of the measurement's rounds
  std::vector<config::Term> terms = {};  // that the prediction is the sum of
  double error() const { return predicted_mpps / measured_mpps - 1; }
};

// The model's cycles for packets of these sizes, copied in and out by their ports. `series`: floor
// (receive and transmit alone), ipv4 or ipv6.
config::PacketCycles predict(const config::Constants& constants, const std::string& series,
                             const std::vector<uint16_t>& sizes);

int compare_plan(const ComparePlanOptions& options);

}  // namespace hecto::bench
