// What a restart of hectod as a service costs the packets that pass.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::bench {

struct RestartOptions {
  std::string program;  // hectod; empty: the one beside this program
  unsigned restarts = 5;
  unsigned routes = 0;  // in Linux, beside the connected ones
  double pps = 10'000;
  bool kill = false;  // SIGKILL in the place of SIGTERM
  std::string json;
};

struct Restart {
  double stop_ms = 0, start_ms = 0;  // till it was gone; from there till it answered
  double blackout_ms = 0;            // the longest gap in what arrived
  uint64_t lost = 0;
};

Result<std::vector<Restart>> measure_restarts(const RestartOptions& options);
int run_restart(const RestartOptions& options);

}  // namespace hecto::bench
