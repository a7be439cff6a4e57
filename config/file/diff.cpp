#include "config/file/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "config/file/words.hpp"

namespace hecto::config {
namespace {

using Lines = std::vector<std::string>;

template <typename T>
std::string text_of(T value) {
  return fmt::format("{}", value);
}
template <typename T>
std::string text_or(const std::optional<T>& value, const char* otherwise) {
  return value ? std::to_string(*value) : otherwise;
}

void refuse(Lines& refused, std::string_view key, std::string_view running, std::string_view wanted,
            std::string_view remedy) {
  if (running == wanted) return;
  refused.push_back(
      fmt::format("{}: {} runs, {} is wanted, and this cannot change while running; "
                  "{}",
                  key, running, wanted, remedy));
}

void refuse_globals(const Config& running, const Config& wanted, Lines& refused) {
  constexpr std::string_view kRestart = "restart hectod";
  auto check = [&](std::string_view key, std::string_view now, std::string_view then) {
    refuse(refused, key, now, then, kRestart);
  };
  const LinuxConfig& a = running.linux_side;
  const LinuxConfig& b = wanted.linux_side;
  check("workers", workers_text(running.workers), workers_text(wanted.workers));
  check("control_core", text_or(running.control_core, "auto"),
        text_or(wanted.control_core, "auto"));
  if (a.enabled != b.enabled || a.name_space == b.name_space)
    check("linux", linux_text(a), linux_text(b));
  else
    check("linux.namespace", a.name_space, b.name_space);
  if (a.enabled && b.enabled && a.name_space != b.name_space) {
    LinuxConfig same_name = b;
    same_name.name_space = a.name_space;
    check("linux", linux_text(a), linux_text(same_name));
  }
  check("spare_mbufs", text_of(running.spare_mbufs), text_of(wanted.spare_mbufs));
  check("tables.ipv4_engine", to_string(running.tables.ipv4_engine),
        to_string(wanted.tables.ipv4_engine));
  check("tables.memory", text_or(running.tables.memory_bytes, "auto"),
        text_or(wanted.tables.memory_bytes, "auto"));
  check("tables.groups", text_of(running.tables.groups), text_of(wanted.tables.groups));
  const OffloadConfig& c = running.offload;
  const OffloadConfig& d = wanted.offload;
  check("offload.device", offload_devices_text(c), offload_devices_text(d));
  check("offload.lookup", to_string(c.lookup), to_string(d.lookup));
  check("offload.ipsec", to_string(c.ipsec), to_string(d.ipsec));
  check("offload.shader", text_of(c.shader), text_of(d.shader));
  check("offload.latency_bound_us", text_of(c.latency_bound_us), text_of(d.latency_bound_us));
  check("offload.deadline_us", text_of(c.deadline_us), text_of(d.deadline_us));
  check("offload.batch", text_of(c.batch), text_of(d.batch));
  check("ipsec.crypto", to_string(running.ipsec.crypto), to_string(wanted.ipsec.crypto));
  check("ipsec.nic", to_string(running.ipsec.nic), to_string(wanted.ipsec.nic));
  check("ipsec.max_sas", text_of(running.ipsec.max_sas), text_of(wanted.ipsec.max_sas));
  check("ipsec.max_policies", text_of(running.ipsec.max_policies),
        text_of(wanted.ipsec.max_policies));
  check("ipsec.export_keys", text_of(running.ipsec.export_keys), text_of(wanted.ipsec.export_keys));
  check("memory", text_or(running.memory_bytes, "auto"), text_or(wanted.memory_bytes, "auto"));
  check("api.socket", running.api_socket, wanted.api_socket);
}

void refuse_port(const PortConfig& running, const PortConfig& wanted, Lines& refused) {
  const std::string remedy =
      fmt::format("restart hectod, or reload once without {} and then with it", running.name);
  auto check = [&](std::string_view key, std::string_view now, std::string_view then) {
    refuse(refused, fmt::format("ports.{}.{}", running.name, key), now, then, remedy);
  };
  auto mac = [](const PortConfig& port) {
    return port.mac ? to_string(*port.mac) : std::string("the device's");
  };
  check("device", running.device, wanted.device);
  check("queues", text_or(running.rx_queues, "auto"), text_or(wanted.rx_queues, "auto"));
  check("rx_descriptors", text_of(running.rx_descriptors), text_of(wanted.rx_descriptors));
  check("tx_descriptors", text_of(running.tx_descriptors), text_of(wanted.tx_descriptors));
  check("mac", mac(running), mac(wanted));
}

// "mtu 1500 -> 9000, counters false -> true": what differs between two ports or VLANs.
class Changes {
 public:
  void add(std::string_view key, const std::string& before, const std::string& after) {
    if (before == after) return;
    text_ += fmt::format("{}{} {} -> {}", text_.empty() ? "" : ", ", key, before, after);
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
  changes.add("mtu", text_or(before.mtu, "the port's"), text_or(after.mtu, "the port's"));
  changes.add("urpf", std::string(to_string(before.urpf)), std::string(to_string(after.urpf)));
  compare_addresses(before.addresses, after.addresses, changes);
  return changes.text();
}

void compare_ports(const PortConfig& before, const PortConfig& after, Lines& lines) {
  Changes changes;
  changes.add("mtu", text_of(before.mtu), text_of(after.mtu));
  changes.add("promiscuous", text_of(before.promiscuous), text_of(after.promiscuous));
  changes.add("urpf", std::string(to_string(before.urpf)), std::string(to_string(after.urpf)));
  changes.add("counters", text_of(before.counters), text_of(after.counters));
  compare_addresses(before.addresses, after.addresses, changes);
  if (!changes.text().empty())
    lines.push_back(fmt::format("~ port {}: {}", before.name, changes.text()));

  std::map<uint16_t, const VlanConfig*> old_vlans;
  for (const VlanConfig& vlan : before.vlans) old_vlans[vlan.id] = &vlan;
  for (const VlanConfig& vlan : after.vlans) {
    auto found = old_vlans.find(vlan.id);
    if (found == old_vlans.end()) {
      lines.push_back(fmt::format("+ vlan {}.{}", after.name, vlan.id));
      continue;
    }
    std::string text = vlan_changes(*found->second, vlan);
    if (!text.empty()) lines.push_back(fmt::format("~ vlan {}.{}: {}", after.name, vlan.id, text));
    old_vlans.erase(found);
  }
  for (const auto& [id, vlan] : old_vlans)
    lines.push_back(fmt::format("- vlan {}.{}", before.name, id));
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
      if (removed->device == port.device)
        refused.push_back(
            fmt::format("ports.{}.device: {} is held by port {}, and a port cannot be renamed "
                        "while running; reload once without it",
                        port.name, port.device, name));
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

void diff_punt(const Config& running, const Config& wanted, Difference& out) {
  if (running.punt_pps == wanted.punt_pps) return;
  out.punt_changed = true;
  std::set<std::string> reasons;
  for (const auto& [reason, pps] : running.punt_pps) reasons.insert(reason);
  for (const auto& [reason, pps] : wanted.punt_pps) reasons.insert(reason);
  for (const std::string& reason : reasons) {
    std::string before = punt_text(running.punt_pps, reason);
    std::string after = punt_text(wanted.punt_pps, reason);
    if (before != after)
      out.lines.push_back(fmt::format("~ punt {}: {} -> {}", reason, before, after));
  }
}

void diff_scalars(const Config& running, const Config& wanted, Difference& out) {
  auto compare = [&](std::string_view key, const std::string& before, const std::string& after) {
    if (before == after) return false;
    out.lines.push_back(fmt::format("~ {}: {} -> {}", key, before, after));
    return true;
  };
  out.idle_changed |= compare("idle", to_string(running.idle), to_string(wanted.idle));
  out.idle_changed |=
      compare("idle_sleep_us", text_of(running.idle_sleep_us), text_of(wanted.idle_sleep_us));
  out.burst_changed = compare("burst", text_of(running.burst), text_of(wanted.burst));
  out.log_level_changed = compare("log.level", running.log_level, wanted.log_level);
}

}  // namespace

tl::expected<Difference, std::vector<std::string>> diff(const Config& running,
                                                        const Config& wanted) {
  Difference out;
  Lines refused;
  refuse_globals(running, wanted, refused);
  diff_ports(running, wanted, out, refused);
  diff_list(
      running.routes, wanted.routes, [](const RouteConfig& r) { return std::pair(r.to, r.metric); },
      [](const RouteConfig& r) { return "route " + to_string(r); }, out.routes_added,
      out.routes_removed, out.lines);
  diff_list(
      running.neighbors, wanted.neighbors,
      [](const NeighborConfig& n) { return std::pair(n.interface, n.address); },
      [](const NeighborConfig& n) { return "neighbor " + to_string(n); }, out.neighbors_added,
      out.neighbors_removed, out.lines);
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
  diff_punt(running, wanted, out);
  diff_scalars(running, wanted, out);
  if (!refused.empty()) return tl::unexpected(std::move(refused));
  return out;
}

}  // namespace hecto::config
