// Ports, interfaces and pools.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/file/words.hpp"
#include "router/api/show/show.hpp"
#include "router/api/show/tags.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/linux_side.hpp"
#include "router/control/offload_watch.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

json direction(const Sampler& sampler, uint64_t packets, uint64_t packets_before, uint64_t bytes,
               uint64_t bytes_before) {
  return {{"packets", packets},
          {"bytes", bytes},
          {"pps", sampler.rate(packets, packets_before)},
          {"bps", sampler.rate(bytes, bytes_before) * 8}};
}

// What somebody else did to its device and to its interfaces' twins, and is not mended.
std::vector<std::string> troubles(const PortStatus& port, const InterfaceTable& interfaces,
                                  std::vector<std::string> others) {
  std::vector<std::string> sentences;
  if (!port.present) sentences.push_back(device_words(port.config) + " is gone");
  if (!port.trouble.empty()) sentences.push_back(port.trouble);
  for (const auto& [id, interface] : interfaces.all())
    if (interface.port_name == port.name() && !interface.trouble.empty())
      sentences.push_back("interface " + interface.name + ": " + interface.trouble);
  for (std::string& other : others) sentences.push_back(std::move(other));
  return sentences;
}

json path(const std::string& words) {
  return words.empty() ? json() : json(words);
}

json show_port(const PortStatus& port, const InterfaceTable& interfaces, json rx, json tx,
               std::vector<std::string> others = {}) {
  const uint32_t speed = port.link.speed_mbps;
  return {{"name", port.name()},
          {"device", device_words(port.config)},
          {"driver", port.driver},
          {"socket", port.socket},
          {"link", {{"up", port.up()}, {"speed_mbps", speed == 0 ? json() : json(speed)}}},
          {"mac", to_string(port.mac)},
          {"mtu", port.mtu},
          {"queues", {{"rx", port.rx_queues}, {"tx", port.tx_queues}}},
          {"offloads", {{"asked", port.asked}, {"given", port.given}}},
          {"paths", {{"rx", path(port.receive_path)}, {"tx", path(port.transmit_path)}}},
          {"refused", port.refused},
          {"trouble", troubles(port, interfaces, std::move(others))},
          {"rx", std::move(rx)},
          {"tx", std::move(tx)}};
}

// Its counters went with it, and another may have its number.
json show_lost_port(const PortStatus& port, const Sampler& sampler,
                    const InterfaceTable& interfaces) {
  json none = direction(sampler, 0, 0, 0, 0);
  none["errors"] = 0;
  json rx = none;
  rx["missed"] = rx["no_mbuf"] = rx["coalesced"] = rx["unfinished"] = 0;
  return show_port(port, interfaces, std::move(rx), std::move(none));
}

json switches_json(const InterfaceSwitches& switches) {
  return {{"forwarding_ipv4", switches.forwards4},
          {"forwarding_ipv6", switches.forwards6},
          {"rp_filter", to_string(switches.rp_filter)},
          {"send_redirects", switches.redirects4},
          {"accept_local", switches.accept_local}};
}

json tunnel_json(const LinuxTunnel* tunnel) {
  if (tunnel == nullptr) return nullptr;
  const auto key = [](const std::optional<uint32_t>& key) { return key ? json(*key) : json(); };
  return {{"kind", tunnel->gre ? "gre" : "ip"},
          {"local", tunnel->local.to_string()},
          {"remote", tunnel->remote.to_string()},
          {"key_in", key(tunnel->key_in)},
          {"key_out", key(tunnel->key_out)}};
}

}  // namespace

json show_ports(const ForwardingPlane& plane, const Sampler& sampler,
                const InterfaceTable& interfaces, const OffloadWatch& offloads,
                const std::vector<PortStatus>& lost) {
  const Totals now = sampler.collect();
  json list = json::array();
  for (const PortStatus& port : plane.ports()) {
    const PortStatistics stats = plane.statistics(port.name());
    const TrafficTotals total = sampler.port(now, port.id);
    const TrafficTotals& last = sampler.now().ports[port.id];
    const TrafficTotals& before = sampler.before().ports[port.id];
    json rx =
        direction(sampler, last.rx_packets, before.rx_packets, last.rx_bytes, before.rx_bytes);
    json tx =
        direction(sampler, last.tx_packets, before.tx_packets, last.tx_bytes, before.tx_bytes);
    rx["packets"] = total.rx_packets;
    rx["bytes"] = total.rx_bytes;
    rx["missed"] = stats.missed;
    rx["no_mbuf"] = stats.no_mbuf;
    rx["errors"] = stats.rx_errors;
    rx["coalesced"] = total.rx_coalesced;
    rx["unfinished"] = total.rx_unfinished;
    tx["packets"] = total.tx_packets;
    tx["bytes"] = total.tx_bytes;
    tx["errors"] = stats.tx_errors;
    list.push_back(
        show_port(port, interfaces, std::move(rx), std::move(tx), offloads.troubles(port.name())));
  }
  for (const PortStatus& port : lost) list.push_back(show_lost_port(port, sampler, interfaces));
  return {{"ports", list}};
}

