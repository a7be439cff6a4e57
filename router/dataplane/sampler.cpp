#include "router/dataplane/sampler.hpp"

#include <algorithm>
#include <numeric>

#include "router/dataplane/dataplane.hpp"

namespace hecto::router {
namespace {

template <typename Counters>
void add(TrafficTotals& totals, const Counters& counters) {
  totals.rx_packets += counters.rx_packets.get();
  totals.rx_bytes += counters.rx_bytes.get();
  totals.tx_packets += counters.tx_packets.get();
  totals.tx_bytes += counters.tx_bytes.get();
}
void add_port(TrafficTotals& totals, const PortCounters& counters) {
  add(totals, counters);
  totals.rx_coalesced += counters.rx_coalesced.get();
  totals.rx_checked += counters.rx_checked.get();
  totals.rx_unfinished += counters.rx_unfinished.get();
  totals.rx_segments += counters.rx_segments.get();
  totals.rx_reordered += counters.rx_reordered.get();
}

TrafficTotals minus(const TrafficTotals& a, const TrafficTotals& b) {
  return {a.rx_packets - b.rx_packets,       a.rx_bytes - b.rx_bytes,
          a.tx_packets - b.tx_packets,       a.tx_bytes - b.tx_bytes,
          a.rx_coalesced - b.rx_coalesced,   a.rx_checked - b.rx_checked,
          a.rx_unfinished - b.rx_unfinished, a.rx_segments - b.rx_segments,
          a.rx_reordered - b.rx_reordered};
}

WorkerTotals totals_of(const CycleCounters& cycles) {
  WorkerTotals t;
  t.packets = cycles.packets.get();
  t.busy = cycles.busy.get();
  t.idle = cycles.idle.get();
  t.iterations = cycles.iterations.get();
  t.busy_iterations = cycles.busy_iterations.get();
  t.sampled_packets = cycles.sampled_packets.get();
  for (size_t i = 0; i < t.stage_cycles.size(); ++i)
    t.stage_cycles[i] = cycles.stage_cycles[i].get();
  return t;
}

// All of them, always in this order.
std::vector<InterfaceShares*> shares_of(Totals& totals) {
  std::vector<InterfaceShares*> all;
  for (InterfaceShares& shares : totals.dropped_at) all.push_back(&shares);
  for (InterfaceShares& shares : totals.punted_at) all.push_back(&shares);
  for (PuntClassTotals& each : totals.punt_classes) all.push_back(&each.dropped_at);
  return all;
}

// So many of an interface's packets are nobody's.
void disown(InterfaceShares& shares, InterfaceId id, uint64_t packets = ~uint64_t{0}) {
  const auto share = shares.find(id);
  if (share == shares.end() || id == kNoInterface) return;
  packets = std::min(packets, share->second);
  shares[kNoInterface] += packets;
  share->second -= packets;
  if (share->second == 0) shares.erase(share);
}

}  // namespace

uint64_t Totals::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), uint64_t{0});
}
uint64_t Totals::punted_total() const {
  return std::accumulate(punted.begin(), punted.end(), uint64_t{0});
}

// What one thread has counted.
void add(std::array<PuntClassTotals, kPuntClassCount>& classes, const PuntMeter& meter) {
  for (size_t c = 0; c < kPuntClassCount; ++c) {
    const PuntClassCounters& counters = meter.counters()[c];
    classes[c].passed += counters.passed.get();
    classes[c].dropped += counters.dropped.get();
    if (counters.dropped.get() == 0) continue;
    for (size_t i = 0; i < kMaxInterfaces; ++i)
      if (const uint64_t packets = counters.dropped_by_interface[i].get(); packets > 0)
        classes[c].dropped_at[InterfaceId(i)] += packets;
  }
}

void add(std::array<InterfaceShares, kReasonCount>& shares, const ReasonTable& table) {
  table.each([&](Reason reason, InterfaceId interface, uint64_t packets) {
    shares[static_cast<size_t>(reason)][interface] += packets;
  });
}

