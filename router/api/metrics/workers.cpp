// What became of packets, and the workers.
#include <array>

#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "router/api/metrics/metrics.hpp"
#include "router/api/show/names.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

void write_reasons(MetricsWriter& out, const Totals& now) {
  out.family("hecto_dropped_packets");
  for (size_t i = 1; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    out.add({reason.name, to_string(reason.stage), reason.punt ? "punt_limited" : "drop"},
            now.dropped[i]);
  }
  out.family("hecto_punted_packets");
  for (size_t i = 1; i < kReasonCount; ++i)
    if (const ReasonInfo& reason = info(static_cast<Reason>(i)); reason.punt)
      out.add({reason.name}, now.punted[i]);
}

// One series a name: interfaces that are gone have none.
void write_shares(MetricsWriter& out, const char* family,
                  const std::array<InterfaceShares, kReasonCount>& shares,
                  const InterfaceTable& interfaces) {
  out.family(family);
  for (size_t i = 0; i < kReasonCount; ++i)
    for (const auto& [interface, packets] : by_name(shares[i], interfaces))
      out.add({info(static_cast<Reason>(i)).name, interface}, packets);
}

void write_punt_classes(MetricsWriter& out, const Totals& now, const InterfaceTable& interfaces) {
  const auto name_of = [](size_t i) { return info(static_cast<PuntClass>(i)).name; };
  out.family("hecto_punt_class_passed_packets");
  for (size_t i = 0; i < kPuntClassCount; ++i) out.add({name_of(i)}, now.punt_classes[i].passed);
  out.family("hecto_punt_class_dropped_packets");
  for (size_t i = 0; i < kPuntClassCount; ++i) out.add({name_of(i)}, now.punt_classes[i].dropped);
  out.family("hecto_punt_class_interface_dropped_packets");
  for (size_t i = 0; i < kPuntClassCount; ++i)
    for (const auto& [interface, packets] : by_name(now.punt_classes[i].dropped_at, interfaces))
      out.add({name_of(i), interface}, packets);
}

double ratio(uint64_t part, uint64_t rest) {
  return part + rest == 0 ? 0 : static_cast<double>(part) / static_cast<double>(part + rest);
}

void write_cpu_time(MetricsWriter& out, const std::vector<WorkerTotals>& workers) {
  out.family("hecto_worker_cpu_seconds");
  for (size_t i = 0; i < workers.size(); ++i)
    if (const auto& time = workers[i].time)
      out.add({std::to_string(i), "running"}, static_cast<double>(time->ran_ns) / 1e9)
          .add({std::to_string(i), "waiting"}, static_cast<double>(time->waited_ns) / 1e9);
}

void write_counters(MetricsWriter& out, const std::vector<WorkerTotals>& workers) {
  const auto each = [&](const char* family, auto number) {
    out.family(family);
    for (size_t i = 0; i < workers.size(); ++i) out.add({std::to_string(i)}, workers[i].*number);
  };
  each("hecto_worker_packets", &WorkerTotals::packets);
  each("hecto_worker_bursts", &WorkerTotals::busy_iterations);
  each("hecto_worker_busy_cycles", &WorkerTotals::busy);
  each("hecto_worker_idle_cycles", &WorkerTotals::idle);
  each("hecto_worker_sampled_packets", &WorkerTotals::sampled_packets);
  out.family("hecto_worker_stage_cycles");
  for (size_t i = 0; i < workers.size(); ++i)
    for (size_t stage = 0; stage < kTimedStages.size(); ++stage)
      out.add({std::to_string(i), kTimedStages[stage]}, workers[i].stage_cycles[stage]);
}

}  // namespace

void write_packets(MetricsWriter& out, const MetricsSources& s) {
  const Totals& now = s.sampler.now();
  out.family("hecto_received_packets").add({}, now.received);
  out.family("hecto_injected_packets").add({}, now.injected);
  out.family("hecto_transmitted_packets").add({}, now.transmitted);
  write_reasons(out, now);
  write_shares(out, "hecto_interface_dropped_packets", now.dropped_at, s.interfaces);
  write_shares(out, "hecto_interface_punted_packets", now.punted_at, s.interfaces);
  write_punt_classes(out, now, s.interfaces);
}

void write_workers(MetricsWriter& out, const MetricsSources& s) {
  const std::vector<WorkerStatus> workers = s.plane.workers();
  out.family("hecto_worker");
  for (const WorkerStatus& worker : workers)
    out.add({std::to_string(worker.id), std::to_string(worker.cpu), std::to_string(worker.socket)},
            true);
  out.family("hecto_worker_queue");
  for (const WorkerStatus& worker : workers)
    for (const WorkerStatus::Queue& queue : worker.queues)
      out.add({std::to_string(worker.id), queue.port, std::to_string(queue.queue)}, true);
  out.family("hecto_worker_remote_queues");
  for (const WorkerStatus& worker : workers)
    out.add({std::to_string(worker.id)}, uint64_t{worker.remote_queues});
  const std::vector<WorkerTotals>& now = s.sampler.now().workers;
  const std::vector<WorkerTotals>& before = s.sampler.before().workers;
  out.family("hecto_worker_busy_ratio");
  for (size_t i = 0; i < now.size() && i < before.size(); ++i)
    out.add({std::to_string(i)}, ratio(now[i].busy - before[i].busy, now[i].idle - before[i].idle));
  write_counters(out, now);
  write_cpu_time(out, now);
  out.family("hecto_burst_limit_packets").add({}, uint64_t{s.plane.burst()});
  out.family("hecto_tsc_hertz").add({}, s.tsc_hz);
}

}  // namespace hecto::router
