// ports, interfaces, workers, drops, pools: what counts packets.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "lookup/kernels.hpp"
#include "router/api/show/show.hpp"
#include "router/control/router.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

constexpr std::array<const char*, 5> kStageNames = {"receive", "classify", "lookup", "rewrite",
                                                    "transmit"};

json direction(const Sampler& sampler, uint64_t packets, uint64_t packets_before, uint64_t bytes,
               uint64_t bytes_before) {
  return {{"packets", packets},
          {"bytes", bytes},
          {"pps", sampler.rate(packets, packets_before)},
          {"bps", sampler.rate(bytes, bytes_before) * 8}};
}

double rounded(double value) {
  return static_cast<double>(static_cast<int64_t>(value * 10 + 0.5)) / 10;
}

json per_packet(uint64_t cycles, uint64_t packets) {
  if (packets == 0) return nullptr;
  return rounded(static_cast<double>(cycles) / static_cast<double>(packets));
}

// The newest packet that met the reason, on whichever thread; empty when none was noted.
std::string example_text(Router& router, size_t reason) {
  constexpr int kAttempts = 4;  // to meet it while it is not written
  for (const auto& worker : router.dataplane().workers()) {
    std::optional<ExamplePacket> e;
    for (int i = 0; i < kAttempts && !e; ++i) e = worker->counters().reasons.examples[reason].get();
    if (!e) continue;
    IpAddress address;
    address.family = e->ether_type == kEtherIpv6 ? lookup::Family::kIpv6 : lookup::Family::kIpv4;
    std::memcpy(address.bytes.data(), e->destination.data(), address.size());
    const std::string what =
        e->ether_type == kEtherIpv4 || e->ether_type == kEtherIpv6
            ? address.to_string()
            : fmt::format("EtherType {:#06x}", __builtin_bswap16(e->ether_type));
    return fmt::format("{} from {}", what,
                       e->interface == kNoInterface ? port_text(router, e->port)
                                                    : interface_text(router, e->interface));
  }
  return {};
}

std::vector<std::string> feature_names(unsigned features) {
  std::vector<std::string> names;
  if (features & kFeatureVlan) names.emplace_back("vlan");
  if (features & kFeatureUrpf) names.emplace_back("urpf");
  if (features & kFeatureCounters) names.emplace_back("counters");
  if (features & kFeatureOffload) names.emplace_back("offload");
  return names;
}

json worker_queues(Router& router, const WorkerView& view) {
  json queues = json::array();
  for (const ReceiveQueue& queue : view.queues) {
    const Port* port = router.dataplane().port(queue.port);
    queues.push_back({{"port", port == nullptr ? "" : port->name()}, {"queue", queue.queue}});
  }
  return queues;
}

unsigned remote_queues(Router& router, const Worker& worker, const WorkerView& view) {
  unsigned remote = 0;
  for (const ReceiveQueue& queue : view.queues) {
    const Port* port = router.dataplane().port(queue.port);
    if (port != nullptr && port->socket() >= 0 && port->socket() != worker.options().socket)
      ++remote;
  }
  return remote;
}

}  // namespace

