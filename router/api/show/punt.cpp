// `hecto show punt`: what goes to Linux, by class.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/dataplane/punt/punt_meter.hpp"
#include "router/dataplane/punt/sessions.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

// Where packets of the class were dropped, the most first.
json dropped_where(const PuntClassTotals& totals, const InterfaceTable& interfaces) {
  json list = json::array();
  for (const auto& [name, packets] : by_name(totals.dropped_at, interfaces))
    list.push_back({{"interface", name.empty() ? json() : json(name)}, {"dropped", packets}});
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["dropped"].get<uint64_t>() > b["dropped"].get<uint64_t>();
  });
  return list;
}

json sessions_json(const PuntSessions* sessions) {
  if (sessions == nullptr) return nullptr;
  return {{"connections", sessions->connections()},
          {"tcp_ports", sessions->tcp_ports()},
          {"udp_ports", sessions->udp_ports()},
          {"peers", sessions->peers()},
          {"left_out", sessions->left_out()}};
}

}  // namespace

json show_punt(const ForwardingPlane& plane, const InterfaceTable& interfaces,
               const Sampler& sampler) {
  const Totals now = sampler.collect();
  json classes = json::array();
  for (size_t i = 0; i < kPuntClassCount; ++i) {
    const auto each = static_cast<PuntClass>(i);
    const PuntClassTotals& totals = now.punt_classes[i];
    const PuntClassTotals& last = sampler.now().punt_classes[i];
    const PuntClassTotals& before = sampler.before().punt_classes[i];
    const uint32_t pps = plane.punt_class_pps(each);
    classes.push_back({{"class", info(each).name},
                       {"priority", info(each).priority},
                       {"limit_pps", pps},
                       {"limit_all_pps", uint64_t{pps} * kPuntShares},
                       {"burst", punt_class_burst(pps)},
                       {"passed", totals.passed},
                       {"pps", sampler.rate(last.passed, before.passed)},
                       {"dropped", totals.dropped},
                       {"drop_pps", sampler.rate(last.dropped, before.dropped)},
                       {"where", dropped_where(totals, interfaces)},
                       {"description", info(each).description}});
  }
  const auto sessions = plane.punt_sessions();
  return {{"classes", classes}, {"sessions", sessions_json(sessions.get())}};
}

}  // namespace hecto::router
