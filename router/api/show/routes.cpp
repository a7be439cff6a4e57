// Routes, next hops and neighbors: what Routing knows.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/frame_tags.hpp"
#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/api/show/tags.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/persist_control.hpp"
#include "router/dataplane/explain_packet.hpp"
#include "router/rib/routing.hpp"
#include "router/rib/rule_table.hpp"
#include "router/rib/rule_text.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

Reason reason_of(const lookup::NextHopRecord& record) {
  const bool refuses =
      record.kind == lookup::RecordKind::kPunt || record.kind == lookup::RecordKind::kDrop;
  return refuses ? static_cast<Reason>(record.reason) : Reason::kNone;
}

json reason_json(const lookup::NextHopRecord& record) {
  const Reason reason = reason_of(record);
  return reason == Reason::kNone ? json() : json(info(reason).name);
}

MacAddress mac_at(const uint8_t* bytes) {
  MacAddress mac;
  std::copy_n(bytes, mac.size(), mac.begin());
  return mac;
}

VlanTags tags_of(const lookup::NextHopRecord& record) {
  return read_frame_tags(record.header, record.header_length).tags;
}

json port_json(const ForwardingPlane& plane, const lookup::NextHopRecord& record) {
  if (!lookup::leaves_by_port(record.kind)) return nullptr;
  const auto name = plane.port_name(PortId(record.port));
  return name ? json(*name) : json();
}

json gateway_json(const NextHopView& hop) {
  return hop.gateway ? json(hop.gateway->to_string()) : json();
}
json interface_json(const NextHopView& hop) {
  return hop.interface_name.empty() ? json() : json(hop.interface_name);
}

json rewrite_json(const lookup::NextHopRecord& record) {
  if (!lookup::leaves_by_port(record.kind)) return nullptr;
  std::string hex;
  for (unsigned i = 0; i < record.header_length && i < sizeof record.header; ++i)
    hex += fmt::format("{:02x}", record.header[i]);
  return {{"header", hex},
          {"destination", to_string(mac_at(record.header))},
          {"source", to_string(mac_at(record.header + 6))},
          {"vlan", vlan_json(tags_of(record))},
          {"outer_vlan", outer_vlan_json(tags_of(record))}};
}

json member_json(const ForwardingPlane& plane, const GroupMemberView& member) {
  const bool forwards = lookup::leaves_by_port(member.record.kind);
  json neighbor;
  if (member.neighbor)
    neighbor = {
        {"address", member.neighbor->address.to_string()},
        {"mac", to_string(member.neighbor->mac)},
        {"state", neighbor_state_text(member.neighbor->state, member.neighbor->configured)}};
  return {{"id", member.group.value()},
          {"kind", to_string(member.record.kind)},
          {"reason", reason_json(member.record)},
          {"weight", member.weight},
          {"buckets", member.buckets},
          {"gateway", gateway_json(member.next_hop)},
          {"interface", interface_json(member.next_hop)},
          {"labels", labels_json(member.next_hop.labels)},
          {"port", port_json(plane, member.record)},
          {"mtu", forwards ? json(member.record.mtu) : json()},
          {"neighbor", neighbor},
          {"rewrite", rewrite_json(member.record)}};
}

bool is_of_api(const RouteView& route) {
  return route.origin == RouteOrigin::kApi ||
         std::find(route.also.begin(), route.also.end(), RouteOrigin::kApi) != route.also.end();
}

json route_json(const RouteView& route, const PersistControl& persist) {
  json hops = json::array();
  for (const NextHopView& hop : route.next_hops)
    hops.push_back({{"gateway", gateway_json(hop)},
                    {"interface", interface_json(hop)},
                    {"labels", labels_json(hop.labels)},
                    {"weight", hop.weight},
                    {"dead", hop.dead}});
  json also = json::array();
  for (const RouteOrigin origin : route.also) also.push_back(to_string(origin));
  return {{"prefix", route.prefix.to_string()},
          {"type", to_string(route.type)},
          {"origin", to_string(route.origin)},
          {"protocol", protocol_text(route.protocol)},
          {"table", route.table},
          {"metric", route.metric},
          {"selected", route.selected},
          {"also", also},
          {"persist", is_of_api(route) && persist.keeps(route.prefix, route.metric)},
          {"group", route.group == lookup::kNoRoute ? json() : json(route.group.value())},
          {"next_hops", hops}};
}

