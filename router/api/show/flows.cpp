// The flow table: how full, what its entries ask for, who hits it; and the entries one by one.
#include <nlohmann/json.hpp>

#include "router/api/flow_body.hpp"
#include "router/api/show/show.hpp"
#include "router/control/flow_control.hpp"

namespace hecto::router {
namespace {

using lookup::Family;
using nlohmann::json;

constexpr size_t kTopFlows = 10;

json flow_json(const FlowControl& control, const FlowTables::Status& status) {
  json out = to_json(control.describe(status));
  out["packets"] = status.count.packets;
  out["bytes"] = status.count.bytes;
  out["age_s"] = status.age_s;
  out["unused_s"] = status.unused_s;
  return out;
}

}  // namespace

json show_flows(FlowControl& control) {
  const config::FlowsConfig& config = control.config();
  FlowTables* const tables = control.tables();
  json out = {{"on", tables != nullptr},
              {"interfaces", config.interfaces},
              {"miss", config.miss},
              {"room", config.entries}};
  if (tables == nullptr) return out;
  out["entries"] = {{"ipv4", tables->size(Family::kIpv4)}, {"ipv6", tables->size(Family::kIpv6)}};
  out["hits"] = tables->hits();
  out["misses"] = tables->misses();
  out["expired"] = tables->expired();
  out["actions"] = tables->actions_in_use();
  out["memory_bytes"] = tables->bytes();
  json masks = json::array();
  for (const auto& [family, name] : {std::pair(Family::kIpv4, "ipv4"), {Family::kIpv6, "ipv6"}})
    for (const FlowMaskStatus& mask : tables->masks(family))
      masks.push_back({{"family", name},
                       {"fields", mask.fields},
                       {"entries", mask.entries},
                       {"highest_priority", mask.highest}});
  out["masks"] = std::move(masks);
  json top = json::array();
  for (const FlowId& id : tables->busiest(kTopFlows))
    top.push_back(flow_json(control, tables->status(id)));
  out["top"] = std::move(top);
  return out;
}

json walk_flows(FlowControl& control, FlowId from, uint32_t limit) {
  json list = json::array();
  json out = json::object();
  const FlowTables* const tables = control.tables();
  auto id = tables == nullptr ? std::nullopt : tables->next(from);
  for (; id && list.size() < limit; id = tables->next({id->family, id->index + 1})) {
    list.push_back(flow_json(control, tables->status(*id)));
    out["next"] = (id->family == Family::kIpv4 ? "4:" : "6:") + std::to_string(id->index);
  }
  if (!id) out.erase("next");
  out["flows"] = std::move(list);
  return out;
}

}  // namespace hecto::router