json show_interfaces(const InterfaceTable& interfaces, const Routing& routing,
                     const ForwardingPlane& plane, const Sampler& sampler, const LinuxSide* side) {
  const Totals now = sampler.collect();
  json list = json::array();
  for (const auto& [id, interface] : interfaces.all()) {
    json addresses = json::array();
    for (const IpPrefix& a : routing.interfaces().addresses(interface))
      addresses.push_back(a.to_string());
    json counters;
    if (interface.counters) {
      const TrafficTotals total = sampler.interface(now, id);
      const TrafficTotals& last = sampler.now().interfaces[id];
      const TrafficTotals& before = sampler.before().interfaces[id];
      counters = {{"rx_packets", total.rx_packets},
                  {"rx_bytes", total.rx_bytes},
                  {"rx_pps", sampler.rate(last.rx_packets, before.rx_packets)},
                  {"rx_bps", sampler.rate(last.rx_bytes, before.rx_bytes) * 8},
                  {"tx_packets", total.tx_packets},
                  {"tx_bytes", total.tx_bytes},
                  {"tx_pps", sampler.rate(last.tx_packets, before.tx_packets)},
                  {"tx_bps", sampler.rate(last.tx_bytes, before.tx_bytes) * 8}};
    }
    const Interface* const parent = interfaces.find(interface.parent);
    const Vrf vrf = routing.interfaces().vrf_of(interface);
    const LinuxLink* const master = routing.interfaces().master_of(interface);
    list.push_back({{"name", interface.name},
                    {"id", id.value()},
                    {"port", interface.port_name.empty() ? json() : json(interface.port_name)},
                    {"vlan", vlan_json(interface.tags)},
                    {"outer_vlan", outer_vlan_json(interface.tags)},
                    {"tag_protocol", tag_protocol_json(interface.tags)},
                    {"macvlan_of", parent == nullptr ? json() : json(parent->name)},
                    {"tap", side == nullptr ? json() : json(interface.name)},
                    {"namespace", side == nullptr ? json() : json(side->name())},
                    {"ifindex", side == nullptr ? json() : json(interface.ifindex)},
                    {"vrf", vrf.table == 0 ? json() : json(vrf.name)},
                    {"master", vrf.table != 0 || master == nullptr
                                   ? json()
                                   : json({{"name", master->name}, {"kind", master->kind}})},
                    {"tunnel", tunnel_json(routing.interfaces().tunnel_of(interface))},
                    {"mac", to_string(interface.mac)},
                    {"mtu", routing.interfaces().mtu(interface)},
                    {"up", plane.interface_up(id)},
                    {"addresses", addresses},
                    {"urpf", to_string(interface.urpf)},
                    {"switches", side == nullptr ? json() : switches_json(interface.switches)},
                    {"counters", counters}});
  }
  return {{"interfaces", list}};
}

uint64_t times_exhausted(const PoolStatus& pool, const ForwardingPlane& plane,
                         const LinuxSide* side) {
  uint64_t exhausted = side == nullptr ? 0 : side->frames_without_mbuf(pool.pool);
  for (const std::string& port : pool.ports) exhausted += plane.statistics(port).no_mbuf;
  return exhausted;
}

json show_pools(const ForwardingPlane& plane, const LinuxSide* side) {
  json list = json::array();
  for (const PoolStatus& pool : plane.pools()) {
    list.push_back({{"name", pool.name},
                    {"socket", pool.socket},
                    {"size", pool.size},
                    {"in_use", pool.in_use},
                    {"available", pool.size - pool.in_use},
                    {"data_room_bytes", pool.data_room_bytes},
                    {"exhausted", times_exhausted(pool, plane, side)},
                    {"ports", pool.ports}});
  }
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["in_use"].get<double>() / a["size"].get<double>() >
           b["in_use"].get<double>() / b["size"].get<double>();
  });
  return {{"pools", list}};
}

}  // namespace hecto::router