// Its length against the MTU on its way.
std::string size_sentence(const PacketAnswer& packet) {
  const bool v4 = packet.source.family == lookup::Family::kIpv4;
  if (packet.spi != 0) {
    const std::string size = fmt::format(
        "{} bytes are too big for the tunnel, which takes {}: ", packet.length, packet.mtu);
    if (packet.cut) return size + "it is cut into fragments, each leaves as ESP";
    return size + (v4 ? "no packet is cut to that"
                      : "its sender is told (ICMPv6 packet too big), as with DF over IPv4");
  }
  return fmt::format(
      "{} bytes are too big for the MTU {}: {}", packet.length, packet.mtu,
      packet.cut
          ? "it is cut into fragments; with DF its sender is told (ICMP fragmentation needed)"
      : v4 ? "Linux cuts it into fragments; with DF its sender is told (ICMP fragmentation needed)"
           : "its sender is told (ICMPv6 packet too big)");
}

const char* found_verdict(const FilterFinding& finding) {
  return finding.reason == Reason::kNone             ? "accept"
         : finding.reason == Reason::kFilterRejected ? "reject"
                                                     : "drop";
}

// Each filter that was asked; of several next hops those that say the same once.
void add_filter_sentences(const PacketAnswer& packet, std::vector<std::string>& lines) {
  for (const FilterFinding& finding : packet.filters) {
    std::string line = fmt::format("filter {} ({}), {}: {}", finding.filter, finding.where,
                                   finding.rule.empty() ? "otherwise" : "rule " + finding.rule,
                                   found_verdict(finding));
    if (!finding.policer.empty() && finding.reason == Reason::kNone)
      line += fmt::format(", within the rate of policer {}", finding.policer);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
  if (packet.filters_unasked)
    lines.push_back("filters of where it comes in were not asked: --interface says where");
}

// Of several next hops those with the same labels once.
void add_label_sentences(const Explanation& e, std::vector<std::string>& lines) {
  if (!e.group) return;
  for (const GroupMemberView& member : e.group->members) {
    if (member.record.kind != lookup::RecordKind::kLabelled) continue;
    std::string line = fmt::format(
        "push {}: it leaves with {}, {} bytes fit", labels_text(member.next_hop.labels),
        member.next_hop.labels.count == 1 ? "this label" : "these labels", member.record.mtu);
    if (std::find(lines.begin(), lines.end(), line) == lines.end()) lines.push_back(line);
  }
}

json filters_json(const PacketAnswer& packet) {
  json list = json::array();
  for (const FilterFinding& finding : packet.filters) {
    json each = {{"where", finding.where},
                 {"filter", finding.filter},
                 {"rule", finding.rule.empty() ? json() : json(finding.rule)},
                 {"verdict", found_verdict(finding)},
                 {"policer", finding.policer.empty() ? json() : json(finding.policer)}};
    if (std::find(list.begin(), list.end(), each) == list.end()) list.push_back(std::move(each));
  }
  return list;
}

// What happens besides the route's own verdict, and what was not asked.
std::vector<std::string> packet_sentences(const ForwardingPlane& plane, const Explanation& e,
                                          const PacketAnswer& packet,
                                          const Interfaces& interfaces) {
  std::vector<std::string> lines;
  const Reason of_route = !e.group ? Reason::kNoRoute : reason_of(e.group->record);
  if (packet.mtu != 0) lines.push_back(size_sentence(packet));
  const bool of_size = packet.mtu != 0 &&
                       (packet.reason == Reason::kTooBig || packet.reason == Reason::kTunnelTooBig);
  if (packet.reason != Reason::kNone && packet.reason != of_route && !of_size)
    lines.push_back(fmt::format("refused at {}, whatever the route: {}, {}",
                                to_string(info(packet.reason).stage), info(packet.reason).name,
                                info(packet.reason).description));
  if (packet.spi != 0)
    lines.push_back(
        fmt::format("a policy protects it: it leaves as ESP, SPI {}", to_string(packet.spi)));
  const auto name = [&](InterfaceId id) {
    const InterfaceState* const state = interfaces.find(id);
    return state == nullptr ? std::string("an interface that is gone") : state->name;
  };
  for (const TunnelStep& step : packet.tunnels)
    lines.push_back(
        step.egress == kNoInterface
            ? fmt::format("it goes into the tunnel {} to {}, where no way leads now",
                          name(step.tunnel), step.end.to_string())
            : fmt::format("it goes into the tunnel {} to {}, which leaves by {}: {} bytes fit",
                          name(step.tunnel), step.end.to_string(), name(step.egress), step.inner));
  if (packet.refusing > 0)
    lines.push_back(fmt::format("its flow decides: {} of {} buckets end as {}", packet.refusing,
                                packet.buckets, info(packet.refused_by).name));
  if (packet.redirects)
    lines.push_back(
        "it leaves by the interface that it came in by: one packet a second of its sender goes by "
        "Linux, which tells the sender of a better first hop (redirect)");
  add_label_sentences(e, lines);
  add_filter_sentences(packet, lines);
  if (packet.policies || !packet.filters.empty())
    lines.push_back(fmt::format("{} were asked for UDP from {} port {} to port {}",
                                packet.filters.empty() ? "policies"
                                : packet.policies      ? "filters and policies"
                                                       : "filters",
                                packet.source.to_string(), PacketQuestion::kSourcePort,
                                PacketQuestion::kDestinationPort));
  if (!packet.urpf && (plane.features() & kFeatureUrpf) != 0)
    lines.push_back("uRPF was not asked: it needs to know from whom and where it comes in");
  return lines;
}

}  // namespace

