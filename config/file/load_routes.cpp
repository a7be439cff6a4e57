// `routes:`, `route_files:` and `neighbors:`, and the readers of addresses that they share.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "config/file/load_sections.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

constexpr size_t kMaxNextHops = 256;
constexpr size_t kMaxRouteFiles = 1024;

constexpr Enumerator kRouteTypes[] = {
    {"unicast", static_cast<int>(RouteType::kUnicast)},
    {"blackhole", static_cast<int>(RouteType::kBlackhole)},
    {"unreachable", static_cast<int>(RouteType::kUnreachable)},
    {"prohibit", static_cast<int>(RouteType::kProhibit)},
};

const char* name_of(Family family) {
  return family == Family::kIpv4 ? "IPv4" : "IPv6";
}

bool is_multicast(const IpAddress& address) {
  return address.family == Family::kIpv4 ? (address.bytes[0] & 0xf0) == 0xe0
                                         : address.bytes[0] == 0xff;
}

bool is_loopback(const IpAddress& address) {
  if (address.family == Family::kIpv4) return address.bytes[0] == 127;
  return address == *IpAddress::parse("::1");
}

bool is_unspecified(const IpAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](uint8_t b) { return b == 0; });
}

bool is_link_local_v6(const IpAddress& address) {
  return address.family == Family::kIpv6 && address.bytes[0] == 0xfe &&
         (address.bytes[1] & 0xc0) == 0x80;
}

// Why no host can have this address; empty when one can.
std::string_view not_a_host(const IpAddress& address) {
  if (is_multicast(address)) return "a multicast address";
  if (is_loopback(address)) return "a loopback address";
  if (is_unspecified(address)) return "the unspecified address";
  if (address.family == Family::kIpv4 && address.bytes[0] >= 240)
    return "a reserved address (RFC 1112 §4)";
  return {};
}

std::optional<IpAddress> read_host(const Value& value, std::string_view example) {
  auto text = value.text(fmt::format("an address, as {}", example));
  if (!text) return std::nullopt;
  auto address = IpAddress::parse(*text);
  if (!address) {
    value.refuse(fmt::format("is not an address; use one as {}", example));
    return std::nullopt;
  }
  if (std::string_view why = not_a_host(*address); !why.empty()) {
    value.refuse(fmt::format("is {}; use a neighbor's own address", why));
    return std::nullopt;
  }
  return address;
}

std::optional<IpPrefix> read_prefix(const Value& value) {
  auto text = value.text("a prefix, as 203.0.113.0/24");
  if (!text) return std::nullopt;
  auto prefix = *text == "default" ? IpPrefix::parse("0.0.0.0/0") : IpPrefix::parse(*text);
  if (prefix) {
    if (!is_multicast(prefix->address)) return prefix;
    value.refuse("is multicast, which this router does not route; use a unicast prefix");
    return std::nullopt;
  }
  if (auto loose = IpPrefix::parse_interface(*text))
    value.refuse(fmt::format("has bits behind its length; use {}", loose->network().to_string()));
  else
    value.refuse("is not a prefix; use one as 203.0.113.0/24 or 2001:db8::/32");
  return std::nullopt;
}

std::optional<std::string> read_interface_name(const Value* value) {
  if (value == nullptr || value->is_word("auto")) return std::string();
  return value->text("a port, or PORT.ID for a VLAN");
}

// One element of `via`, or `via` itself: an address, or a map.
void read_next_hop(const Value& value, const IpPrefix& to, RouteConfig& route, Loading& loading) {
  NextHopConfig hop;
  const Value* gateway = &value;
  std::optional<Fields> fields;
  if (value.kind() == NodeKind::kMap) {
    fields.emplace(value, "routes.*.via.*", "a map, as {gateway: 192.0.2.9}");
    gateway = fields->need("gateway", "an address");
    auto interface = read_interface_name(fields->get("interface"));
    read_integer(fields->get("weight"), 1, 256, hop.weight);
    if (gateway == nullptr || !interface) return;
    hop.interface = *interface;
  }
  auto address = read_host(*gateway, to.address.family == Family::kIpv4 ? "192.0.2.9" : "fe80::9");
  if (!address) return;
  hop.gateway = *address;
  if (address->family != to.address.family) {
    gateway->refuse(fmt::format("is {}, the route is {}; use a gateway of the same family",
                                name_of(address->family), name_of(to.address.family)));
    return;
  }
  if (is_link_local_v6(*address) && hop.interface.empty()) {
    gateway->refuse("is link-local; name its interface, as {gateway: fe80::9, interface: wan0}");
    return;
  }
  loading.interface_uses.push_back({*address, hop.interface, false, 0, *gateway});
  for (const NextHopConfig& other : route.via)
    if (other.gateway == hop.gateway && other.interface == hop.interface)
      gateway->refuse("is named twice; name it once, with a weight");
  route.via.push_back(std::move(hop));
}

