// Reconfiguration blackout: what a change costs the packets that pass meanwhile, as the time that
// the lost ones took to send (after RFC 8219 and RFC 6201, whose reset time is meant the same way).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/traffic/trial.hpp"
#include "lookup/prefix.hpp"

namespace hecto::bench {

struct Blackout {
  std::string change;    // "routes", "reload", "port"
  uint64_t changes = 0;  // done while packets were sent
  double pps = 0;        // asked for
  double seconds = 0;
  uint64_t offered = 0, lost = 0;
  bool interrupted = false;
  // By the rate that was offered, which may be less than asked for.
  double milliseconds() const {
    return offered > 0 ? static_cast<double>(lost) / static_cast<double>(offered) * seconds * 1e3
                       : 0;
  }
};

// Those whose routes come and go: spread over the table.
std::vector<lookup::IpPrefix> churned(const std::vector<lookup::IpPrefix>& table);

// One round of changes, called again and again from another thread that runs on `cpu`; it gives how
// many they were. Its error, or the runner's, is the error of all.
using MakeChanges = std::function<Result<uint64_t>()>;
Result<Blackout> measure_blackout(TrialRunner& runner, double pps, double seconds,
                                  const std::string& change, unsigned cpu,
                                  const MakeChanges& make_changes);

}  // namespace hecto::bench
