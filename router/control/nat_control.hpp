// NAT of the file on its way to the workers, and what they have to tell: compiled anew whenever the
// file's is another, or an interface that it names came, went or has another id. Blocks of ports go
// to the log as hosts get them and give them back (RFC 7422 §2).
//
// Control only.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace hecto::config {
struct NatConfig;
}

namespace hecto::router {

class ForwardingPlane;
class InterfaceTable;

// From the next publish on. Pools that stay keep their sessions. An error: all is as before.
Result<void> follow_nat(const config::NatConfig& nat, const InterfaceTable& interfaces,
                        ForwardingPlane& plane);
// Pools whose sessions go with such a change, a line each.
std::vector<std::string> nat_losses(const config::NatConfig& nat, const ForwardingPlane& plane);

class NatControl {
 public:
  // Each tick of the clock. Returns whether something is to be published; `trouble`: why not.
  bool tick(const config::NatConfig& nat, const InterfaceTable& interfaces, ForwardingPlane& plane);
  // For the operator.
  std::vector<std::string> lines() const;
  double opened_per_s(const std::string& pool) const;  // sessions, by the last second

 private:
  void log_blocks(const ForwardingPlane& plane);
  void sample(const ForwardingPlane& plane);

  std::vector<uint16_t> ids_;  // of the rules' interfaces, as compiled last
  std::vector<std::string> absent_;
  std::string trouble_;
  uint64_t lost_ = 0;  // lines of the log
  struct Opened {
    std::chrono::steady_clock::time_point time;
    uint64_t sessions = 0;
    double per_s = 0;
  };
  std::map<std::string, Opened> opened_;  // by pool
};

}  // namespace hecto::router