json show_ports(Router& router) {
  const Totals now = collect(router.dataplane());
  const Sampler& sampler = router.sampler();
  json list = json::array();
  for (const auto& [name, port] : router.dataplane().ports()) {
    const LinkState link = port->link();
    const PortStatistics stats = port->statistics();
    const TrafficTotals total = sampler.port(now, port->id());
    const TrafficTotals& last = sampler.now().ports[port->id()];
    const TrafficTotals& before = sampler.before().ports[port->id()];
    json rx =
        direction(sampler, last.rx_packets, before.rx_packets, last.rx_bytes, before.rx_bytes);
    json tx =
        direction(sampler, last.tx_packets, before.tx_packets, last.tx_bytes, before.tx_bytes);
    rx["packets"] = total.rx_packets;
    rx["bytes"] = total.rx_bytes;
    rx["missed"] = stats.missed;
    rx["no_mbuf"] = stats.no_mbuf;
    rx["errors"] = stats.rx_errors;
    tx["packets"] = total.tx_packets;
    tx["bytes"] = total.tx_bytes;
    tx["errors"] = stats.tx_errors;
    const Mempool* pool = router.dataplane().pool_of(name);
    list.push_back({{"name", name},
                    {"device", port->config().device},
                    {"driver", port->driver()},
                    {"socket", pool == nullptr ? 0 : pool->socket()},
                    {"link",
                     {{"up", link.up && port->present()},
                      {"speed_mbps", link.speed_mbps == 0 ? json() : json(link.speed_mbps)}}},
                    {"mac", to_string(port->mac())},
                    {"mtu", port->mtu()},
                    {"queues", {{"rx", port->rx_queues()}, {"tx", port->tx_queues()}}},
                    {"offloads", {{"asked", port->asked()}, {"given", port->given()}}},
                    {"refused", port->refused()},
                    {"rx", rx},
                    {"tx", tx}});
  }
  return {{"ports", list}};
}

json show_interfaces(Router& router) {
  const Sampler& sampler = router.sampler();
  const Totals now = collect(router.dataplane());
  json list = json::array();
  for (const auto& [id, interface] : router.interfaces().all()) {
    const InterfaceView& view = router.dataplane().snapshot().interfaces[id];
    json addresses = json::array();
    for (const IpPrefix& a : router.routing().interfaces().addresses(interface.state()))
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
    constexpr std::array<const char*, 3> kUrpf = {"off", "loose", "strict"};
    const LinuxSide* side = router.linux_side();
    list.push_back({{"name", interface.name},
                    {"id", id},
                    {"port", interface.port_name},
                    {"vlan", interface.vlan == 0 ? json() : json(interface.vlan)},
                    {"tap", side == nullptr ? json() : json(interface.name)},
                    {"namespace", side == nullptr ? json() : json(side->space().name())},
                    {"ifindex", side == nullptr ? json() : json(interface.ifindex)},
                    {"mac", to_string(interface.mac)},
                    {"mtu", router.routing().interfaces().mtu(interface.state())},
                    {"up", view.up},
                    {"addresses", addresses},
                    {"urpf", kUrpf[static_cast<size_t>(interface.urpf)]},
                    {"counters", counters}});
  }
  return {{"interfaces", list}};
}

json show_workers(Router& router) {
  const Sampler& sampler = router.sampler();
  const Snapshot& snapshot = router.dataplane().snapshot();
  json list = json::array();
  for (const auto& worker : router.dataplane().workers()) {
    const unsigned id = worker->options().id;
    const WorkerTotals& now = sampler.now().workers[id];
    const WorkerTotals& before = sampler.before().workers[id];
    const uint64_t packets = now.packets - before.packets;
    const uint64_t busy = now.busy - before.busy;
    const uint64_t idle = now.idle - before.idle;
    const uint64_t polls = now.busy_iterations - before.busy_iterations;
    const uint64_t sampled = now.sampled_packets - before.sampled_packets;
    const double load =
        busy + idle == 0 ? 0 : 100.0 * static_cast<double>(busy) / static_cast<double>(busy + idle);
    json stages = json::object();
    for (size_t i = 0; i < kStageNames.size(); ++i)
      stages[kStageNames[i]] = per_packet(now.stage_cycles[i] - before.stage_cycles[i], sampled);
    list.push_back({{"id", id},
                    {"cpu", worker->options().cpu},
                    {"socket", worker->options().socket},
                    {"queues", worker_queues(router, snapshot.workers[id])},
                    {"packets", now.packets},
                    {"pps", sampler.rate(now.packets, before.packets)},
                    {"load_percent", rounded(load)},
                    {"idle_percent", rounded(100 - rounded(load))},
                    {"cycles_per_packet", per_packet(busy, packets)},
                    {"stages", sampled == 0 ? json() : stages},
                    {"burst_fill", per_packet(packets, polls)},
                    {"burst", snapshot.burst},
                    {"lookup_isa", lookup::to_string(lookup::kernels().isa)},
                    {"features", feature_names(snapshot.features)},
                    {"remote_queues", remote_queues(router, *worker, snapshot.workers[id])}});
  }
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["load_percent"].get<double>() > b["load_percent"].get<double>();
  });
  return {{"tsc_hz", rte_get_tsc_hz()}, {"workers", list}};
}

