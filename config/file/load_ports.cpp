#include "config/file/load_ports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "config/file/addresses.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_bond.hpp"
#include "config/file/load_rules.hpp"

namespace hecto::config {
namespace {

constexpr size_t kMaxInterfaceName = 15;  // IFNAMSIZ less its final 0
constexpr size_t kVlanSuffix = 5;         // ".4094"
constexpr uint16_t kMinMtuIpv6 = 1280;    // RFC 8200 §5

bool is_hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isxdigit(c) != 0; });
}

// "17:00.0" or "0000:17:00.0": the full form in lower case, or nothing.
std::optional<std::string> pci_address(std::string_view text) {
  std::string full = text.size() == 7 ? fmt::format("0000:{}", text) : std::string(text);
  if (full.size() != 12 || full[4] != ':' || full[7] != ':' || full[10] != '.') return std::nullopt;
  std::string_view view = full;
  if (!is_hex(view.substr(0, 4)) || !is_hex(view.substr(5, 2)) || !is_hex(view.substr(8, 2)) ||
      full[11] < '0' || full[11] > '7')
    return std::nullopt;
  std::transform(full.begin(), full.end(), full.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return full;
}

// What Linux takes as an interface's name (dev_valid_name), less the characters that shells and
// our own error lines stumble over.
bool is_interface_name(std::string_view name) {
  if (name.empty() || name.size() > kMaxInterfaceName || name == "." || name == "..") return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

bool check_port_name(const Value::Entry& entry, bool has_vlans) {
  const std::string& name = entry.key;
  if (name.size() > kMaxInterfaceName) {
    entry.value.complain(
        fmt::format("a name of {} characters; use at most {}", name.size(), kMaxInterfaceName));
  } else if (!is_interface_name(name) || name.find('.') != std::string::npos ||
             std::isalpha(static_cast<unsigned char>(name[0])) == 0) {
    entry.value.complain("not a port's name; use letters, digits, - and _, a letter first");
  } else if (name == "lo" || name == "all" || name == "default") {
    entry.value.complain("a name that Linux keeps for itself; use another");
  } else if (has_vlans && name.size() > kMaxInterfaceName - kVlanSuffix) {
    entry.value.complain(
        fmt::format("a name of {} characters; with vlans use at most {}, so that "
                    "{}.4094 is an interface's name",
                    name.size(), kMaxInterfaceName - kVlanSuffix, name));
  } else {
    return true;
  }
  return false;
}

}  // namespace

void read_device(const Value& value, PortConfig& port) {
  const Range& right = port_keys["device"].range;
  auto text = value.text(right.words);
  if (!text) return;
  if (auto pci = pci_address(*text)) {
    port.kind = DeviceKind::kPci;
    port.device = *pci;
  } else if (text->starts_with("net_") || text->starts_with("eth_")) {
    if (text->size() > right.high || text->find_first_of(" \t\n\r") != std::string::npos)
      value.refuse("is not a DPDK vdev; use NAME,KEY=VALUE,... without blanks");
    port.kind = DeviceKind::kVdev;
    port.device = *text;
  } else if (is_interface_name(*text)) {
    port.kind = DeviceKind::kKernel;
    port.device = *text;
  } else {
    value.refuse(
        "is no device; use a PCI address (0000:17:00.0), a DPDK vdev (net_memif0,...) or a "
        "kernel interface (eth1)");
  }
}

// A vdev is named by what comes before its first comma.
std::vector<std::string> devices_of(const PortConfig& port) {
  std::vector<std::string> devices;
  if (!port.device.empty()) devices.push_back(port.device.substr(0, port.device.find(',')));
  if (port.bond)
    for (const BondMember& member : port.bond->members) devices.push_back(member.device);
  return devices;
}

namespace {

// Of a port or a VLAN.
template <typename S>
void read_own_vrf(const Value& value, S& section, Loading& loading) {
  const VrfConfig* vrf = read_vrf(value, loading);
  if (vrf == nullptr) return;
  section.vrf = vrf->name;
  section.vrf_table = vrf->table;
}

void read_addresses(const Value& value, const std::string& interface, uint32_t vrf_table,
                    std::vector<IpPrefix>& addresses, Loading& loading) {
  for (const Value& item : value.items("a list of addresses, as [192.0.2.1/24]")) {
    auto address = read_interface_address(item);
    if (!address) continue;
    addresses.push_back(*address);
    loading.addresses.push_back({interface, *address, vrf_table, item});
  }
}

bool has_ipv6(const std::vector<IpPrefix>& addresses) {
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const IpPrefix& a) { return a.address.family == lookup::Family::kIpv6; });
}

void check_ipv6_mtu(const Value& where, const Value* mtu, uint16_t bytes,
                    const std::vector<IpPrefix>& addresses) {
  const auto& [low, high, words] = port_keys["mtu"].range;
  if (bytes >= kMinMtuIpv6 || bytes < low || !has_ipv6(addresses)) return;
  (mtu != nullptr ? *mtu : where)
      .complain(fmt::format("{} with IPv6 addresses; use {} to {} (RFC 8200 §5), or take them out",
                            bytes, kMinMtuIpv6, high));
}

void read_vlans(const Value& value, PortConfig& port, const VlanConfig* outer, Loading& loading);

