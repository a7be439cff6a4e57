// The devices of ports, before DPDK opens them and after it has closed them: locked for this router
// alone, no XDP program of somebody else's on them, and what the kernel does to packets before a port
// sees them turned off meanwhile. A bond's are those of all of its members. Control only.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/control/receive_offloads.hpp"
#include "router/control/xdp_watch.hpp"

namespace hecto::config {
struct PortConfig;
}

namespace hecto::router {

class PortDevices {
 public:
  // `locks` may be null: then devices are not locked.
  explicit PortDevices(InstanceLocks* locks);

  // Whether those that are kernel interfaces are there.
  static Result<void> check(const config::PortConfig& config);
  // All of them, or none. `running` are the ports that have theirs and keep them.
  Result<void> take(const config::PortConfig& config, std::span<const config::PortConfig> running);
  // Of what is taken; returns what stays on, in words.
  std::vector<std::string> turn_off_offloads(const config::PortConfig& config);
  void started(const config::PortConfig& config);  // with AF_XDP
  // Before the port is closed, and after.
  void stopping(const std::string& port) { xdp_.stopping(port); }
  void release(const config::PortConfig& config, std::span<const config::PortConfig> running);

  // Once a second: what has changed of XDP programs, a line each.
  std::vector<std::string> mend() { return xdp_.check(); }
  // In words; empty: none.
  std::string trouble(const std::string& port) const { return xdp_.trouble(port); }

 private:
  Result<void> take_one(const config::PortConfig& config);

  InstanceLocks* const locks_;
  XdpWatch xdp_;
  ReceiveOffloads receive_offloads_;
};

}  // namespace hecto::router
