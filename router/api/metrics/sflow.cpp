// Samples for sFlow, and its collectors.
#include "router/api/metrics/metrics.hpp"
#include "router/control/sample_control.hpp"

namespace hecto::router {

void write_sflow(MetricsWriter& out, const MetricsSources& s) {
  static const std::vector<Collector> kNobody;
  const bool on = s.samples != nullptr && s.samples->sflow().on();
  out.family("hecto_sflow_samples");
  if (on)
    out.add({"exported"}, s.samples->sflow().exported()).add({"dropped"}, s.samples->counts().lost);
  const std::vector<Collector>& collectors = on ? s.samples->sflow().collectors() : kNobody;
  const auto each = [&](const char* family, uint64_t Collector::Counts::*number) {
    out.family(family);
    for (const Collector& collector : collectors)
      out.add({to_string(collector.endpoint())}, collector.counts().*number);
  };
  each("hecto_sflow_datagrams", &Collector::Counts::datagrams);
  each("hecto_sflow_failed_datagrams", &Collector::Counts::failed);
  each("hecto_sflow_refused", &Collector::Counts::refused);
}

}  // namespace hecto::router
