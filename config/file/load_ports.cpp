// `ports:` and all below it.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "config/file/load_sections.hpp"

namespace hecto::config {
namespace {

constexpr size_t kMaxPorts = 64;
constexpr size_t kMaxInterfaceName = 15;  // IFNAMSIZ less its final 0
constexpr size_t kVlanSuffix = 5;         // ".4094"
constexpr uint16_t kMinMtu = 576;         // RFC 791: what every IPv4 host must take
constexpr uint16_t kMinMtuIpv6 = 1280;    // RFC 8200 §5
constexpr uint16_t kMaxMtu = 9000;
constexpr uint16_t kMinDescriptors = 64;
constexpr uint16_t kMaxDescriptors = 32768;

constexpr Enumerator kUrpfModes[] = {{"off", static_cast<int>(UrpfMode::kOff)},
                                     {"loose", static_cast<int>(UrpfMode::kLoose)},
                                     {"strict", static_cast<int>(UrpfMode::kStrict)}};

void read_boolean(const Value* value, bool& target) {
  if (value == nullptr) return;
  if (auto b = value->boolean()) target = *b;
}

void read_urpf(const Value* value, UrpfMode& target) {
  if (value == nullptr) return;
  if (auto mode = value->one_of(kUrpfModes)) target = static_cast<UrpfMode>(*mode);
}

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
  auto text = value.text("a PCI address, a DPDK vdev (net_...), or a kernel interface");
  if (!text) return;
  if (auto pci = pci_address(*text)) {
    port.kind = DeviceKind::kPci;
    port.device = *pci;
  } else if (text->starts_with("net_") || text->starts_with("eth_")) {
    if (text->size() > 1024 || text->find_first_of(" \t\n\r") != std::string::npos)
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

namespace {

void read_descriptors(const Value* value, uint16_t& target) {
  if (value == nullptr) return;
  auto number = value->integer(kMinDescriptors, kMaxDescriptors);
  if (!number) return;
  if ((*number & (*number - 1)) != 0)
    value->refuse("is not a power of two; use 512, 1024, 2048 or another");
  else
    target = static_cast<uint16_t>(*number);
}

void read_addresses(const Value* value, const std::string& interface,
                    std::vector<IpPrefix>& addresses, Loading& loading) {
  if (value == nullptr) return;
  for (const Value& item : value->items("a list of addresses, as [192.0.2.1/24]")) {
    auto address = read_interface_address(item);
    if (!address) continue;
    addresses.push_back(*address);
    loading.addresses.push_back({interface, *address, item});
  }
}

bool has_ipv6(const std::vector<IpPrefix>& addresses) {
  return std::any_of(addresses.begin(), addresses.end(),
                     [](const IpPrefix& a) { return a.address.family == lookup::Family::kIpv6; });
}

void check_ipv6_mtu(const Value& where, const Value* mtu, uint16_t bytes,
                    const std::vector<IpPrefix>& addresses) {
  if (bytes >= kMinMtuIpv6 || bytes < kMinMtu || !has_ipv6(addresses)) return;
  (mtu != nullptr ? *mtu : where)
      .complain(fmt::format("{} with IPv6 addresses; use {} to {} (RFC 8200 §5), or take them out",
                            bytes, kMinMtuIpv6, kMaxMtu));
}

void read_vlans(const Value& value, PortConfig& port, Loading& loading) {
  for (const Value::Entry& entry :
       value.entries("sub-interfaces by VLAN id, as {100: {addresses: [192.0.2.1/24]}}", 4094)) {
    auto id = parse_decimal(entry.key);
    // 0 and 4095 are reserved (IEEE 802.1Q-2018 table 9-2).
    if (!id || *id < 1 || *id > 4094 || entry.key[0] == '0') {
      entry.value.complain("not a VLAN id; use 1 to 4094");
      continue;
    }
    VlanConfig vlan;
    vlan.id = static_cast<uint16_t>(*id);
    if (entry.value.kind() != NodeKind::kNull) {
      Fields fields(entry.value, "ports.*.vlans.*", "a map, as {addresses: [192.0.2.1/24]}");
      const Value* mtu = fields.get("mtu");
      read_integer(mtu, kMinMtu, port.mtu, vlan.mtu);
      read_addresses(fields.get("addresses"), fmt::format("{}.{}", port.name, vlan.id),
                     vlan.addresses, loading);
      read_urpf(fields.get("urpf"), vlan.urpf);
      check_ipv6_mtu(entry.value, mtu, vlan.mtu.value_or(port.mtu), vlan.addresses);
    }
    port.vlans.push_back(std::move(vlan));
  }
  std::sort(port.vlans.begin(), port.vlans.end(),
            [](const VlanConfig& a, const VlanConfig& b) { return a.id < b.id; });
}

void load_port(const Value::Entry& entry, Loading& loading) {
  PortConfig port;
  port.name = entry.key;
  Fields fields(entry.value, "ports.*", "a map, as {device: eth1, addresses: [192.0.2.1/24]}");
  const Value* vlans = fields.get("vlans");
  if (vlans != nullptr && vlans->kind() == NodeKind::kNull) vlans = nullptr;
  if (!check_port_name(entry, vlans != nullptr)) return;
  if (const Value* device = fields.need("device", "a PCI address, vdev or kernel interface"))
    read_device(*device, port);
  const Value* mtu = fields.get("mtu");
  read_integer(mtu, kMinMtu, kMaxMtu, port.mtu);
  read_addresses(fields.get("addresses"), port.name, port.addresses, loading);
  check_ipv6_mtu(entry.value, mtu, port.mtu, port.addresses);
  read_integer_or_auto(fields.get("queues"), 1, 128, port.rx_queues);
  read_descriptors(fields.get("rx_descriptors"), port.rx_descriptors);
  read_descriptors(fields.get("tx_descriptors"), port.tx_descriptors);
  if (const Value* mac = fields.get("mac")) port.mac = read_mac(*mac);
  read_boolean(fields.get("promiscuous"), port.promiscuous);
  read_boolean(fields.get("counters"), port.counters);
  read_urpf(fields.get("urpf"), port.urpf);
  if (vlans != nullptr) read_vlans(*vlans, port, loading);
  loading.config.ports.push_back(std::move(port));
}

}  // namespace

void load_ports(const Value& value, Loading& loading) {
  auto entries = value.entries("ports by name, as {wan0: {device: eth1}}", kMaxPorts);
  if (entries.empty() && value.kind() == NodeKind::kMap && loading.report.empty())
    value.complain("no port; name at least one, as wan0: {device: eth1}");
  std::map<std::string, std::string> by_device;
  for (const Value::Entry& entry : entries) {
    size_t before = loading.config.ports.size();
    load_port(entry, loading);
    if (loading.config.ports.size() == before) continue;
    const PortConfig& port = loading.config.ports.back();
    // A vdev is named by what comes before its first comma.
    std::string device = port.device.substr(0, port.device.find(','));
    auto [other, fresh] = by_device.emplace(device, port.name);
    if (!fresh && !device.empty())
      entry.value.complain(
          fmt::format("device {} is already port {}; name another", device, other->second));
  }
}

}  // namespace hecto::config
