// A kernel network interface that serves as a port (AF_XDP or AF_PACKET): what has to be set on
// the kernel's side of it. In the network namespace of the calling process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

class KernelInterface {
 public:
  explicit KernelInterface(std::string name);

  bool exists() const;   // false also when another one has its name now
  bool carrier() const;  // false also when it is gone
  // The same at once: the kernel tells of a carrier up to a second late. Waits for a lock of the kernel.
  bool carrier_now() const;
  bool address_in_use() const;  // the kernel itself has an IP address on it
  Result<void> set_up();
  Result<void> set_mtu(uint16_t mtu);
  Result<uint16_t> mtu() const;
  Result<void> set_promiscuous(bool on);
  Result<MacAddress> mac() const;
  Result<void> set_mac(const MacAddress& mac);
  uint32_t speed_mbps() const;  // 0: none, or not known
  int numa_node() const;        // -1: none, or not known
  // Turns off what a router must not have: kReceiveOffloads; and the kernel's own IPv6 on the
  // interface, so that it does not answer beside us. Returns what could not be turned off, in words.
  std::vector<std::string> make_transparent();
  const std::string& name() const { return name_; }

 private:
  std::string sysfs(const char* file) const;
  std::string name_;
  unsigned index_;
};

}  // namespace hecto::router
