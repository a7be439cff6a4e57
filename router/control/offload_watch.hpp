// What offloads of a port's interface, or of its senders', do to what comes in: several packets in one,
// unfinished checksums. By the counters of kernel interfaces (PortCounters); told once in the log, and
// for the operator as long as it goes on, with the command that mends it. Control only.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "router/control/forwarding_plane.hpp"

namespace hecto::router {

class Sampler;

class OffloadWatch {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kGoesOn{60};  // behind the last such packet
  static constexpr uint64_t kNoAccident = 3;          // so many unfinished checksums

  // Behind each sample. Returns what is seen of a port for the first time, a line each.
  std::vector<std::string> sampled(const ForwardingPlane& plane, const Sampler& sampler,
                                   Clock::time_point now);
  std::vector<std::string> troubles(const std::string& port) const;

 private:
  struct Flaw {
    uint64_t packets = 0;
    std::optional<Clock::time_point> grew;
    bool told = false;
    std::string sentence;  // empty: it does not go on
    bool update(uint64_t now_packets, uint64_t least, Clock::time_point now);
  };
  struct Seen {
    Flaw coalesced, unfinished;
  };
  std::map<std::string, Seen> ports_;
};

}  // namespace hecto::router
