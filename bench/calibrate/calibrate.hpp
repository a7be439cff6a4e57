// `hecto-bench calibrate`: measures this machine's constants of the capacity model and writes the
// calibration file that `hecto plan` and `hecto-bench compare-plan` take.
#pragma once

#include "bench/calibrate/parts.hpp"

namespace hecto::bench {

std::vector<std::string> calibrate_parts();  // their names, in the order in which they run

int calibrate(const CalibrateOptions& options);

}  // namespace hecto::bench
