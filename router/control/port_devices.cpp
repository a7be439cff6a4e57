#include "router/control/port_devices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "config/file/config.hpp"
#include "config/file/load_bond.hpp"
#include "router/control/instance.hpp"
#include "router/dataplane/ports/kernel_interface.hpp"

namespace hecto::router {
namespace {

bool uses(const config::PortConfig& port, const std::string& key) {
  const std::vector<config::PortConfig> parts = parts_of(port);
  return std::any_of(parts.begin(), parts.end(), [&](const config::PortConfig& part) {
    const auto lock = device_lock(part);
    return lock && lock->key == key;
  });
}

}  // namespace

PortDevices::PortDevices(InstanceLocks* locks)
    : locks_(locks), xdp_(locks), receive_offloads_(locks) {}

Result<void> PortDevices::check(const config::PortConfig& config) {
  for (const config::PortConfig& part : parts_of(config)) {
    const std::string interface = kernel_interface_of(part);
    if (interface.empty() || KernelInterface(interface).exists()) continue;
    return fail(fmt::format("port {} ({}): there is no such kernel interface here; `ip link` lists "
                            "those there are",
                            part.name, part.device),
                ENODEV);
  }
  return {};
}

Result<void> PortDevices::take(const config::PortConfig& config,
                               std::span<const config::PortConfig> running) {
  for (const config::PortConfig& part : parts_of(config))
    if (auto taken = take_one(part); !taken) {
      release(config, running);
      return taken;
    }
  return {};
}

// The device is this router's alone, and no program of somebody else's is on it.
Result<void> PortDevices::take_one(const config::PortConfig& config) {
  const auto lock = device_lock(config);
  if (!lock) return {};
  if (locks_ != nullptr)
    if (auto taken = locks_->take(lock->key, lock->subject); !taken) return taken;
  const std::string interface = kernel_interface_of(config);
  return interface.empty() ? Result<void>{} : xdp_.clear_way(config.name, interface, lock->key);
}

std::vector<std::string> PortDevices::turn_off_offloads(const config::PortConfig& config) {
  std::vector<std::string> stays_on;
  for (const config::PortConfig& part : parts_of(config))
    if (const std::string interface = kernel_interface_of(part);
        !interface.empty() && KernelInterface(interface).exists())
      for (std::string& sentence :
           receive_offloads_.turn_off(config.name, interface, device_lock(part)->key))
        stays_on.push_back(std::move(sentence));
  return stays_on;
}

void PortDevices::started(const config::PortConfig& config) {
  if (const auto lock = device_lock(config))
    xdp_.started(config.name, kernel_interface_of(config), lock->key);
}

void PortDevices::release(const config::PortConfig& config,
                          std::span<const config::PortConfig> running) {
  xdp_.stopped(config.name);
  for (const config::PortConfig& part : parts_of(config)) {
    const auto lock = device_lock(part);
    if (!lock) continue;
    // One that was refused may name the device of one that runs.
    const bool used =
        std::any_of(running.begin(), running.end(),
                    [&](const config::PortConfig& other) { return uses(other, lock->key); });
    if (used) continue;
    receive_offloads_.put_back(kernel_interface_of(part), lock->key);
    if (locks_ != nullptr) locks_->release(lock->key);
  }
}

}  // namespace hecto::router
