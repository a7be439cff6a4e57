// summary, neighbors, next hops, config, plan: what the router knows.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/file/load.hpp"
#include "lookup/kernels.hpp"
#include "router/api/plan_json.hpp"
#include "router/api/show/show.hpp"
#include "router/control/router.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json table_json(const char* family, const lookup::FibStatistics& s, size_t replicas) {
  return {{"family", family},           {"prefixes", s.prefixes},
          {"engine", s.engine},         {"used_bytes", s.used_bytes},
          {"bytes", s.bytes},           {"replicas", replicas},
          {"generation", s.generation}, {"isa", lookup::to_string(lookup::kernels().isa)}};
}

json mirror_json(const LinuxSide* side) {
  if (side == nullptr) return nullptr;
  const MirrorStats& stats = side->mirror().stats();
  std::string state = side->mirror().synchronized() ? "in sync" : "resyncing";
  if (!stats.last_error.empty()) state = stats.last_error;
  return {{"state", state},
          {"resyncs", stats.resyncs},
          {"overruns", stats.overruns},
          {"messages", stats.messages},
          {"last_resync", stats.last_reason}};
}

json rates_json(Router& router) {
  const Sampler& sampler = router.sampler();
  const Totals& now = sampler.now();
  const Totals& before = sampler.before();
  uint64_t rx_bytes[2] = {0, 0}, tx_bytes[2] = {0, 0};
  for (size_t i = 0; i < kMaxPorts; ++i) {
    rx_bytes[0] += now.ports[i].rx_bytes;
    rx_bytes[1] += before.ports[i].rx_bytes;
    tx_bytes[0] += now.ports[i].tx_bytes;
    tx_bytes[1] += before.ports[i].tx_bytes;
  }
  return {{"rx_pps", sampler.rate(now.received, before.received)},
          {"tx_pps", sampler.rate(now.transmitted, before.transmitted)},
          {"punt_pps", sampler.rate(now.punted_total(), before.punted_total())},
          {"drop_pps", sampler.rate(now.dropped_total(), before.dropped_total())},
          {"rx_bps", sampler.rate(rx_bytes[0], rx_bytes[1]) * 8},
          {"tx_bps", sampler.rate(tx_bytes[0], tx_bytes[1]) * 8}};
}

std::string kind_text(lookup::RecordKind kind) {
  switch (kind) {
    case lookup::RecordKind::kForward:
      return "forward";
    case lookup::RecordKind::kPunt:
      return "punt";
    case lookup::RecordKind::kMultipath:
      return "multipath";
    case lookup::RecordKind::kDrop:
      break;
  }
  return "drop";
}

json reason_json(const lookup::NextHopRecord& record) {
  if (record.kind != lookup::RecordKind::kPunt && record.kind != lookup::RecordKind::kDrop)
    return nullptr;
  return info(static_cast<Reason>(record.reason)).name;
}

MacAddress mac_at(const uint8_t* bytes) {
  MacAddress mac;
  std::copy_n(bytes, mac.size(), mac.begin());
  return mac;
}

json vlan_of(const lookup::NextHopRecord& record) {
  if (record.header_length != 18) return nullptr;
  return (record.header[14] & 0xf) << 8 | record.header[15];
}

json port_name(Router& router, const lookup::NextHopRecord& record) {
  if (record.kind != lookup::RecordKind::kForward) return nullptr;
  const Port* port = router.dataplane().port(record.port);
  return port == nullptr ? json() : json(port->name());
}

json gateway_json(const NextHopView& hop) {
  return hop.gateway ? json(hop.gateway->to_string()) : json();
}
json interface_json(const NextHopView& hop) {
  return hop.interface_name.empty() ? json() : json(hop.interface_name);
}

json rewrite_json(const lookup::NextHopRecord& record) {
  if (record.kind != lookup::RecordKind::kForward) return nullptr;
  std::string hex;
  for (unsigned i = 0; i < record.header_length && i < sizeof record.header; ++i)
    hex += fmt::format("{:02x}", record.header[i]);
  return {{"header", hex},
          {"destination", to_string(mac_at(record.header))},
          {"source", to_string(mac_at(record.header + 6))},
          {"vlan", vlan_of(record)}};
}

