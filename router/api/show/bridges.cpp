// Bridges of Linux: which are switched here, their ports, and how many stations are behind each.
#include <nlohmann/json.hpp>

#include "router/api/show/show.hpp"
#include "router/control/bridge_control.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

const char* state_of(const BridgeStatus::Port& port) {
  if (port.forwards) return port.full ? "full" : "forwards";
  return port.learns ? "learns" : "blocked";
}

}  // namespace

json show_bridges(const BridgeControl* bridges) {
  json list = json::array();
  for (const BridgeStatus& bridge :
       bridges == nullptr ? std::vector<BridgeStatus>{} : bridges->status()) {
    json ports = json::array();
    for (const BridgeStatus::Port& port : bridge.ports)
      ports.push_back({{"name", port.name},
                       {"state", state_of(port)},
                       {"mtu", port.mtu == 0 ? json() : json(port.mtu)},
                       {"stations", port.stations}});
    list.push_back({{"name", bridge.name},
                    {"mac", to_string(bridge.mac)},
                    {"up", bridge.up},
                    {"mtu", bridge.mtu},
                    {"vlan_filtering", bridge.filters_vlans},
                    {"stations", bridge.stations},
                    {"ports", std::move(ports)},
                    {"done_by", bridge.trouble.empty() ? "hecto" : "linux"},
                    {"trouble", bridge.trouble.empty() ? json() : json(bridge.trouble)}});
  }
  return {{"bridges", std::move(list)}};
}

}  // namespace hecto::router
