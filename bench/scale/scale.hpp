// `hecto-bench scale`: how the rate grows from one worker to N and from one socket to all, with
// workers on their own cores, each with a receive port of its own and both egress ports shared. The
// numbers of workers take turns in one process; medians.
#pragma once

#include <string>
#include <vector>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

struct ScaleOptions {
  BedOptions bed;                   // its workers are chosen here
  std::vector<unsigned> workers;    // how many; empty: 1, 2, 4 and so on, and all there are
  std::string placement = "right";  // right, wrong: pools and tables on another socket
  std::string family = "ipv4";      // ipv4, ipv6
  std::string size = "64";
  std::string cache = "l2";  // where packets come from: l1, l2, l3
  double skew_percent = 0;   // of the traffic, in one queue; 0: as much in each
  unsigned rounds = 9;
  unsigned round_ms = 200;
  std::string json;  // file to write, - for standard output; empty: none
};

int scale(const ScaleOptions& options);

// 1, 2, 4 and so on up to `most`, and `most`.
std::vector<unsigned> scale_steps(unsigned most);

}  // namespace hecto::bench