json show_neighbors(const Routing& routing) {
  json list = json::array();
  for (const NeighborView& n : routing.neighbors())
    list.push_back({{"address", n.address.to_string()},
                    {"interface", n.interface_name},
                    {"mac", to_string(n.mac)},
                    {"state", neighbor_state_text(n.state, n.configured)},
                    {"usable", n.usable},
                    {"origin", n.configured ? "file" : "linux"},
                    {"group", n.group == lookup::kNoRoute ? json() : json(n.group.value())}});
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["usable"].get<bool>() < b["usable"].get<bool>();
  });
  return {{"neighbors", list}};
}

json show_rules(const Routing& routing, bool marks) {
  json list = json::array();
  for (const PolicyRule& rule : routing.rules().rules()) {
    const bool for_linux = left_to_linux(rule, routing.has_room_for(rule), marks);
    const char* const done_by = never_forwards(rule) ? "nobody" : for_linux ? "linux" : "hecto";
    list.push_back({{"family", rule.family == Family::kIpv4 ? "ipv4" : "ipv6"},
                    {"priority", rule.priority},
                    {"rule", to_string(rule)},
                    {"done_by", done_by}});
  }
  return {{"rules", list}};
}

json show_tables(const Routing& routing) {
  json list = json::array();
  for (const TableView& table : routing.tables()) {
    json vrf, interfaces = json::array();
    for (const auto& [id, state] : routing.interfaces().all()) {
      const Vrf of = routing.interfaces().vrf_of(state);
      if (of.table != table.linux_number) continue;
      vrf = of.name;
      interfaces.push_back(state.name);
    }
    const auto& rules = routing.rules().rules();
    const auto named = std::count_if(rules.begin(), rules.end(), [&](const PolicyRule& rule) {
      return rule.action == RuleAction::kTable && !rule.l3mdev && rule.table == table.linux_number;
    });
    list.push_back({{"table", table.linux_number},
                    {"name", table_text(table.linux_number)},
                    {"vrf", vrf},
                    {"interfaces", interfaces},
                    {"rules", named},
                    {"ipv4_prefixes", table.prefixes4},
                    {"ipv6_prefixes", table.prefixes6},
                    {"own_ipv4", table.large4},
                    {"own_ipv6", table.large6},
                    {"incomplete", table.incomplete}});
  }
  return {{"tables", list}};
}