// The keys of a VLAN, and the VLANs within it.
void read_vlan(const Value& value, PortConfig& port, VlanConfig& vlan, uint16_t most_mtu,
               Loading& loading) {
  const Section<VlanConfig>& keys = vlan.outer == 0 ? vlan_keys : inner_vlan_keys;
  Fields fields(value, vlan_keys.names, "a map, as {addresses: [192.0.2.1/24]}");
  const Value* mtu = fields.get("mtu");
  read_integer(mtu, keys["mtu"].range.low, most_mtu, vlan.mtu);
  read_keys(fields, keys, vlan,
            {{"vrf", [&](const Value& name) { read_own_vrf(name, vlan, loading); }},
             {"addresses",
              [&](const Value& list) {
                read_addresses(list, interface_name(port.name, vlan), vlan.vrf_table,
                               vlan.addresses, loading);
              }},
             {"mtu", {}}});
  check_ipv6_mtu(value, mtu, vlan.mtu.value_or(port.mtu), vlan.addresses);
  const Value *inner = fields.get("vlans"), *protocol = fields.get("protocol");
  if (vlan.outer != 0 && protocol != nullptr)
    protocol->complain("of a tag within another, which is one of 802.1Q; leave it out");
  if (inner == nullptr || inner->kind() == NodeKind::kNull) return;
  constexpr size_t kMostName = kMaxInterfaceName - 2 * kVlanSuffix;
  if (vlan.outer != 0)
    inner->complain("a third tag; two are the most");
  else if (port.name.size() > kMostName)
    inner->complain(
        fmt::format("within a VLAN of a port whose name has {} characters; use at most {}, so that "
                    "{}.4094.4094 is an interface's name",
                    port.name.size(), kMostName, port.name));
  else
    read_vlans(*inner, port, &vlan, loading);
}

// Of the port, or of a VLAN of it.
void read_vlans(const Value& value, PortConfig& port, const VlanConfig* outer, Loading& loading) {
  const auto& [lowest, highest, words] = port_keys["vlans"].range;
  for (const Value::Entry& entry :
       value.entries("sub-interfaces by VLAN id, as {100: {addresses: [192.0.2.1/24]}}", highest)) {
    auto id = parse_decimal(entry.key);
    // 0 and 4095 are reserved (IEEE 802.1Q-2018 table 9-2).
    if (!id || *id < lowest || *id > highest || entry.key[0] == '0') {
      entry.value.complain("not a VLAN id; use 1 to 4094");
      continue;
    }
    VlanConfig vlan;
    vlan.id = static_cast<uint16_t>(*id);
    if (outer != nullptr) {
      vlan.outer = outer->id;
      vlan.protocol = outer->protocol;
      vlan.mtu = outer->mtu;
    }
    const uint16_t most_mtu = vlan.mtu.value_or(port.mtu);
    if (entry.value.kind() != NodeKind::kNull)
      read_vlan(entry.value, port, vlan, most_mtu, loading);
    port.vlans.push_back(std::move(vlan));
  }
}

void load_port(const Value::Entry& entry, Loading& loading) {
  PortConfig port;
  port.name = entry.key;
  Fields fields(entry.value, port_keys.names,
                "a map, as {device: eth1, addresses: [192.0.2.1/24]}");
  const Value* vlans = fields.get("vlans");
  if (vlans != nullptr && vlans->kind() == NodeKind::kNull) vlans = nullptr;
  if (!check_port_name(entry, vlans != nullptr)) return;
  const Value *device = fields.get("device"), *bond = fields.get("bond");
  if (device != nullptr && bond != nullptr)
    bond->complain("stands beside device; use one of them");
  else if (bond == nullptr)
    (void)fields.need("device", "a PCI address, vdev or kernel interface");
  auto read_own_addresses = [&](const Value& list) {
    read_addresses(list, port.name, port.vrf_table, port.addresses, loading);
    check_ipv6_mtu(entry.value, fields.get("mtu"), port.mtu, port.addresses);
  };
  read_keys(fields, port_keys, port,
            {{"device",
              [&](const Value& device) {
                read_device(device, port);
                if (!loading.limits.device) return;
                if (const auto why_not = loading.limits.device(port.device); !why_not.empty())
                  device.refuse(why_not);
              }},
             {"bond", [&](const Value& members) { read_bond(members, port); }},
             {"vrf", [&](const Value& name) { read_own_vrf(name, port, loading); }},
             {"addresses", read_own_addresses},
             {"vlans", [&](const Value&) {
                if (vlans != nullptr) read_vlans(*vlans, port, nullptr, loading);
              }}});
  std::sort(port.vlans.begin(), port.vlans.end(), [](const VlanConfig& a, const VlanConfig& b) {
    return std::pair(a.outer, a.id) < std::pair(b.outer, b.id);
  });
  loading.config.ports.push_back(std::move(port));
}

}  // namespace

void load_ports(const Value& value, Loading& loading) {
  auto entries =
      value.entries("ports by name, as {wan0: {device: eth1}}", file_keys["ports"].range.high);
  if (entries.empty() && value.kind() == NodeKind::kMap && loading.report.empty())
    value.complain("no port; name at least one, as wan0: {device: eth1}");
  std::map<std::string, std::string> by_device;
  for (const Value::Entry& entry : entries) {
    size_t before = loading.config.ports.size();
    load_port(entry, loading);
    if (loading.config.ports.size() == before) continue;
    const PortConfig& port = loading.config.ports.back();
    for (const VrfConfig& vrf : loading.config.vrfs)
      if (vrf.name == port.name)
        entry.value.complain("a name that a VRF of this file has; use another");
    for (const std::string& device : devices_of(port)) {
      auto [other, fresh] = by_device.emplace(device, port.name);
      if (!fresh && other->second != port.name)
        entry.value.complain(
            fmt::format("device {} is already port {}; name another", device, other->second));
    }
  }
  size_t interfaces = 0;
  for (const PortConfig& port : loading.config.ports) interfaces += 1 + port.vlans.size();
  if (interfaces > kMostInterfaces)
    value.complain(fmt::format("{} interfaces, ports and VLANs together; use at most {}",
                               interfaces, kMostInterfaces));
}

}  // namespace hecto::config
