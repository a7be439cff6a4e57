#include <fmt/format.h>

#include <iterator>

#include "config/file/load.hpp"
#include "config/file/words.hpp"

namespace hecto::config {
namespace {

using Out = std::back_insert_iterator<std::string>;

void write_vlan(Out out, const VlanConfig& vlan) {
  fmt::format_to(out, "      {}: {{addresses: {}", vlan.id, addresses_text(vlan.addresses));
  if (vlan.mtu) fmt::format_to(out, ", mtu: {}", *vlan.mtu);
  fmt::format_to(out, ", urpf: {}}}\n", to_string(vlan.urpf));
}

void write_port(Out out, const PortConfig& port) {
  fmt::format_to(out, "  {}:\n    device: {}\n    mtu: {}\n    addresses: {}\n", quoted(port.name),
                 quoted(port.device), port.mtu, addresses_text(port.addresses));
  fmt::format_to(out, "    queues: {}\n",
                 port.rx_queues ? std::to_string(*port.rx_queues) : std::string("auto"));
  fmt::format_to(out, "    rx_descriptors: {}\n    tx_descriptors: {}\n", port.rx_descriptors,
                 port.tx_descriptors);
  if (port.mac) fmt::format_to(out, "    mac: {}\n", quoted(to_string(*port.mac)));
  fmt::format_to(out, "    promiscuous: {}\n    urpf: {}\n    counters: {}\n", port.promiscuous,
                 to_string(port.urpf), port.counters);
  if (port.vlans.empty()) return;
  fmt::format_to(out, "    vlans:\n");
  for (const VlanConfig& vlan : port.vlans) write_vlan(out, vlan);
}

template <typename Items, typename Text>
void write_list(Out out, const char* key, const Items& items, Text text) {
  if (items.empty()) {
    fmt::format_to(out, "{}: []\n", key);
    return;
  }
  fmt::format_to(out, "{}:\n", key);
  for (const auto& item : items) fmt::format_to(out, "  - {}\n", text(item));
}

void write_ipsec(Out out, const IpsecConfig& ipsec) {
  fmt::format_to(out,
                 "ipsec:\n  crypto: {}\n  nic: {}\n  max_sas: {}\n  max_policies: {}\n"
                 "  export_keys: {}\n",
                 to_string(ipsec.crypto), to_string(ipsec.nic), ipsec.max_sas, ipsec.max_policies,
                 ipsec.export_keys);
  write_list(out, "  sas", ipsec.sas, [](const IpsecSaConfig& sa) { return to_string(sa); });
  write_list(out, "  policies", ipsec.policies,
             [](const IpsecPolicyConfig& policy) { return to_string(policy); });
}

std::string bytes_or_auto(const std::optional<uint64_t>& bytes) {
  return bytes ? std::to_string(*bytes) : "auto";
}

}  // namespace

std::string to_yaml(const Config& config) {
  std::string text;
  Out out(text);
  fmt::format_to(out, "workers: {}\n", workers_text(config.workers));
  fmt::format_to(out, "control_core: {}\n",
                 config.control_core ? std::to_string(*config.control_core) : "auto");
  fmt::format_to(out, "idle: {}\nidle_sleep_us: {}\nburst: {}\nports:\n", to_string(config.idle),
                 config.idle_sleep_us, config.burst);
  for (const PortConfig& port : config.ports) write_port(out, port);
  fmt::format_to(out, "linux: {}\n", linux_text(config.linux_side));
  write_list(out, "routes", config.routes, [](const RouteConfig& r) { return to_string(r); });
  write_list(out, "route_files", config.route_files, quoted);
  write_list(out, "neighbors", config.neighbors,
             [](const NeighborConfig& n) { return to_string(n); });
  if (config.punt_pps.empty())
    fmt::format_to(out, "punt: {{}}\n");
  else
    fmt::format_to(out, "punt:\n");
  for (const auto& [reason, pps] : config.punt_pps)
    fmt::format_to(out, "  {}: {}pps\n", quoted(reason), pps);
  fmt::format_to(out, "spare_mbufs: {}\n", config.spare_mbufs);
  fmt::format_to(out, "tables: {{ipv4_engine: {}, memory: {}, groups: {}}}\n",
                 to_string(config.tables.ipv4_engine), bytes_or_auto(config.tables.memory_bytes),
                 config.tables.groups);
  fmt::format_to(out, "offload: {}\n", offload_text(config.offload));
  write_ipsec(out, config.ipsec);
  fmt::format_to(out, "memory: {}\n", bytes_or_auto(config.memory_bytes));
  fmt::format_to(out, "api: {{socket: {}}}\n", quoted(config.api_socket));
  fmt::format_to(out, "log: {{level: {}}}\n", config.log_level);
  return text;
}

}  // namespace hecto::config