json show_next_hops(const Routing& routing, const TableUse& tables, const ForwardingPlane& plane) {
  json list = json::array();
  for (const GroupView& group : routing.next_hops()) {
    const bool multipath = group.record.kind == lookup::RecordKind::kMultipath;
    json members = json::array();
    if (multipath)
      for (const GroupMemberView& m : group.members)
        members.push_back({{"id", m.group.value()}, {"weight", m.weight}, {"buckets", m.buckets}});
    const GroupMemberView* self =
        multipath || group.members.empty() ? nullptr : &group.members.front();
    const bool forwards = lookup::leaves_by_port(group.record.kind);
    list.push_back({{"id", group.group.value()},
                    {"kind", to_string(group.record.kind)},
                    {"reason", reason_json(group.record)},
                    {"gateway", self == nullptr ? json() : gateway_json(self->next_hop)},
                    {"interface", self == nullptr ? json() : interface_json(self->next_hop)},
                    {"port", port_json(plane, group.record)},
                    {"mac", forwards ? json(to_string(mac_at(group.record.header))) : json()},
                    {"vlan", forwards ? vlan_json(tags_of(group.record)) : json()},
                    {"outer_vlan", forwards ? outer_vlan_json(tags_of(group.record)) : json()},
                    {"mtu", forwards ? json(group.record.mtu) : json()},
                    {"members", members},
                    {"routes", group.routes}});
  }
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["routes"].get<uint64_t>() > b["routes"].get<uint64_t>();
  });
  return {{"groups_used", tables.groups}, {"groups_max", tables.max_groups}, {"nexthops", list}};
}

json show_page(const Routing& routing, const RoutePage& page, const PersistControl& persist) {
  const RouteCounts counts = routing.counts();
  json by_origin = json::object();
  for (size_t i = 0; i < counts.by_origin.size(); ++i)
    by_origin[std::string(to_string(static_cast<RouteOrigin>(i)))] = counts.by_origin[i];
  json by_protocol = json::object();
  for (const auto& [protocol, count] : counts.by_protocol)
    by_protocol[protocol_text(protocol)] = count;
  json routes = json::array();
  for (const RouteView& route : page.routes) routes.push_back(route_json(route, persist));
  return {{"counts",
           {{"total", counts.total},
            {"ipv4", counts.ipv4},
            {"ipv6", counts.ipv6},
            {"by_origin", by_origin},
            {"by_protocol", by_protocol}}},
          {"routes", routes},
          {"next", page.next ? json(page.next->to_string()) : json()}};
}

json show_explanation(const ForwardingPlane& plane, const Routing& routing, const Explanation& e,
                      const PacketAnswer& packet, const PersistControl& persist) {
  json candidates = json::array();
  for (const RouteView& route : e.candidates) {
    json row = route_json(route, persist);
    row["why"] = route.why;
    candidates.push_back(row);
  }
  json match, next_hop, why = e.why;
  if (e.match)
    match = {{"prefix", e.match->to_string()},
             {"group", e.group ? json(e.group->group.value()) : json()}};
  if (e.group) {
    json members = json::array();
    for (const GroupMemberView& member : e.group->members)
      members.push_back(member_json(plane, member));
    next_hop = {{"id", e.group->group.value()},
                {"kind", to_string(e.group->record.kind)},
                {"buckets", e.group->buckets},
                {"members", members}};
  }
  for (const std::string& sentence : packet_sentences(plane, e, packet, routing.interfaces()))
    why.push_back(sentence);
  const bool forwards = packet.reason == Reason::kNone;
  const ReasonInfo& reason = info(packet.reason);
  return {{"address", e.address.to_string()},
          {"from", packet.source.to_string()},
          {"length", packet.length},
          {"redirect", packet.redirects},
          {"match", match},
          {"verdict", forwards       ? "forward"
                      : packet.punts ? "punt"
                                     : "drop"},
          {"reason", forwards ? json() : json(reason.name)},
          {"stage", forwards ? json() : json(to_string(reason.stage))},
          {"spi", packet.spi == 0 ? json() : json(to_string(packet.spi))},
          {"filters", filters_json(packet)},
          {"why", why},
          {"candidates", candidates},
          {"next_hop", next_hop}};
}

}  // namespace hecto::router
