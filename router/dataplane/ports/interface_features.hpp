// What the kernel lets an interface do to packets, by the names of `ethtool -k`: joined ones, and VLAN
// tags taken off, are not what a router may hand on. In the network namespace of the process; what
// changes needs CAP_NET_ADMIN. Control thread only.
// Source: ETHTOOL_GFEATURES and ETHTOOL_SFEATURES (linux/ethtool.h).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace hecto::router {

// On receive: several packets in one, and VLAN tags out of the packet.
inline constexpr std::array<std::string_view, 7> kReceiveOffloads = {"rx-gro",
                                                                     "rx-gro-hw",
                                                                     "rx-gro-list",
                                                                     "rx-lro",
                                                                     "rx-udp-gro-forwarding",
                                                                     "rx-vlan-hw-parse",
                                                                     "rx-vlan-stag-hw-parse"};

class InterfaceFeatures {
 public:
  // An error where there is no such interface, or its kernel tells of no features.
  static Result<InterfaceFeatures> read(const std::string& interface);

  // Of these, what is asked for or in use, in their order.
  std::vector<std::string> on(const std::vector<std::string>& names) const;
  // What there is of these and can be changed is asked for, or no more, as of now. What stays as it
  // was is seen by another read().
  Result<void> set(const std::vector<std::string>& names, bool on) const;

 private:
  struct Feature {
    std::string name;
    bool available = false, requested = false, active = false;
  };
  std::string interface_;
  std::vector<Feature> features_;  // by the kernel's number
};

std::vector<std::string> receive_offloads();
// Turns all of kReceiveOffloads off. Returns what stays on, in words.
std::vector<std::string> turn_off_receive_offloads(const std::string& interface);

}  // namespace hecto::router
