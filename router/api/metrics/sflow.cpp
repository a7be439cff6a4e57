// Samples for sFlow and IPFIX, and their collectors.
#include <string>

#include "router/api/metrics/metrics.hpp"
#include "router/control/sample_control.hpp"

namespace hecto::router {
namespace {

void write_collectors(MetricsWriter& out, const std::string& of, const char* sent,
                      const std::vector<Collector>& collectors) {
  const auto each = [&](const std::string& family, uint64_t Collector::Counts::*number) {
    out.family("hecto_" + of + family);
    for (const Collector& collector : collectors)
      out.add({to_string(collector.endpoint())}, collector.counts().*number);
  };
  each(std::string("_") + sent, &Collector::Counts::datagrams);
  each(std::string("_failed_") + sent, &Collector::Counts::failed);
  each("_refused", &Collector::Counts::refused);
}

const std::vector<Collector> kNobody;

}  // namespace

void write_sflow(MetricsWriter& out, const MetricsSources& s) {
  const bool on = s.samples != nullptr && s.samples->sflow().on();
  out.family("hecto_sflow_samples");
  if (on)
    out.add({"exported"}, s.samples->sflow().exported()).add({"dropped"}, s.samples->counts().lost);
  write_collectors(out, "sflow", "datagrams", on ? s.samples->sflow().collectors() : kNobody);
}

void write_ipfix(MetricsWriter& out, const MetricsSources& s) {
  const bool on = s.samples != nullptr && s.samples->ipfix().on();
  const IpfixExport::Counts counts = on ? s.samples->ipfix().counts() : IpfixExport::Counts{};
  out.family("hecto_ipfix_records");
  if (on) out.add({"told"}, counts.records).add({"lost"}, counts.lost);
  out.family("hecto_ipfix_records_before_time");
  if (on) out.add({}, counts.before_time);
  out.family("hecto_ipfix_flows");
  if (on) out.add({}, uint64_t{counts.flows});
  out.family("hecto_ipfix_flows_limit");
  if (on) out.add({}, uint64_t{counts.room});
  write_collectors(out, "ipfix", "messages", on ? s.samples->ipfix().collectors() : kNobody);
}

}  // namespace hecto::router
