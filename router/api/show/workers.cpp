// Workers, and what became of packets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/ether.hpp"
#include "lookup/kernels.hpp"
#include "router/api/show/advice.hpp"
#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/balance.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

using nlohmann::json;

double rounded(double value) {
  return static_cast<double>(static_cast<int64_t>(value * 10 + 0.5)) / 10;
}

json per_packet(uint64_t cycles, uint64_t packets) {
  if (packets == 0) return nullptr;
  return rounded(static_cast<double>(cycles) / static_cast<double>(packets));
}

// The newest packet that met the reason; null when none was noted.
json example_json(const ForwardingPlane& plane, const InterfaceTable& interfaces, Reason reason) {
  const auto e = plane.example(reason);
  if (!e) return nullptr;
  IpAddress address;
  address.family = e->ether_type == kEtherIpv6 ? lookup::Family::kIpv6 : lookup::Family::kIpv4;
  std::memcpy(address.bytes.data(), e->destination.data(), address.size());
  const std::string what = e->ether_type == kEtherIpv4 || e->ether_type == kEtherIpv6
                               ? address.to_string()
                               : fmt::format("EtherType {:#06x}", __builtin_bswap16(e->ether_type));
  return fmt::format("{} from {}", what,
                     e->interface == kNoInterface ? port_text(plane, e->port)
                                                  : interface_text(interfaces, e->interface));
}

std::vector<std::string> feature_names(unsigned features) {
  std::vector<std::string> names;
  if (features & kFeatureVlan) names.emplace_back("vlan");
  if (features & kFeatureUrpf) names.emplace_back("urpf");
  if (features & kFeatureCounters) names.emplace_back("counters");
  if (features & kFeatureOffload) names.emplace_back("offload");
  return names;
}

json worker_json(const ForwardingPlane& plane, const Sampler& sampler, const WorkerStatus& worker) {
  const WorkerTotals& now = sampler.now().workers[worker.id];
  const WorkerTotals& before = sampler.before().workers[worker.id];
  const uint64_t packets = now.packets - before.packets;
  const uint64_t busy = now.busy - before.busy;
  const uint64_t idle = now.idle - before.idle;
  const uint64_t polls = now.busy_iterations - before.busy_iterations;
  const uint64_t sampled = now.sampled_packets - before.sampled_packets;
  const double load =
      busy + idle == 0 ? 0 : 100.0 * static_cast<double>(busy) / static_cast<double>(busy + idle);
  const auto share = sampler.cpu_share(worker.id);
  json stages = json::object();
  for (size_t i = 0; i < kTimedStages.size(); ++i)
    stages[kTimedStages[i]] = per_packet(now.stage_cycles[i] - before.stage_cycles[i], sampled);
  json queues = json::array(), spread = json::array();
  for (const WorkerStatus::Queue& queue : worker.queues) {
    queues.push_back({{"port", queue.port}, {"queue", queue.queue.value()}});
    if (!queue.spread.empty())
      spread.push_back(fmt::format("{}:{} {}", queue.port, queue.queue.value(), queue.spread));
  }
  return {{"id", worker.id},
          {"cpu", worker.cpu},
          {"socket", worker.socket},
          {"queues", queues},
          {"spread", spread},
          {"packets", now.packets},
          {"pps", sampler.rate(now.packets, before.packets)},
          {"load_percent", rounded(load)},
          {"idle_percent", rounded(100 - rounded(load))},
          {"cpu_percent", share ? json(rounded(share->ran_percent)) : json()},
          {"waiting_percent", share ? json(rounded(share->waited_percent)) : json()},
          {"cycles_per_packet", per_packet(busy, packets)},
          {"stages", sampled == 0 ? json() : stages},
          {"burst_fill", per_packet(packets, polls)},
          {"burst", plane.burst()},
          {"lookup_isa", lookup::to_string(lookup::kernels().isa)},
          {"features", feature_names(plane.features())},
          {"idle", to_string(worker.idle)},
          {"idle_in_force", to_string(worker.idle_in_force)},
          {"no_wakeup", worker.no_wakeup},
          {"remote_queues", worker.remote_queues}};
}

// The most first; of those that are gone without a name.
json where(const InterfaceShares& shares, const InterfaceTable& interfaces) {
  json list = json::array();
  for (const auto& [name, packets] : by_name(shares, interfaces))
    list.push_back({{"interface", name.empty() ? json() : json(name)}, {"packets", packets}});
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["packets"].get<uint64_t>() > b["packets"].get<uint64_t>();
  });
  return list;
}

json totals_json(const ForwardingPlane& plane, const Balance& balance) {
  const Totals& now = balance.totals;
  uint64_t missed = 0, no_mbuf = 0;
  for (const PortStatus& port : plane.ports()) {
    const PortStatistics statistics = plane.statistics(port.name());
    missed += statistics.missed;
    no_mbuf += statistics.no_mbuf;
  }
  return {{"received", now.received},
          {"injected", now.injected},
          {"fragments", balance.fragments},
          {"copies", balance.copies},
          {"transmitted", now.transmitted},
          {"too_big_answered", balance.too_big_answered},
          {"punted", now.punted_total()},
          {"dropped", now.dropped_total()},
          {"in_flight", balance.in_flight},
          {"unaccounted", balance.unaccounted},
          {"missed", missed},
          {"no_mbuf", no_mbuf}};
}

}  // namespace

json show_workers(const ForwardingPlane& plane, const Sampler& sampler, uint64_t tsc_hz) {
  json list = json::array();
  for (const WorkerStatus& worker : plane.workers())
    list.push_back(worker_json(plane, sampler, worker));
  std::stable_sort(list.begin(), list.end(), [](const json& a, const json& b) {
    return a["load_percent"].get<double>() > b["load_percent"].get<double>();
  });
  return {{"tsc_hz", tsc_hz}, {"workers", list}};
}

json show_drops(const ForwardingPlane& plane, const InterfaceTable& interfaces,
                const Sampler& sampler, const Balance& balance) {
  const Totals now = sampler.settled(balance.totals);
  json drops = json::array();
  json punts = json::array();
  for (size_t i = 1; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    if (now.dropped[i] > 0)
      drops.push_back({{"reason", reason.name},
                       {"kind", reason.punt ? "punt_limited" : "drop"},
                       {"stage", to_string(reason.stage)},
                       {"packets", now.dropped[i]},
                       {"pps", sampler.rate(sampler.now().dropped[i], sampler.before().dropped[i])},
                       {"where", where(now.dropped_at[i], interfaces)},
                       {"description", reason.description},
                       {"advice", advice(static_cast<Reason>(i))},
                       {"example", example_json(plane, interfaces, static_cast<Reason>(i))}});
    if (now.punted[i] > 0)
      punts.push_back({{"reason", reason.name},
                       {"packets", now.punted[i]},
                       {"pps", sampler.rate(sampler.now().punted[i], sampler.before().punted[i])},
                       {"where", where(now.punted_at[i], interfaces)},
                       {"limit_pps", plane.punt_pps(static_cast<Reason>(i))},
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
  return {{"drops", drops}, {"punts", punts}, {"totals", totals_json(plane, balance)}};
}

}  // namespace hecto::router
