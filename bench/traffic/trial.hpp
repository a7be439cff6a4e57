// One trial: traffic at one rate for one time through a device under test, and what came back.
// Searches, soaks and experiments ask for trials; a generator carries them out over ports, and
// tests script them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/traffic/histogram.hpp"
#include "bench/traffic/verdict.hpp"

namespace hecto::bench {

struct TrialRequest {
  double pps = 0;                // of all streams together; 0: as fast as the ports take them
  double seconds = 1;            // of sending
  double settle_seconds = 0.05;  // of receiving after the last packet was sent, at most
};

struct StreamResult {
  std::string name;
  uint64_t sent = 0;
  uint64_t received = 0;  // as they should be, each sequence number once
  WrongCounts wrong;      // those that should not: they count as lost
  uint64_t duplicated = 0;
  uint64_t reordered = 0;  // RFC 4737: a sequence number below one seen before
  Histogram latency_ns;
  Histogram jitter_ns;  // RFC 3550's difference of successive packets' delays, as absolute values
  uint64_t lost() const { return sent > received ? sent - received : 0; }
};

struct TrialResult {
  double seconds = 0;   // that sending took
  uint64_t wanted = 0;  // packets that the rate asked for
  uint64_t sent = 0;    // taken by the ports
  // At a fixed rate: offered in time, but the port's queue was full. Behind a memif that is the
  // router's, which was too slow to empty it: searches count these as lost.
  uint64_t refused = 0;
  uint64_t received = 0;
  WrongCounts wrong;
  uint64_t sent_bytes = 0;  // frames with FCS
  uint64_t foreign = 0;     // received, but nobody here sent them
  // Without a rate: of the packets that could have been sent, the part that a full queue kept back.
  // Near 0 nothing but the generator was the limit.
  double held_back = 0;
  bool interrupted = false;  // by a signal: the counts stand for the part that was done
  std::vector<StreamResult> streams;
  uint64_t lost() const { return sent > received ? sent - received : 0; }
  // Less than `wanted`: the generator itself was too slow.
  uint64_t offered() const { return sent + refused; }
  double sent_pps() const { return seconds > 0 ? static_cast<double>(sent) / seconds : 0; }
};

// Whoever can carry out trials. One at a time, from one thread.
class TrialRunner {
 public:
  virtual ~TrialRunner() = default;
  // An error is for good: a port has gone, the router has died. Loss is a result.
  virtual Result<TrialResult> run(const TrialRequest& request) = 0;
};

}  // namespace hecto::bench
