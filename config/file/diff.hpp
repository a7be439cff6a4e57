// What a reload has to do: the difference of two configurations, or why it cannot be applied.
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/file/config.hpp"

namespace hecto::config {

// A route, neighbor, SA or policy that changed is in both lists, removed and added: apply them as
// one step.
struct Difference {
  std::vector<PortConfig> ports_added;
  std::vector<std::string> ports_removed;
  // Same device, queues and descriptors; MTU, addresses, VLANs, uRPF, counters may differ.
  std::vector<PortConfig> ports_changed;
  std::vector<RouteConfig> routes_added, routes_removed;
  std::vector<NeighborConfig> neighbors_added, neighbors_removed;
  std::vector<std::string> route_files_added, route_files_removed;
  std::vector<IpsecSaConfig> ipsec_sas_added, ipsec_sas_removed;
  std::vector<IpsecPolicyConfig> ipsec_policies_added, ipsec_policies_removed;
  bool rules_changed = false;    // or VRFs
  bool filters_changed = false;  // or sets, or what stands in their files, or policers
  bool nat_changed = false;
  bool punt_changed = false;
  bool idle_changed = false;  // idle, idle_sleep_us
  bool burst_changed = false;
  bool log_level_changed = false;
  std::vector<std::string>
      lines;  // the difference in words: "+ port lan1", "~ port wan0: mtu 1500 -> 9000"
  bool empty() const { return lines.empty(); }
};

// Refused when something differs that cannot change while running; each line names the key, both
// values and what to do (restart).
tl::expected<Difference, std::vector<std::string>> diff(const Config& running,
                                                        const Config& wanted);

}  // namespace hecto::config
