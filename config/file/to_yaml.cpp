#include "config/file/to_yaml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

using Out = std::back_insert_iterator<std::string>;

// The keys that have a text, one a line.
template <typename S>
void write_keys(Out out, const Section<S>& section, const S& values, std::string_view indent) {
  for (const Key<S>& key : section.keys)
    if (const auto text = written(key, values))
      fmt::format_to(out, "{}{}: {}\n", indent, key.name, *text);
}

template <typename Items, typename Text>
void write_list(Out out, std::string_view key, const Items& items, Text text) {
  if (items.empty()) {
    fmt::format_to(out, "{}: []\n", key);
    return;
  }
  const size_t indent = std::max<size_t>(key.find_first_not_of(' '), 2);
  fmt::format_to(out, "{}:\n", key);
  for (const auto& item : items) fmt::format_to(out, "{:{}}- {}\n", "", indent, text(item));
}

void write_vrfs(Out out, const Config& config) {
  fmt::format_to(out, "vrfs:{}\n", config.vrfs.empty() ? " {}" : "");
  for (const VrfConfig& vrf : config.vrfs) fmt::format_to(out, "  {}\n", to_string(vrf));
}

void write_rules(Out out, const Config& config) {
  write_list(out, "rules", config.rules, [](const RuleConfig& rule) { return to_string(rule); });
}

template <typename Items>
void write_named(Out out, std::string_view key, const Items& items) {
  fmt::format_to(out, "{}:{}\n", key, items.empty() ? " {}" : "");
  for (const auto& item : items)
    fmt::format_to(out, "  {}: {}\n", quoted(item.name), to_string(item));
}

void write_sets(Out out, const Config& config) {
  write_named(out, "sets", config.filters.sets);
}

void write_policers(Out out, const Config& config) {
  write_named(out, "policers", config.filters.policers);
}

void write_filters(Out out, const Config& config) {
  const auto& filters = config.filters.filters;
  fmt::format_to(out, "filters:{}\n", filters.empty() ? " {}" : "");
  for (const FilterConfig& filter : filters) {
    fmt::format_to(out, "  {}:\n", quoted(filter.name));
    write_keys(out, filter_keys, filter, "    ");
    write_list(out, "    rules", filter.rules,
               [](const FilterRuleConfig& rule) { return to_string(rule); });
  }
}

// A VLAN of the port, with those within it.
std::string vlan_text(const PortConfig& port, const VlanConfig& vlan) {
  std::string text = flow_map(vlan_keys, vlan);
  std::string inner;
  for (const VlanConfig& each : port.vlans)
    if (each.outer == vlan.id)
      inner += fmt::format("{}{}: {}", inner.empty() ? "" : ", ", each.id,
                           flow_map(inner_vlan_keys, each));
  if (inner.empty()) return text;
  text.pop_back();
  return fmt::format("{}{}vlans: {{{}}}}}", text, text.size() > 1 ? ", " : "", inner);
}

void write_ports(Out out, const Config& config) {
  fmt::format_to(out, "ports:\n");
  for (const PortConfig& port : config.ports) {
    fmt::format_to(out, "  {}:\n", quoted(port.name));
    write_keys(out, port_keys, port, "    ");
    if (!port.vlans.empty()) fmt::format_to(out, "    vlans:\n");
    for (const VlanConfig& vlan : port.vlans)
      if (vlan.outer == 0) fmt::format_to(out, "      {}: {}\n", vlan.id, vlan_text(port, vlan));
  }
}

void write_linux(Out out, const Config& config) {
  fmt::format_to(out, "linux: {}\n", to_string(config.linux_side));
}

void write_routes(Out out, const Config& config) {
  write_list(out, "routes", config.routes, [](const RouteConfig& r) { return to_string(r); });
}

void write_route_files(Out out, const Config& config) {
  write_list(out, "route_files", config.route_files, quoted);
}

void write_neighbors(Out out, const Config& config) {
  write_list(out, "neighbors", config.neighbors,
             [](const NeighborConfig& n) { return to_string(n); });
}

