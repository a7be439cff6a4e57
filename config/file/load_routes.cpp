#include "config/file/load_routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <tuple>

#include "config/file/addresses.hpp"
#include "config/file/keys.hpp"
#include "config/file/load_rules.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

const char* to_string(Family family) {
  return family == Family::kIpv4 ? "IPv4" : "IPv6";
}

std::optional<std::string> read_interface_name(const Value* value) {
  if (value == nullptr || value->is_word("auto")) return std::string();
  return value->text("a port, or PORT.ID for a VLAN");
}

bool is_link_local_v6(const IpAddress& address) {
  return address.family == Family::kIpv6 && address.bytes[0] == 0xfe &&
         (address.bytes[1] & 0xc0) == 0x80;
}

// One element of `via`, or `via` itself: an address, or a map.
void read_next_hop(const Value& value, const IpPrefix& to, RouteConfig& route, Loading& loading) {
  NextHopConfig hop;
  const Value* gateway = &value;
  std::optional<Fields> fields;
  if (value.kind() == NodeKind::kMap) {
    fields.emplace(value, next_hop_keys.names, "a map, as {gateway: 192.0.2.9}");
    gateway = fields->need("gateway", "an address");
    auto interface = read_interface_name(fields->get("interface"));
    read_keys(*fields, next_hop_keys, hop);
    if (gateway == nullptr || !interface) return;
    hop.interface = *interface;
  }
  auto address = read_host(*gateway, to.address.family == Family::kIpv4 ? "192.0.2.9" : "fe80::9");
  if (!address) return;
  hop.gateway = *address;
  if (address->family != to.address.family) {
    gateway->refuse(fmt::format("is {}, the route is {}; use a gateway of the same family",
                                to_string(address->family), to_string(to.address.family)));
    return;
  }
  if (is_link_local_v6(*address) && hop.interface.empty()) {
    gateway->refuse("is link-local; name its interface, as {gateway: fe80::9, interface: wan0}");
    return;
  }
  loading.interface_uses.push_back(
      {*address, hop.interface, false, 0, vrf_table_of(loading.config, route.table), *gateway});
  for (const NextHopConfig& other : route.via)
    if (other.gateway == hop.gateway && other.interface == hop.interface)
      gateway->refuse("is named twice; name it once, with a weight");
  route.via.push_back(std::move(hop));
}

// By prefix, metric and table.
using SeenRoutes = std::set<std::tuple<IpPrefix, uint32_t, uint32_t>>;

void read_route_table(const Fields& fields, RouteConfig& route, Loading& loading) {
  const Value *table = fields.get("table"), *vrf = fields.get("vrf");
  if (table != nullptr) route.table = read_table(*table, loading).value_or(kMainTable);
  if (vrf == nullptr) return;
  if (table != nullptr) vrf->complain("stands beside table; use one of them");
  const VrfConfig* found = read_vrf(*vrf, loading);
  if (found == nullptr) return;
  route.vrf = found->name;
  route.table = found->table;
}

void read_route(const Value& value, SeenRoutes& seen, Loading& loading) {
  Fields fields(value, route_keys.names, "a map, as {to: 203.0.113.0/24, via: 192.0.2.9}");
  RouteConfig route;
  read_keys(fields, route_keys, route, {{"vrf", {}}});  // type and metric
  read_route_table(fields, route, loading);
  const Value* to = fields.need("to", "a prefix");
  auto prefix = to == nullptr ? std::nullopt : read_route_prefix(*to);
  if (!prefix) return;
  route.to = *prefix;
  const Value* via = fields.get("via");
  if (route.type != RouteType::kUnicast) {
    if (via != nullptr) via->complain("a gateway, but the type sends nothing on; take one out");
  } else if (via == nullptr) {
    value.complain(
        fmt::format("route to {} goes nowhere; add via, or type: blackhole", prefix->to_string()));
  } else if (via->kind() == NodeKind::kList) {
    auto hops = via->items("a list of gateways", route_keys["via"].range.high);
    if (hops.empty()) via->complain("no gateway; name at least one");
    for (const Value& hop : hops) read_next_hop(hop, *prefix, route, loading);
  } else {
    read_next_hop(*via, *prefix, route, loading);
  }
  if (!seen.emplace(*prefix, route.metric, route.table).second)
    to->refuse("has a route of this metric already; list the gateways under one via");
  loading.config.routes.push_back(std::move(route));
}

}  // namespace

void load_routes(const Value& value, Loading& loading) {
  SeenRoutes seen;
  for (const Value& item : value.items("a list, as [{to: 203.0.113.0/24, via: 192.0.2.9}]"))
    read_route(item, seen, loading);
}

void load_route_files(const Value& value, Loading& loading) {
  namespace fs = std::filesystem;
  for (const Value& item :
       value.items("a list of file names", file_keys["route_files"].range.high)) {
    auto name = item.text("a file name");
    if (!name) continue;
    std::error_code error;
    fs::path folder = fs::absolute(fs::path(loading.config.file), error).parent_path();
    std::string path = (folder / *name).lexically_normal().string();
    if (const auto& limit = loading.limits.file) {
      if (const std::string why_not = limit(path); !why_not.empty()) {
        item.refuse(why_not);
        continue;
      }
    }
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
    Fields fields(item, neighbor_keys.names,
                  "a map, as {address: 192.0.2.9, mac: 02:00:00:00:00:09}");
    const Value* address = fields.need("address", "the neighbor's IP address");
    const Value* mac = fields.need("mac", "the neighbor's MAC address");
    auto interface = read_interface_name(fields.get("interface"));
    auto host = address == nullptr ? std::nullopt : read_host(*address, "192.0.2.9");
    auto ethernet = mac == nullptr ? std::nullopt : read_mac(*mac);
    if (!interface || !host || !ethernet) continue;
    loading.interface_uses.push_back(
        {*host, *interface, true, loading.config.neighbors.size(), 0, *address});
    loading.config.neighbors.push_back({*host, *interface, *ethernet});
  }
}

}  // namespace hecto::config