void read_route(const Value& value, std::set<std::pair<IpPrefix, uint32_t>>& seen,
                Loading& loading) {
  Fields fields(value, "routes.*", "a map, as {to: 203.0.113.0/24, via: 192.0.2.9}");
  RouteConfig route;
  if (const Value* type = fields.get("type"))
    if (auto which = type->one_of(kRouteTypes)) route.type = static_cast<RouteType>(*which);
  read_integer(fields.get("metric"), 0, UINT32_MAX, route.metric);
  const Value* to = fields.need("to", "a prefix");
  auto prefix = to == nullptr ? std::nullopt : read_prefix(*to);
  if (!prefix) return;
  route.to = *prefix;
  const Value* via = fields.get("via");
  if (route.type != RouteType::kUnicast) {
    if (via != nullptr) via->complain("a gateway, but the type sends nothing on; take one out");
  } else if (via == nullptr) {
    value.complain(
        fmt::format("route to {} goes nowhere; add via, or type: blackhole", prefix->to_string()));
  } else if (via->kind() == NodeKind::kList) {
    auto hops = via->items("a list of gateways", kMaxNextHops);
    if (hops.empty()) via->complain("no gateway; name at least one");
    for (const Value& hop : hops) read_next_hop(hop, *prefix, route, loading);
  } else {
    read_next_hop(*via, *prefix, route, loading);
  }
  if (!seen.emplace(*prefix, route.metric).second)
    to->refuse("has a route of this metric already; list the gateways under one via");
  loading.config.routes.push_back(std::move(route));
}

}  // namespace

std::optional<MacAddress> read_mac(const Value& value) {
  auto text = value.text("a MAC address, as 02:00:00:00:00:01");
  if (!text) return std::nullopt;
  const std::optional<MacAddress> mac = parse_mac_address(*text);
  if (!mac) {
    value.refuse("is not a MAC address; use one as 02:00:00:00:00:01");
  } else if (((*mac)[0] & 1) != 0) {
    value.refuse("is a group address (multicast); use one whose first byte is even");
  } else if (*mac == MacAddress{}) {
    value.refuse("is all zeros; use one as 02:00:00:00:00:01");
  } else {
    return mac;
  }
  return std::nullopt;
}

std::optional<IpPrefix> read_interface_address(const Value& value) {
  auto text = value.text("an address, as 192.0.2.1/24");
  if (!text) return std::nullopt;
  auto prefix = IpPrefix::parse_interface(*text);
  auto refuse = [&](std::string_view what) {
    value.refuse(what);
    return std::nullopt;
  };
  if (!prefix) return refuse("is not an address with a length; use one as 192.0.2.1/24");
  if (text->find('/') == std::string::npos)
    return refuse(fmt::format("has no length; use {}/{}", *text,
                              prefix->address.family == Family::kIpv4 ? 24 : 64));
  if (std::string_view why = not_a_host(prefix->address); !why.empty())
    return refuse(fmt::format("is {}; use an address of this router's own", why));
  if (prefix->length == 0) return refuse("covers everything; use a length of 1 or more");
  if (prefix->address.family == Family::kIpv4 && prefix->length < 31) {  // RFC 3021: /31 has none
    uint32_t host = UINT32_MAX >> prefix->length;
    uint32_t bits = prefix->address.v4().value & host;
    if (bits == 0) return refuse("is the network's own address; use one of its hosts'");
    if (bits == host) return refuse("is the network's broadcast address; use one of its hosts'");
  }
  return prefix;
}

void load_routes(const Value& value, Loading& loading) {
  std::set<std::pair<IpPrefix, uint32_t>> seen;
  for (const Value& item : value.items("a list, as [{to: 203.0.113.0/24, via: 192.0.2.9}]"))
    read_route(item, seen, loading);
}

void load_route_files(const Value& value, Loading& loading) {
  namespace fs = std::filesystem;
  for (const Value& item : value.items("a list of file names", kMaxRouteFiles)) {
    auto name = item.text("a file name");
    if (!name) continue;
    std::error_code error;
    fs::path folder = fs::absolute(fs::path(loading.config.file), error).parent_path();
    std::string path = (folder / *name).lexically_normal().string();
    auto& files = loading.config.route_files;
    if (std::find(files.begin(), files.end(), path) != files.end())
      item.refuse("is named twice; name it once");
    else
      files.push_back(std::move(path));
  }
}

void load_neighbors(const Value& value, Loading& loading) {
  for (const Value& item :
       value.items("a list, as [{address: 192.0.2.9, mac: 02:00:00:00:00:09, interface: wan0}]")) {
    Fields fields(item, "neighbors.*", "a map, as {address: 192.0.2.9, mac: 02:00:00:00:00:09}");
    const Value* address = fields.need("address", "the neighbor's IP address");
    const Value* mac = fields.need("mac", "the neighbor's MAC address");
    auto interface = read_interface_name(fields.get("interface"));
    auto host = address == nullptr ? std::nullopt : read_host(*address, "192.0.2.9");
    auto ethernet = mac == nullptr ? std::nullopt : read_mac(*mac);
    if (!interface || !host || !ethernet) continue;
    loading.interface_uses.push_back(
        {*host, *interface, true, loading.config.neighbors.size(), *address});
    loading.config.neighbors.push_back({*host, *interface, *ethernet});
  }
}

}  // namespace hecto::config