void write_punt(Out out, const Config& config) {
  const bool empty =
      config.punt_pps.empty() && config.punt_class_pps.empty() && config.punt_peers.empty();
  fmt::format_to(out, "punt:{}\n", empty ? " {}" : "");
  for (const auto& [reason, pps] : config.punt_pps)
    fmt::format_to(out, "  {}: {}pps\n", quoted(reason), pps);
  if (!config.punt_class_pps.empty()) fmt::format_to(out, "  classes:\n");
  for (const auto& [punt_class, pps] : config.punt_class_pps)
    fmt::format_to(out, "    {}: {}pps\n", quoted(punt_class), pps);
  if (!config.punt_peers.empty())
    write_list(out, "  peers", config.punt_peers,
               [](const lookup::IpAddress& peer) { return quoted(peer.to_string()); });
}

void write_flows(Out out, const Config& config) {
  if (config.flows != FlowsConfig{})
    fmt::format_to(out, "flows: {}\n", flow_map(flow_keys, config.flows));
}

void write_tables(Out out, const Config& config) {
  fmt::format_to(out, "tables: {}\n", flow_map(table_keys, config.tables));
}

void write_offload(Out out, const Config& config) {
  fmt::format_to(out, "offload: {}\n", flow_map(offload_keys, config.offload));
}

void write_ipsec(Out out, const Config& config) {
  const IpsecConfig& ipsec = config.ipsec;
  fmt::format_to(out, "ipsec:\n");
  write_keys(out, ipsec_keys, ipsec, "  ");
  write_list(out, "  sas", ipsec.sas, [](const IpsecSaConfig& sa) { return to_string(sa); });
  write_list(out, "  policies", ipsec.policies,
             [](const IpsecPolicyConfig& policy) { return to_string(policy); });
}

void write_sflow(Out out, const Config& config) {
  fmt::format_to(out, "sflow: {}\n", flow_map(sflow_keys, config.sflow));
}
void write_ipfix(Out out, const Config& config) {
  fmt::format_to(out, "ipfix: {}\n", flow_map(ipfix_keys, config.ipfix));
}
void write_nat(Out out, const Config& config) {
  const NatConfig& nat = config.nat;
  if (nat.pools.empty() && nat.rules.empty()) {
    fmt::format_to(out, "nat: {{}}\n");
    return;
  }
  fmt::format_to(out, "nat:\n  pools:{}\n", nat.pools.empty() ? " {}" : "");
  for (const NatPoolConfig& pool : nat.pools) fmt::format_to(out, "    {}\n", to_string(pool));
  write_list(out, "  rules", nat.rules, [](const NatRuleConfig& rule) { return to_string(rule); });
}
void write_api(Out out, const Config& config) {
  fmt::format_to(out, "api: {}\n", flow_map(api_keys, config));
}

void write_log(Out out, const Config& config) {
  fmt::format_to(out, "log: {}\n", flow_map(log_keys, config));
}

void write_watchdog(Out out, const Config& config) {
  fmt::format_to(out, "watchdog: {}\n", flow_map(watchdog_keys, config));
}

struct Structure {
  std::string_view key;
  void (*write)(Out out, const Config& config);
};
constexpr Structure kStructures[] = {{"vrfs", write_vrfs},
                                     {"rules", write_rules},
                                     {"sets", write_sets},
                                     {"policers", write_policers},
                                     {"filters", write_filters},
                                     {"ports", write_ports},
                                     {"linux", write_linux},
                                     {"routes", write_routes},
                                     {"route_files", write_route_files},
                                     {"neighbors", write_neighbors},
                                     {"punt", write_punt},
                                     {"flows", write_flows},
                                     {"tables", write_tables},
                                     {"offload", write_offload},
                                     {"ipsec", write_ipsec},
                                     {"sflow", write_sflow},
                                     {"ipfix", write_ipfix},
                                     {"nat", write_nat},
                                     {"api", write_api},
                                     {"log", write_log},
                                     {"watchdog", write_watchdog}};

}  // namespace

std::string to_yaml(const Config& config) {
  std::string text;
  Out out(text);
  for (const Key<Config>& key : file_keys.keys) {
    if (const auto value = written(key, config)) fmt::format_to(out, "{}: {}\n", key.name, *value);
    for (const Structure& structure : kStructures)
      if (structure.key == key.name) structure.write(out, config);
  }
  return text;
}

}  // namespace hecto::config