Totals collect(const Dataplane& dataplane) {
  Totals t;
  t.time = std::chrono::steady_clock::now();
  t.interfaces.resize(kMaxInterfaces);
  for (const auto& worker : dataplane.workers()) {
    add(t.dropped_at, worker->dropped_at());
    add(t.punt_classes, worker->punt_meter());
    const PipelineCounters& c = worker->counters();
    for (size_t i = 0; i < kMaxPorts; ++i) add_port(t.ports[i], c.ports[i]);
    for (size_t i = 0; i < kMaxInterfaces; ++i) add(t.interfaces[i], c.interfaces[i]);
    for (size_t i = 0; i < kReasonCount; ++i) t.dropped[i] += c.reasons.dropped[i].get();
    t.workers.push_back(totals_of(c.cycles));
  }
  const PipelineCounters& slow = dataplane.slow_path().counters();
  for (size_t i = 0; i < kMaxPorts; ++i) add_port(t.ports[i], slow.ports[i]);
  for (size_t i = 0; i < kMaxInterfaces; ++i) add(t.interfaces[i], slow.interfaces[i]);
  for (size_t i = 0; i < kReasonCount; ++i) {
    t.dropped[i] += slow.reasons.dropped[i].get();
    t.punted[i] += slow.reasons.punted[i].get();
  }
  t.dropped[static_cast<size_t>(Reason::kInterfaceDown)] += dataplane.lost_with_ports();
  add(t.dropped_at, dataplane.slow_path().dropped_at());
  add(t.punted_at, dataplane.slow_path().punted_at());
  add(t.punt_classes, dataplane.slow_path().punt_meter());
  t.injected = dataplane.slow_path().injected();
  t.injected_handed = dataplane.slow_path().injected_handed();
  for (const TrafficTotals& port : t.ports) {
    t.received += port.rx_packets;
    t.transmitted += port.tx_packets;
  }
  return t;
}

Sampler::Sampler(const Dataplane& dataplane)
    : Sampler([&dataplane] {
        Totals totals = router::collect(dataplane);
        for (size_t i = 0; i < totals.workers.size(); ++i)
          totals.workers[i].time = time_of_thread(dataplane.workers()[i]->thread_id());
        return totals;
      }) {}

Sampler::Sampler(std::function<Totals()> collect)
    : collect_(std::move(collect)),
      now_(collect_()),
      before_(now_),
      past_(shares_of(now_).size()) {}

void Sampler::sample() {
  before_ = std::move(now_);
  now_ = collect();
  seconds_ = std::chrono::duration<double>(now_.time - before_.time).count();
}

uint64_t Sampler::rate(uint64_t now, uint64_t before) const {
  if (seconds_ <= 0 || now < before) return 0;
  return static_cast<uint64_t>(static_cast<double>(now - before) / seconds_ + 0.5);
}

std::optional<CpuShare> Sampler::cpu_share(unsigned worker) const {
  if (worker >= before_.workers.size() || worker >= now_.workers.size()) return std::nullopt;
  const auto &now = now_.workers[worker].time, &before = before_.workers[worker].time;
  if (!now || !before) return std::nullopt;
  constexpr double kNsOfAPercent = 1e7;
  return CpuShare{static_cast<double>(rate(now->ran_ns, before->ran_ns)) / kNsOfAPercent,
                  static_cast<double>(rate(now->waited_ns, before->waited_ns)) / kNsOfAPercent};
}

void Sampler::reset_port(PortId port) {
  base_[port] = now_.ports[port] = before_.ports[port] = collect_().ports[port];
}

void Sampler::reset_interface(InterfaceId id) {
  Totals counted = collect_();
  base_interfaces_[id] = now_.interfaces[id] = before_.interfaces[id] = counted.interfaces[id];
  for (Totals* told : {&now_, &before_})
    for (InterfaceShares* shares : shares_of(*told)) disown(*shares, id);
  const std::vector<InterfaceShares*> all = shares_of(counted);
  for (size_t i = 0; i < all.size(); ++i)
    if (const auto share = all[i]->find(id); share != all[i]->end()) past_[i][id] = share->second;
}

Totals Sampler::settled(Totals totals) const {
  const std::vector<InterfaceShares*> all = shares_of(totals);
  for (size_t i = 0; i < all.size(); ++i)
    for (const auto& [id, packets] : past_[i]) disown(*all[i], id, packets);
  return totals;
}

TrafficTotals Sampler::interface(const Totals& totals, InterfaceId id) const {
  return minus(totals.interfaces[id], base_interfaces_[id]);
}

TrafficTotals Sampler::port(const Totals& totals, PortId port) const {
  return minus(totals.ports[port], base_[port]);
}

}  // namespace hecto::router
