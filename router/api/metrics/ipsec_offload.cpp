// ESP, and work on devices.
#include <algorithm>
#include <array>

#include "router/api/metrics/metrics.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/offload/offload.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {
namespace {

using gpu_offload::DeviceControl;
using gpu_offload::StageCounters;

// The counters of a kind of work, of all workers together.
struct KindTotals {
  uint64_t packets = 0;
  std::array<uint64_t, 5> outcomes{};
};
constexpr std::array<const char*, 5> kOutcomes = {"completed", "late", "failed", "wrong",
                                                  "abandoned"};

template <typename Path>
void add_to(std::array<KindTotals, gpu_offload::kJobKinds>& totals, const Path& path) {
  const StageCounters& c = path.stage().counters();
  KindTotals& of = totals[static_cast<size_t>(path.stage().options().kind)];
  of.packets += c.submitted_items.get();
  const uint64_t outcomes[] = {c.completed.get(), c.late.get(), c.failed.get(), c.wrong.get(),
                               c.abandoned.get()};
  for (size_t i = 0; i < of.outcomes.size(); ++i) of.outcomes[i] += outcomes[i];
}

std::array<KindTotals, gpu_offload::kJobKinds> totals_of(const Dataplane& dataplane) {
  std::array<KindTotals, gpu_offload::kJobKinds> totals{};
  for (const auto& worker : dataplane.workers()) {
    if (worker->options().offload == nullptr) continue;
    const WorkerOffload& mine = *worker->options().offload;
    if (const auto* lookups = mine.lookups()) {
      add_to(totals, lookups->v4);
      add_to(totals, lookups->v6);
    }
    if (const EspOffload* esp = mine.esp())
      for (unsigned i = 0; i < EspDirection::kPaths; ++i) {
        add_to(totals, esp->opening().path(i));
        add_to(totals, esp->sealing().path(i));
      }
  }
  return totals;
}

}  // namespace

void write_ipsec(MetricsWriter& out, const MetricsSources& s) {
  const IpsecStatistics ipsec = s.ipsec.statistics();
  const SaTotals& sas = ipsec.sa_totals;
  out.family("hecto_ipsec_sas")
      .add({"active"}, uint64_t{ipsec.sas} - std::min(ipsec.sas, sas.soft_expired + sas.expired))
      .add({"soft_expired"}, uint64_t{sas.soft_expired})
      .add({"expired"}, uint64_t{sas.expired});
  out.family("hecto_ipsec_sas_limit").add({}, uint64_t{ipsec.max_sas});
  out.family("hecto_ipsec_sas_refused").add({}, ipsec.sas_refused);
  out.family("hecto_ipsec_sa_lifetime_used_ratio").add({}, sas.most_used);
  out.family("hecto_ipsec_packets").add({}, sas.packets);
  out.family("hecto_ipsec_bytes").add({}, sas.bytes);
  out.family("hecto_ipsec_policies").add({}, uint64_t{ipsec.policies});
  out.family("hecto_ipsec_policies_limit").add({}, uint64_t{ipsec.max_policies});
  out.family("hecto_ipsec_policies_refused").add({}, ipsec.policies_refused);
  out.family("hecto_ipsec_policies_without_sa").add({}, uint64_t{ipsec.policies_without_sa});
}

void write_offload(MetricsWriter& out, const MetricsSources& s) {
  const bool none = s.offload == nullptr || s.dataplane == nullptr;
  out.family("hecto_offload_device_ready");
  // What does not change is read from an object that control may change otherwise.
  if (!none)
    for (const auto& device : s.offload->devices()) {
      auto& control = const_cast<DeviceControl&>(device.control);
      out.add({control.device().name()}, control.phase() == DeviceControl::Phase::kReady);
    }
  out.family("hecto_offload_device_stops");
  if (!none)
    for (const auto& device : s.offload->devices()) {
      auto& control = const_cast<DeviceControl&>(device.control);
      out.add({control.device().name()}, uint64_t{control.stops()});
    }
  const auto totals =
      none ? std::array<KindTotals, gpu_offload::kJobKinds>{} : totals_of(*s.dataplane);
  out.family("hecto_offload_packets");
  for (size_t kind = 0; kind < totals.size() && !none; ++kind)
    out.add({gpu_offload::kJobKindNames[kind]}, totals[kind].packets);
  out.family("hecto_offload_batches");
  for (size_t kind = 0; kind < totals.size() && !none; ++kind)
    for (size_t i = 0; i < kOutcomes.size(); ++i)
      out.add({gpu_offload::kJobKindNames[kind], kOutcomes[i]}, totals[kind].outcomes[i]);
}

}  // namespace hecto::router