json member_json(Router& router, const GroupMemberView& member) {
  const bool forwards = member.record.kind == lookup::RecordKind::kForward;
  json neighbor;
  if (member.neighbor)
    neighbor = {
        {"address", member.neighbor->address.to_string()},
        {"mac", to_string(member.neighbor->mac)},
        {"state", neighbor_state_text(member.neighbor->state, member.neighbor->configured)}};
  return {{"id", member.group},
          {"kind", kind_text(member.record.kind)},
          {"reason", reason_json(member.record)},
          {"weight", member.weight},
          {"buckets", member.buckets},
          {"gateway", gateway_json(member.next_hop)},
          {"interface", interface_json(member.next_hop)},
          {"port", port_name(router, member.record)},
          {"mtu", forwards ? json(member.record.mtu) : json()},
          {"neighbor", neighbor},
          {"rewrite", rewrite_json(member.record)}};
}

json route_json(const RouteView& route) {
  json hops = json::array();
  for (const NextHopView& hop : route.next_hops)
    hops.push_back({{"gateway", gateway_json(hop)},
                    {"interface", interface_json(hop)},
                    {"weight", hop.weight},
                    {"dead", hop.dead}});
  return {{"prefix", route.prefix.to_string()},
          {"type", to_string(route.type)},
          {"origin", to_string(route.origin)},
          {"protocol", protocol_text(route.protocol)},
          {"table", route.table},
          {"metric", route.metric},
          {"selected", route.selected},
          {"group", route.group == lookup::kNoRoute ? json() : json(route.group)},
          {"next_hops", hops}};
}

}  // namespace

json show_summary(Router& router) {
  const size_t replicas = router.placement().sockets.size();
  unsigned ports_up = 0;
  for (const auto& [name, port] : router.dataplane().ports()) ports_up += port->link().up;
  const LinuxSide* side = router.linux_side();
  return {{"version", HECTO_VERSION},
          {"dpdk_version", Eal::version()},
          {"pid", getpid()},
          {"uptime_s", router.uptime().count()},
          {"config_file", router.config().file},
          {"namespace", side == nullptr ? json() : json(side->space().name())},
          {"control_cpu", router.placement().control_cpu},
          {"sockets", router.placement().sockets},
          {"workers", router.dataplane().workers().size()},
          {"ports", router.dataplane().ports().size()},
          {"ports_up", ports_up},
          {"tables",
           {table_json("ipv4", router.tables().fib4().statistics(), replicas),
            table_json("ipv6", router.tables().fib6().statistics(), replicas)}},
          {"groups_used", router.tables().next_hops().groups_used()},
          {"groups_max", router.tables().max_groups()},
          {"mirror", mirror_json(side)},
          {"rates", rates_json(router)},
          {"warnings", router.warnings()}};
}

json show_neighbors(Router& router) {
  json list = json::array();
  for (const NeighborView& n : router.routing().neighbors())
    list.push_back({{"address", n.address.to_string()},
                    {"interface", n.interface_name},
                    {"mac", to_string(n.mac)},
                    {"state", neighbor_state_text(n.state, n.configured)},
                    {"usable", n.usable},
                    {"origin", n.configured ? "file" : "linux"},
                    {"group", n.group == lookup::kNoRoute ? json() : json(n.group)}});
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["usable"].get<bool>() < b["usable"].get<bool>();
  });
  return {{"neighbors", list}};
}

