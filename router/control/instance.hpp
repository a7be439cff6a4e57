// What a router locks before it touches anything: its API socket, its devices, its namespace
// (router/linux/instance_locks.hpp has the files). Control only.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/linux/instance_locks.hpp"

namespace hecto::router {

struct LockName {
  std::string key;      // of the file
  std::string subject;  // for people: "port wan0 (eth1)"
};

// A device by its PCI address, a kernel interface by its name and network namespace (of this
// process). None for what is nobody else's: DPDK's devices in memory.
std::optional<LockName> device_lock(const config::PortConfig& port);
// The kernel interface that a port polls, also by a vdev with iface=; empty: none.
std::string kernel_interface_of(const config::PortConfig& port);

// All of a configuration, taken; then the files of the dead are swept. An error is one line that
// names who has it, and nothing is held.
Result<std::unique_ptr<InstanceLocks>> lock_instance(const config::Config& config);

}  // namespace hecto::router
