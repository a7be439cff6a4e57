// Labels of MPLS that come in, and what becomes of their packets.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/label_control.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr size_t kMostShown = 10'000;

json hop_json(const NextHopView& hop) {
  return {{"labels", labels_json(hop.labels)},
          {"gateway", hop.gateway ? json(hop.gateway->to_string()) : json()},
          {"interface", hop.interface_name.empty() ? json() : json(hop.interface_name)},
          {"dead", hop.dead}};
}

// swap 200/300, pop, or where what is inside has come in.
std::string action_of(const LabelRouteView& route) {
  if (!route.received_by.empty()) return "to " + route.received_by;
  if (route.next_hops.empty()) return "none";
  const std::string first = labels_text(route.next_hops.front().labels);
  for (const NextHopView& hop : route.next_hops)
    if (labels_text(hop.labels) != first) return "swap, by next hop";
  return first.empty() ? "pop" : "swap " + first;
}

}  // namespace

std::string labels_text(const LabelStack& stack) {
  std::string text;
  for (unsigned i = 0; i < stack.count; ++i)
    text += fmt::format("{}{}", i == 0 ? "" : "/", stack.labels[i]);
  return text;
}

json labels_json(const LabelStack& stack) {
  json list = json::array();
  for (unsigned i = 0; i < stack.count; ++i) list.push_back(stack.labels[i]);
  return list;
}

json show_labels(const Routing& routing, const LabelControl* control) {
  json list = json::array();
  for (const LabelRouteView& route : routing.labels().list(std::nullopt, kMostShown)) {
    json hops = json::array();
    for (const NextHopView& hop : route.next_hops) hops.push_back(hop_json(hop));
    list.push_back({{"label", route.label},
                    {"action", action_of(route)},
                    {"protocol", protocol_text(route.protocol)},
                    {"group", route.group == lookup::kNoRoute ? json() : json(route.group.value())},
                    {"next_hops", std::move(hops)},
                    {"done_by", route.beyond.empty() ? "hecto" : "linux"},
                    {"trouble", route.beyond.empty() ? json() : json(route.beyond)}});
  }
  const LabelSwitches switches = control == nullptr ? LabelSwitches{} : control->switches();
  const LabelCounts counts = routing.labels().counts();
  return {{"platform_labels", switches.platform_labels},
          {"ttl_propagate", switches.propagates_ttl},
          {"total", counts.routes},
          {"by_linux", counts.linuxs},
          {"labels", std::move(list)}};
}

}  // namespace hecto::router
