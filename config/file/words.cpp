#include "config/file/words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "config/file/keys.hpp"
#include "config/file/load_bond.hpp"

namespace hecto::config {

const char* to_string(MssClamp clamp) noexcept {
  return clamp == MssClamp::kAuto ? "auto" : "off";
}

const char* to_string(Ipv4Engine engine) noexcept {
  switch (engine) {
    case Ipv4Engine::kDirect:
      return "direct";
    case Ipv4Engine::kCompact:
      return "compact";
    case Ipv4Engine::kAuto:
      break;
  }
  return "auto";
}

const char* to_string(OffloadMode mode) noexcept {
  switch (mode) {
    case OffloadMode::kNever:
      return "never";
    case OffloadMode::kAlways:
      return "always";
    case OffloadMode::kAuto:
      break;
  }
  return "auto";
}

const char* to_string(SpreadMode mode) noexcept {
  switch (mode) {
    case SpreadMode::kAuto:
      return "auto";
    case SpreadMode::kAlways:
      return "always";
    case SpreadMode::kNever:
      break;
  }
  return "never";
}

const char* to_string(SflowFrom from) noexcept {
  return from == SflowFrom::kHost ? "host" : "router";
}

const char* to_string(IpfixRecords records) noexcept {
  return records == IpfixRecords::kFlowTable ? "flow_table" : "sampled";
}

const char* to_string(StuckWorker stuck_worker) noexcept {
  return stuck_worker == StuckWorker::kRestart ? "restart" : "report";
}

const char* to_string(BondMode mode) noexcept {
  switch (mode) {
    case BondMode::kActiveBackup:
      return "active-backup";
    case BondMode::kBalanceXor:
      return "balance-xor";
    case BondMode::kRoundRobin:
      return "round-robin";
    case BondMode::kLacp:
      break;
  }
  return "lacp";
}

const char* to_string(BondHash hash) noexcept {
  switch (hash) {
    case BondHash::kLayer2:
      return "layer2";
    case BondHash::kLayer23:
      return "layer2+3";
    case BondHash::kLayer34:
      break;
  }
  return "layer3+4";
}

const char* to_string(LacpRate rate) noexcept {
  return rate == LacpRate::kFast ? "fast" : "slow";
}

const char* to_string(TagProtocol protocol) noexcept {
  return protocol == TagProtocol::k8021ad ? "802.1ad" : "802.1q";
}

std::string interface_name(const std::string& port, const VlanConfig& vlan) {
  return vlan.outer == 0 ? fmt::format("{}.{}", port, vlan.id)
                         : fmt::format("{}.{}.{}", port, vlan.outer, vlan.id);
}

std::string members_text(const BondConfig& bond) {
  std::vector<std::string> devices;
  for (const BondMember& member : bond.members) devices.push_back(quoted(member.device));
  return fmt::format("[{}]", fmt::join(devices, ", "));
}

// Keys that the mode has none of are left out, as a file that has them is refused.
std::string bond_text(const PortConfig& port) {
  if (!port.bond) return {};
  const BondConfig& bond = *port.bond;
  std::string text = "{";
  for (const Key<BondConfig>& key : bond_keys.keys) {
    if (!belongs(key.name, bond.mode)) continue;
    const auto value = written(key, bond);
    if (value) text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", key.name, *value);
  }
  return text + "}";
}

std::string device_words(const PortConfig& port) {
  if (!port.bond) return port.device;
  std::vector<std::string> devices;
  for (const BondMember& member : port.bond->members) devices.push_back(member.device);
  return fmt::format("bond of {}", fmt::join(devices, ", "));
}

std::string to_string(const RouteConfig& route) {
  std::string out = fmt::format("{{to: {}", quoted(route.to.to_string()));
  if (route.type != RouteType::kUnicast) out += fmt::format(", type: {}", to_string(route.type));
  const auto plain = [](const NextHopConfig& hop) {
    return hop.interface.empty() && hop.weight == 1;
  };
  if (route.via.size() == 1 && plain(route.via[0])) {
    out += fmt::format(", via: {}", quoted(route.via[0].gateway.to_string()));
  } else if (!route.via.empty()) {
    std::vector<std::string> hops;
    for (const NextHopConfig& hop : route.via) {
      std::string text = fmt::format("{{gateway: {}", quoted(hop.gateway.to_string()));
      if (!hop.interface.empty()) text += fmt::format(", interface: {}", quoted(hop.interface));
      if (hop.weight != 1) text += fmt::format(", weight: {}", hop.weight);
      hops.push_back(text + "}");
    }
    out += fmt::format(", via: [{}]", fmt::join(hops, ", "));
  }
  if (route.metric != 0) out += fmt::format(", metric: {}", route.metric);
  if (!route.vrf.empty())
    out += fmt::format(", vrf: {}", quoted(route.vrf));
  else if (route.table != kMainTable)
    out += fmt::format(", table: {}", route.table);
  return out + "}";
}

std::string to_string(const NeighborConfig& neighbor) {
  return fmt::format("{{address: {}, interface: {}, mac: {}}}",
                     quoted(neighbor.address.to_string()), quoted(neighbor.interface),
                     quoted(to_string(neighbor.mac)));
}

std::string core_list(const std::vector<unsigned>& cores) {
  std::vector<std::string> parts;
  for (size_t i = 0; i < cores.size();) {
    size_t end = i;
    while (end + 1 < cores.size() && cores[end + 1] == cores[end] + 1) ++end;
    parts.push_back(end > i ? fmt::format("{}-{}", cores[i], cores[end])
                            : fmt::format("{}", cores[i]));
    i = end + 1;
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string workers_text(const std::map<int, std::vector<unsigned>>& workers) {
  if (workers.empty()) return "auto";
  std::vector<std::string> sockets;
  for (const auto& [socket, cores] : workers)
    sockets.push_back(fmt::format("{}: {}", socket, core_list(cores)));
  return fmt::format("{{{}}}", fmt::join(sockets, ", "));
}

std::string idle_text(const Config& config) {
  if (config.idle_by_core.empty()) return std::string(to_string(config.idle));
  std::vector<std::string> parts;
  for (auto each = config.idle_by_core.begin(); each != config.idle_by_core.end();) {
    const auto [first, mode] = *each;
    unsigned last = first;
    while (++each != config.idle_by_core.end() && each->first == last + 1 && each->second == mode)
      ++last;
    parts.push_back(last > first ? fmt::format("{}-{}: {}", first, last, to_string(mode))
                                 : fmt::format("{}: {}", first, to_string(mode)));
  }
  parts.push_back(fmt::format("others: {}", to_string(config.idle)));
  return fmt::format("{{{}}}", fmt::join(parts, ", "));
}

std::string to_string(const LinuxConfig& linux_side) {
  return linux_side.enabled ? flow_map(linux_keys, linux_side) : "off";
}

std::string mirror_text(const LinuxConfig& linux_side) {
  std::vector<const char*> parts;
  if (linux_side.mirror_addresses) parts.push_back("addresses");
  if (linux_side.mirror_routes) parts.push_back("routes");
  if (linux_side.mirror_neighbors) parts.push_back("neighbors");
  if (linux_side.mirror_ipsec) parts.push_back("ipsec");
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string offload_devices_text(const OffloadConfig& offload) {
  const std::string all = fmt::format("{}", fmt::join(offload.devices, ", "));
  return offload.devices.size() == 1 ? all : fmt::format("[{}]", all);
}

std::string addresses_text(const std::vector<IpPrefix>& addresses) {
  std::vector<std::string> parts;
  for (const IpPrefix& address : addresses) parts.push_back(quoted(address.to_string()));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string quoted(const std::string& text) {
  bool plain =
      !text.empty() && (std::isalnum(static_cast<unsigned char>(text[0])) != 0 || text[0] == '/');
  for (unsigned char c : text)
    plain = plain && (std::isalnum(c) != 0 || c == '.' || c == '/' || c == '_' || c == '-');
  for (const char* word : {"null", "off", "on", "auto", "true", "false"})
    plain = plain && text != word;
  if (plain) return text;
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace hecto::config
