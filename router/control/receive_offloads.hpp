// What the kernel does to packets before a port's interface hands them on (kReceiveOffloads) is off
// while the port is there, and as it was before once it has gone: also after a start that failed, and,
// by the next router that has the device, after one that was killed. What was on stands in the device's
// lock (InstanceLocks) before anything is turned off. Control only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "router/linux/instance_locks.hpp"

namespace hecto::router {

class ReceiveOffloads {
 public:
  // `locks` may be null: then what was on before is known while this object lives.
  explicit ReceiveOffloads(InstanceLocks* locks) : locks_(locks) {}

  // Before the port is opened; `key` is that of the device's lock. Returns what stays on, in words.
  std::vector<std::string> turn_off(const std::string& port, const std::string& interface,
                                    const std::string& key);
  // After it is closed. Nothing where nothing was turned off, or the interface is another one.
  void put_back(const std::string& interface, const std::string& key);

 private:
  InstanceLocks* const locks_;
  std::map<std::string, FeaturesOff> off_;  // by key
};

}  // namespace hecto::router