json show_next_hops(Router& router) {
  json list = json::array();
  for (const GroupView& group : router.routing().next_hops()) {
    const bool multipath = group.record.kind == lookup::RecordKind::kMultipath;
    json members = json::array();
    if (multipath)
      for (const GroupMemberView& m : group.members)
        members.push_back({{"id", m.group}, {"weight", m.weight}, {"buckets", m.buckets}});
    const GroupMemberView* self =
        multipath || group.members.empty() ? nullptr : &group.members.front();
    const bool forwards = group.record.kind == lookup::RecordKind::kForward;
    list.push_back({{"id", group.group},
                    {"kind", kind_text(group.record.kind)},
                    {"reason", reason_json(group.record)},
                    {"gateway", self == nullptr ? json() : gateway_json(self->next_hop)},
                    {"interface", self == nullptr ? json() : interface_json(self->next_hop)},
                    {"port", port_name(router, group.record)},
                    {"mac", forwards ? json(to_string(mac_at(group.record.header))) : json()},
                    {"vlan", forwards ? vlan_of(group.record) : json()},
                    {"mtu", forwards ? json(group.record.mtu) : json()},
                    {"members", members},
                    {"routes", group.routes}});
  }
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["routes"].get<uint64_t>() > b["routes"].get<uint64_t>();
  });
  return {{"groups_used", router.tables().next_hops().groups_used()},
          {"groups_max", router.tables().max_groups()},
          {"nexthops", list}};
}

json show_page(Router& router, const RoutePage& page) {
  const RouteCounts counts = router.routing().counts();
  json by_origin = json::object();
  for (size_t i = 0; i < counts.by_origin.size(); ++i)
    by_origin[std::string(to_string(static_cast<RouteOrigin>(i)))] = counts.by_origin[i];
  json by_protocol = json::object();
  for (const auto& [protocol, count] : counts.by_protocol)
    by_protocol[protocol_text(protocol)] = count;
  json routes = json::array();
  for (const RouteView& route : page.routes) routes.push_back(route_json(route));
  return {{"counts",
           {{"total", counts.total},
            {"ipv4", counts.ipv4},
            {"ipv6", counts.ipv6},
            {"by_origin", by_origin},
            {"by_protocol", by_protocol}}},
          {"routes", routes},
          {"next", page.next ? json(page.next->to_string()) : json()}};
}

json show_explanation(Router& router, const Explanation& e) {
  json candidates = json::array();
  for (const RouteView& route : e.candidates) {
    json row = route_json(route);
    row["why"] = route.why;
    candidates.push_back(row);
  }
  json verdict = "punt", reason = "no_route", match, next_hop;
  if (e.match)
    match = {{"prefix", e.match->to_string()}, {"group", e.group ? json(e.group->group) : json()}};
  if (e.group) {
    const lookup::RecordKind kind = e.group->record.kind;
    const bool forwards =
        kind == lookup::RecordKind::kForward || kind == lookup::RecordKind::kMultipath;
    verdict = forwards ? "forward" : kind_text(kind);
    reason = reason_json(e.group->record);
    json members = json::array();
    for (const GroupMemberView& member : e.group->members)
      members.push_back(member_json(router, member));
    next_hop = {{"id", e.group->group},
                {"kind", kind_text(kind)},
                {"buckets", e.group->buckets},
                {"members", members}};
  }
  return {{"address", e.address.to_string()},
          {"match", match},
          {"verdict", verdict},
          {"reason", reason},
          {"why", e.why},
          {"candidates", candidates},
          {"next_hop", next_hop}};
}

json show_config(Router& router) {
  const config::Config& c = router.config();
  json effective = json::array();
  const auto add = [&](const std::string& key, const std::string& value, const char* origin) {
    effective.push_back({{"key", key}, {"value", value}, {"origin", origin}});
  };
  std::string workers;
  for (const auto& worker : router.placement().workers)
    workers += fmt::format("{}{}", workers.empty() ? "" : ", ", worker.cpu);
  add("workers", workers, c.workers.empty() ? "auto" : "file");
  add("control_core", std::to_string(router.placement().control_cpu),
      c.control_core ? "file" : "auto");
  for (const auto& [name, port] : router.dataplane().ports()) {
    add(fmt::format("ports.{}.queues", name), std::to_string(port->rx_queues()),
        port->config().rx_queues ? "file" : "auto");
    add(fmt::format("ports.{}.mtu", name), std::to_string(port->mtu()), "file");
  }
  return {{"file", c.file},
          {"loaded_unix_s", router.loaded_unix_s()},
          {"yaml", config::to_yaml(c)},
          {"effective", effective}};
}

json show_plan(Router& router) {
  return plan_json(router.placement(),
                   config::describe(router.placement(), router.config(), router.topology()));
}

}  // namespace hecto::router