json show_drops(Router& router) {
  const Totals now = collect(router.dataplane());
  const Sampler& sampler = router.sampler();
  json drops = json::array();
  json punts = json::array();
  for (size_t i = 1; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    if (now.dropped[i] > 0) {
      const std::string example = example_text(router, i);
      drops.push_back({{"reason", reason.name},
                       {"kind", reason.punt ? "punt_limited" : "drop"},
                       {"stage", name(reason.stage)},
                       {"packets", now.dropped[i]},
                       {"pps", sampler.rate(sampler.now().dropped[i], sampler.before().dropped[i])},
                       {"description", reason.description},
                       {"example", example.empty() ? json() : json(example)}});
    }
    if (now.punted[i] > 0)
      punts.push_back({{"reason", reason.name},
                       {"packets", now.punted[i]},
                       {"pps", sampler.rate(sampler.now().punted[i], sampler.before().punted[i])},
                       {"limit_pps", router.dataplane().settings().punt_pps[i]},
                       {"description", reason.description}});
  }
  const auto busiest_first = [](const json& a, const json& b) {
    const auto key = [](const json& row) {
      return std::pair(row["pps"].get<uint64_t>(), row["packets"].get<uint64_t>());
    };
    return key(a) > key(b);
  };
  std::stable_sort(drops.begin(), drops.end(), busiest_first);
  std::stable_sort(punts.begin(), punts.end(), busiest_first);
  uint64_t missed = 0, no_mbuf = 0;
  for (const auto& [name, port] : router.dataplane().ports()) {
    missed += port->statistics().missed;
    no_mbuf += port->statistics().no_mbuf;
  }
  return {{"drops", drops},
          {"punts", punts},
          {"totals",
           {{"received", now.received},
            {"injected", now.injected},
            {"fragments", router.dataplane().fragments_made()},
            {"transmitted", now.transmitted},
            {"punted", now.punted_total()},
            {"dropped", now.dropped_total()},
            {"in_flight", router.dataplane().in_flight()},
            {"missed", missed},
            {"no_mbuf", no_mbuf}}}};
}

json show_pools(Router& router) {
  json list = json::array();
  for (const auto& pool : router.dataplane().pools()) {
    json ports = json::array();
    uint64_t exhausted = 0;  // for a driver, or for a frame from Linux
    for (const auto& [name, port] : router.dataplane().ports()) {
      if (router.dataplane().pool_of(name) != pool.get()) continue;
      ports.push_back(name);
      exhausted += port->statistics().no_mbuf;
    }
    for (const auto& [id, interface] : router.interfaces().all())
      if (interface.twin && interface.twin->pool == pool->get())
        exhausted += interface.twin->no_mbuf.get();
    const uint32_t in_use = pool->in_use();
    list.push_back({{"name", pool->name()},
                    {"socket", pool->socket()},
                    {"size", pool->size()},
                    {"in_use", in_use},
                    {"available", pool->size() - in_use},
                    {"data_room_bytes", pool->data_room_bytes()},
                    {"exhausted", exhausted},
                    {"ports", ports}});
  }
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["in_use"].get<double>() / a["size"].get<double>() >
           b["in_use"].get<double>() / b["size"].get<double>();
  });
  return {{"pools", list}};
}

}  // namespace hecto::router
