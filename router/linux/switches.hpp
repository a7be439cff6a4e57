// What the sysctls of a namespace say of forwarding by an interface: `net.ipv4.conf` and
// `net.ipv6.conf`, with what "all" adds, as Linux's forwarding reads them, and `net.mpls`. The kernel tells of two of
// them alone (RTM_NEWNETCONF), so that all are read.
//
// Control thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"
#include "router/linux/netns.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

struct InterfaceSwitches {
  bool forwards4 = true, forwards6 = true;  // what comes in there; else it is for us or for nobody
  UrpfMode rp_filter = UrpfMode::kOff;      // of IPv4
  bool redirects4 = false, redirects6 = false;  // senders are told of better first hops
  bool labels = false;        // MPLS that comes in there is forwarded (net.mpls.conf)
  bool accept_local = false;  // our own addresses may be sources, also where rp_filter looks
  bool operator==(const InterfaceSwitches&) const = default;
};

// Of each name, in order; none where there is no such interface. Without IPv6 its switches are as
// above. What is there and cannot be read is an error: it must not pass for a switch that is off.
using SwitchesOfAll = std::vector<std::optional<InterfaceSwitches>>;
Result<SwitchesOfAll> read_switches(const NetworkNamespace& space,
                                    const std::vector<std::string>& names);

// All of it as without MPLS where the namespace has none.
Result<LabelSwitches> read_label_switches(const NetworkNamespace& space);
bool has_labels(const NetworkNamespace& space);  // its kernel has MPLS

}  // namespace hecto::router
