// How a CPU compares with the one that the constants' cycles were counted on: core cycles a packet,
// as a factor with a range. The clock counts apart.
#pragma once

#include <string_view>

namespace hecto::config {

struct CpuFamily {
  std::string_view name;     // "Zen 3"
  double low, likely, high;  // times the reference's cycles
  bool reference = false;    // the one that they were counted on
  bool known = true;         // else nothing is known of this CPU
};

// By its model as /proc/cpuinfo has it, "AMD EPYC 7763 64-Core Processor", by the name of the
// family, "Zen 3", or by an ARM part, "ARM part 0xd0c". Empty and unknown: the widest range.
const CpuFamily& cpu_family(std::string_view model);

}  // namespace hecto::config
