#include "config/file/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "config/file/diff_filters.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_ports.hpp"

namespace hecto::config {
namespace {

using Lines = std::vector<std::string>;

void refuse(Lines& refused, std::string_view key, std::string_view running, std::string_view wanted,
            std::string_view remedy) {
  if (running == wanted) return;
  refused.push_back(
      fmt::format("{}: {} runs, {} is wanted, and this cannot change while running; "
                  "{}",
                  key, running, wanted, remedy));
}

constexpr std::string_view kRestartHectod = "restart hectod";

bool is_scalar(const auto& key, Change change) {
  return key.text != nullptr && key.compared && key.change == change;
}

// What of a section differs and cannot change while running. `path` stands before the keys.
template <typename S>
void refuse_keys(const Section<S>& section, const S& running, const S& wanted,
                 std::string_view path, std::string_view remedy, Lines& refused) {
  for (const Key<S>& key : section.keys)
    if (is_scalar(key, Change::kRestart))
      refuse(refused, fmt::format("{}.{}", path, key.name), shown(key, running), shown(key, wanted),
             remedy);
}
template <typename S>
void refuse_keys(const Section<S>& section, const S& running, const S& wanted, Lines& refused) {
  refuse_keys(section, running, wanted, section.path, kRestartHectod, refused);
}

// Another namespace alone is told by its own key.
void refuse_linux(const LinuxConfig& running, const LinuxConfig& wanted, Lines& refused) {
  LinuxConfig rest = wanted;
  if (running.enabled == wanted.enabled) {
    refuse_keys(linux_keys, running, wanted, refused);
    rest.name_space = running.name_space;
  }
  refuse(refused, "linux", to_string(running), to_string(rest), kRestartHectod);
}

void refuse_globals(const Config& running, const Config& wanted, Lines& refused) {
  for (const Key<Config>& key : file_keys.keys) {
    if (key.name == "linux")
      refuse_linux(running.linux_side, wanted.linux_side, refused);
    else if (key.name == "tables")
      refuse_keys(table_keys, running.tables, wanted.tables, refused);
    else if (key.name == "offload")
      refuse_keys(offload_keys, running.offload, wanted.offload, refused);
    else if (key.name == "ipsec")
      refuse_keys(ipsec_keys, running.ipsec, wanted.ipsec, refused);
    else if (key.name == "api")
      refuse_keys(api_keys, running, wanted, refused);
    else if (key.name == "log")
      refuse_keys(log_keys, running, wanted, refused);
    else if (is_scalar(key, Change::kRestart))
      refuse(refused, key.name, shown(key, running), shown(key, wanted), kRestartHectod);
  }
}

void refuse_port(const PortConfig& running, const PortConfig& wanted, Lines& refused) {
  refuse_keys(
      port_keys, running, wanted, "ports." + running.name,
      fmt::format("restart hectod, or reload once without {} and then with it", running.name),
      refused);
}

// "mtu 1500 -> 9000, counters false -> true": what differs between two ports or VLANs.
class Changes {
 public:
  void add(std::string_view key, const std::string& before, const std::string& after) {
    if (before == after) return;
    text_ += fmt::format("{}{} {} -> {}", text_.empty() ? "" : ", ", key, before, after);
  }
  // Those that `hecto reload` applies.
  template <typename S>
  void add_keys(const Section<S>& section, const S& before, const S& after) {
    for (const Key<S>& key : section.keys)
      if (is_scalar(key, Change::kReload)) add(key.name, shown(key, before), shown(key, after));
  }
  void add_word(const std::string& word) {
    text_ += fmt::format("{}{}", text_.empty() ? "" : ", ", word);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

void compare_addresses(const std::vector<IpPrefix>& before, const std::vector<IpPrefix>& after,
                       Changes& changes) {
  std::set<IpPrefix> old_set(before.begin(), before.end()), new_set(after.begin(), after.end());
  for (const IpPrefix& address : before)
    if (!new_set.contains(address)) changes.add_word("- address " + address.to_string());
  for (const IpPrefix& address : after)
    if (!old_set.contains(address)) changes.add_word("+ address " + address.to_string());
  if (old_set == new_set && before != after) changes.add_word("order of addresses");
}

std::string vlan_changes(const VlanConfig& before, const VlanConfig& after) {
  Changes changes;
  changes.add_keys(after.outer == 0 ? vlan_keys : inner_vlan_keys, before, after);
  compare_addresses(before.addresses, after.addresses, changes);
  return changes.text();
}

void compare_ports(const PortConfig& before, const PortConfig& after, Lines& lines) {
  Changes changes;
  changes.add_keys(port_keys, before, after);
  compare_addresses(before.addresses, after.addresses, changes);
  if (!changes.text().empty())
    lines.push_back(fmt::format("~ port {}: {}", before.name, changes.text()));

  const auto key = [](const VlanConfig& vlan) { return std::pair(vlan.outer, vlan.id); };
  std::map<std::pair<uint16_t, uint16_t>, const VlanConfig*> old_vlans;
  for (const VlanConfig& vlan : before.vlans) old_vlans[key(vlan)] = &vlan;
  for (const VlanConfig& vlan : after.vlans) {
    const std::string name = interface_name(after.name, vlan);
    auto found = old_vlans.find(key(vlan));
    if (found == old_vlans.end()) {
      lines.push_back("+ vlan " + name);
      continue;
    }
    std::string text = vlan_changes(*found->second, vlan);
    if (!text.empty()) lines.push_back(fmt::format("~ vlan {}: {}", name, text));
    old_vlans.erase(found);
  }
  for (const auto& [id, vlan] : old_vlans)
    lines.push_back("- vlan " + interface_name(before.name, *vlan));
}

void diff_ports(const Config& running, const Config& wanted, Difference& out, Lines& refused) {
  std::map<std::string, const PortConfig*> old_ports;
  for (const PortConfig& port : running.ports) old_ports[port.name] = &port;
  for (const PortConfig& port : wanted.ports) {
    auto found = old_ports.find(port.name);
    if (found == old_ports.end()) {
      out.ports_added.push_back(port);
      continue;
    }
    const PortConfig& before = *found->second;
    old_ports.erase(found);
    if (before == port) continue;
    refuse_port(before, port, refused);
    out.ports_changed.push_back(port);
    compare_ports(before, port, out.lines);
  }
  Lines lines;
  for (const auto& [name, port] : old_ports) {
    out.ports_removed.push_back(name);
    lines.push_back("- port " + name);
  }
  for (const PortConfig& port : out.ports_added) {
    lines.push_back("+ port " + port.name);
    for (const auto& [name, removed] : old_ports)
      for (const std::string& device : devices_of(port))
        if (const auto held = devices_of(*removed);
            std::find(held.begin(), held.end(), device) != held.end())
          refused.push_back(
              fmt::format("ports.{}.{}: {} is held by port {}, and a port cannot be renamed while "
                          "running; reload once without it",
                          port.name, port.bond ? "bond" : "device", device, name));
  }
  out.lines.insert(out.lines.begin(), lines.begin(), lines.end());
}

// Items of `before` that `after` lacks and the other way round, by value.
template <typename T, typename Key, typename Text>
void diff_list(const std::vector<T>& before, const std::vector<T>& after, Key key, Text text,
               std::vector<T>& added, std::vector<T>& removed, Lines& lines) {
  using Sorted = std::map<decltype(key(before[0])), const T*>;
  Sorted old_items, new_items;
  for (const T& item : before) old_items[key(item)] = &item;
  for (const T& item : after) new_items[key(item)] = &item;
  auto lacks = [](const Sorted& items, const auto& entry) {
    auto found = items.find(entry.first);
    return found == items.end() || !(*found->second == *entry.second);
  };
  for (const auto& entry : old_items) {
    if (!lacks(new_items, entry)) continue;
    removed.push_back(*entry.second);
    lines.push_back("- " + text(*entry.second));
  }
  for (const auto& entry : new_items) {
    if (!lacks(old_items, entry)) continue;
    added.push_back(*entry.second);
    lines.push_back("+ " + text(*entry.second));
  }
}

std::string punt_text(const std::map<std::string, uint32_t>& rates, const std::string& reason) {
  auto found = rates.find(reason);
  return found == rates.end() ? "default" : fmt::format("{}pps", found->second);
}

// `kind`: what stands before the name.
void diff_rates(std::string_view kind, const std::map<std::string, uint32_t>& running,
                const std::map<std::string, uint32_t>& wanted, Difference& out) {
  if (running == wanted) return;
  out.punt_changed = true;
  std::set<std::string> names;
  for (const auto& [name, pps] : running) names.insert(name);
  for (const auto& [name, pps] : wanted) names.insert(name);
  for (const std::string& name : names) {
    std::string before = punt_text(running, name);
    std::string after = punt_text(wanted, name);
    if (before != after)
      out.lines.push_back(fmt::format("~ {} {}: {} -> {}", kind, name, before, after));
  }
}

void diff_punt(const Config& running, const Config& wanted, Difference& out) {
  diff_rates("punt", running.punt_pps, wanted.punt_pps, out);
  diff_rates("punt class", running.punt_class_pps, wanted.punt_class_pps, out);
  if (running.punt_peers == wanted.punt_peers) return;
  out.punt_changed = true;
  out.lines.push_back(
      fmt::format("~ punt peers: {} -> {}", running.punt_peers.size(), wanted.punt_peers.size()));
}

void diff_flows(const FlowsConfig& running, const FlowsConfig& wanted, Lines& lines) {
  Changes changes;
  changes.add_keys(flow_keys, running, wanted);
  if (!changes.text().empty()) lines.push_back("~ flows: " + changes.text());
}

// In the order in which packets meet them.
void diff_rules(const Config& running, const Config& wanted, Difference& out) {
  std::vector<RuleConfig> rules_added, rules_removed;
  diff_list(
      running.rules, wanted.rules,
      [](const RuleConfig& rule) { return std::pair(rule.priority, to_string(rule)); },
      [](const RuleConfig& rule) { return "rule " + to_string(rule); }, rules_added, rules_removed,
      out.lines);
}

void diff_vrfs(const Config& running, const Config& wanted, Difference& out) {
  std::vector<VrfConfig> vrfs_added, vrfs_removed;
  diff_list(
      running.vrfs, wanted.vrfs, [](const VrfConfig& vrf) { return vrf.name; },
      [](const VrfConfig& vrf) { return "vrf " + to_string(vrf); }, vrfs_added, vrfs_removed,
      out.lines);
}

void diff_nat(const Config& running, const Config& wanted, Difference& out) {
  std::vector<NatPoolConfig> pools_added, pools_removed;
  diff_list(
      running.nat.pools, wanted.nat.pools, [](const NatPoolConfig& pool) { return pool.name; },
      [](const NatPoolConfig& pool) { return "nat pool " + to_string(pool); }, pools_added,
      pools_removed, out.lines);
  std::vector<NatRuleConfig> rules_added, rules_removed;
  diff_list(
      running.nat.rules, wanted.nat.rules,
      [](const NatRuleConfig& rule) { return std::tuple(rule.out, rule.inside); },
      [](const NatRuleConfig& rule) { return "nat rule " + to_string(rule); }, rules_added,
      rules_removed, out.lines);
  out.nat_changed = !(running.nat == wanted.nat);
}

void diff_scalars(const Config& running, const Config& wanted, Lines& lines) {
  auto compare_in = [&](const auto& key, const auto& was, const auto& is, const std::string& name) {
    if (!is_scalar(key, Change::kReload)) return;
    const std::string before = shown(key, was), after = shown(key, is);
    if (before != after) lines.push_back(fmt::format("~ {}: {} -> {}", name, before, after));
  };
  auto compare = [&](const Key<Config>& key, const std::string& name) {
    compare_in(key, running, wanted, name);
  };
  for (const Key<Config>& key : file_keys.keys) compare(key, std::string(key.name));
  if (running.api_http_token_file == wanted.api_http_token_file &&
      running.api_http_token != wanted.api_http_token)
    lines.emplace_back("~ api.http_token_file: another token");
  for (const Key<SflowConfig>& key : sflow_keys.keys)
    compare_in(key, running.sflow, wanted.sflow, fmt::format("sflow.{}", key.name));
  for (const Key<IpfixConfig>& key : ipfix_keys.keys)
    compare_in(key, running.ipfix, wanted.ipfix, fmt::format("ipfix.{}", key.name));
  for (const Section<Config>& section : {api_keys, log_keys, watchdog_keys})
    for (const Key<Config>& key : section.keys)
      compare(key, fmt::format("{}.{}", section.path, key.name));
}

}  // namespace

tl::expected<Difference, std::vector<std::string>> diff(const Config& running,
                                                        const Config& wanted) {
  Difference out;
  Lines refused;
  refuse_globals(running, wanted, refused);
  diff_vrfs(running, wanted, out);
  diff_ports(running, wanted, out, refused);
  diff_list(
      running.routes, wanted.routes,
      [](const RouteConfig& r) { return std::tuple(r.table, r.to, r.metric); },
      [](const RouteConfig& r) { return "route " + to_string(r); }, out.routes_added,
      out.routes_removed, out.lines);
  diff_list(
      running.neighbors, wanted.neighbors,
      [](const NeighborConfig& n) { return std::pair(n.interface, n.address); },
      [](const NeighborConfig& n) { return "neighbor " + to_string(n); }, out.neighbors_added,
      out.neighbors_removed, out.lines);
  diff_rules(running, wanted, out);
  out.filters_changed = running.filters != wanted.filters;
  if (out.filters_changed) diff_filters(running.filters, wanted.filters, out.lines);
  out.rules_changed = running.vrfs != wanted.vrfs || running.rules != wanted.rules;
  diff_list(
      running.route_files, wanted.route_files, [](const std::string& f) { return f; },
      [](const std::string& f) { return "route_file " + f; }, out.route_files_added,
      out.route_files_removed, out.lines);
  diff_list(
      running.ipsec.sas, wanted.ipsec.sas, [](const IpsecSaConfig& sa) { return key_of(sa); },
      [](const IpsecSaConfig& sa) { return "ipsec sa " + to_string(sa); }, out.ipsec_sas_added,
      out.ipsec_sas_removed, out.lines);
  diff_list(
      running.ipsec.policies, wanted.ipsec.policies,
      [](const IpsecPolicyConfig& policy) { return key_of(policy); },
      [](const IpsecPolicyConfig& policy) { return "ipsec policy " + to_string(policy); },
      out.ipsec_policies_added, out.ipsec_policies_removed, out.lines);
  diff_nat(running, wanted, out);
  diff_punt(running, wanted, out);
  diff_flows(running.flows, wanted.flows, out.lines);
  diff_scalars(running, wanted, out.lines);
  out.idle_changed = running.idle != wanted.idle || running.idle_by_core != wanted.idle_by_core ||
                     running.idle_sleep_us != wanted.idle_sleep_us;
  out.burst_changed = running.burst != wanted.burst;
  out.log_level_changed = running.log_level != wanted.log_level;
  if (!refused.empty()) return tl::unexpected(std::move(refused));
  return out;
}

}  // namespace hecto::config
