#include "router/dataplane/sampler.hpp"

#include <map>
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

TrafficTotals minus(const TrafficTotals& a, const TrafficTotals& b) {
  return {a.rx_packets - b.rx_packets, a.rx_bytes - b.rx_bytes, a.tx_packets - b.tx_packets,
          a.tx_bytes - b.tx_bytes};
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

}  // namespace

uint64_t Totals::dropped_total() const {
  return std::accumulate(dropped.begin(), dropped.end(), uint64_t{0});
}
uint64_t Totals::punted_total() const {
  return std::accumulate(punted.begin(), punted.end(), uint64_t{0});
}

// What one thread has counted.
void add(std::array<PuntClassTotals, kPuntClassCount>& classes,
         std::vector<std::array<uint64_t, kPuntClassCount>>& dropped, const PuntMeter& meter) {
  for (size_t c = 0; c < kPuntClassCount; ++c) {
    const PuntClassCounters& counters = meter.counters()[c];
    classes[c].passed += counters.passed.get();
    classes[c].dropped += counters.dropped.get();
    if (counters.dropped.get() == 0) continue;
    for (size_t i = 0; i < kMaxInterfaces; ++i)
      dropped[i][c] += counters.dropped_by_interface[i].get();
  }
}

std::array<PuntClassTotals, kPuntClassCount> punt_classes_of(const Dataplane& dataplane) {
  std::array<PuntClassTotals, kPuntClassCount> classes;
  std::vector<std::array<uint64_t, kPuntClassCount>> dropped(kMaxInterfaces);
  for (const auto& worker : dataplane.workers()) add(classes, dropped, worker->punt_meter());
  add(classes, dropped, dataplane.slow_path().punt_meter());
  for (size_t i = 0; i < kMaxInterfaces; ++i)
    for (size_t c = 0; c < kPuntClassCount; ++c)
      if (dropped[i][c] > 0)
        classes[c].dropped_by_interface.emplace_back(InterfaceId(i), dropped[i][c]);
  return classes;
}

class ReasonShares {
 public:
  void add(const ReasonTable& table) {
    table.each([this](Reason reason, InterfaceId interface, uint64_t packets) {
      packets_[{reason, interface}] += packets;
    });
  }
  std::vector<ReasonShare> list() const {
    std::vector<ReasonShare> all;
    for (const auto& [pair, packets] : packets_) all.push_back({pair.first, pair.second, packets});
    return all;
  }

 private:
  std::map<std::pair<Reason, InterfaceId>, uint64_t> packets_;
};

Totals collect(const Dataplane& dataplane) {
  Totals t;
  t.time = std::chrono::steady_clock::now();
  t.interfaces.resize(kMaxInterfaces);
  ReasonShares dropped, punted;
  for (const auto& worker : dataplane.workers()) {
    dropped.add(worker->dropped_at());
    const PipelineCounters& c = worker->counters();
    for (size_t i = 0; i < kMaxPorts; ++i) add(t.ports[i], c.ports[i]);
    for (size_t i = 0; i < kMaxInterfaces; ++i) add(t.interfaces[i], c.interfaces[i]);
    for (size_t i = 0; i < kReasonCount; ++i) t.dropped[i] += c.reasons.dropped[i].get();
    t.workers.push_back(totals_of(c.cycles));
  }
  const PipelineCounters& slow = dataplane.slow_path().counters();
  for (size_t i = 0; i < kMaxPorts; ++i) add(t.ports[i], slow.ports[i]);
  for (size_t i = 0; i < kMaxInterfaces; ++i) add(t.interfaces[i], slow.interfaces[i]);
  for (size_t i = 0; i < kReasonCount; ++i) {
    t.dropped[i] += slow.reasons.dropped[i].get();
    t.punted[i] += slow.reasons.punted[i].get();
  }
  t.dropped[static_cast<size_t>(Reason::kInterfaceDown)] += dataplane.lost_with_ports();
  dropped.add(dataplane.slow_path().dropped_at());
  punted.add(dataplane.slow_path().punted_at());
  t.dropped_at = dropped.list();
  t.punted_at = punted.list();
  t.punt_classes = punt_classes_of(dataplane);
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
    : collect_(std::move(collect)), now_(collect_()), before_(now_) {}

void Sampler::sample() {
  before_ = std::move(now_);
  now_ = collect_();
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
  base_interfaces_[id] = now_.interfaces[id] = before_.interfaces[id] = collect_().interfaces[id];
}

TrafficTotals Sampler::interface(const Totals& totals, InterfaceId id) const {
  return minus(totals.interfaces[id], base_interfaces_[id]);
}

TrafficTotals Sampler::port(const Totals& totals, PortId port) const {
  return minus(totals.ports[port], base_[port]);
}

}  // namespace hecto::router
