#include "router/api/metrics/metrics.hpp"

#include "base/version.hpp"
#include "lookup/kernels.hpp"
#include "router/control/turn_times.hpp"
#include "router/dataplane/ports/eal.hpp"

namespace hecto::router {

void write_process(MetricsWriter& out, const MetricsSources& s) {
  out.family("hecto_build")
      .add({HECTO_VERSION, commit(), Eal::version(), lookup::to_string(lookup::kernels().isa)},
           true);
  out.family("hecto_uptime_seconds").add({}, s.uptime_s);
  out.family("hecto_warnings").add({}, uint64_t{s.warnings});
  out.family("hecto_gate_open").add({}, s.gate_open);
  out.family("hecto_configuration_unconfirmed").add({}, s.unconfirmed);
}

std::string metrics_text(const MetricsSources& sources, MetricsFormat format) {
  MetricsWriter out(format);
  for (const auto write :
       {write_process, write_packets, write_ports, write_workers, write_nat, write_pools,
        write_routes, write_filters, write_ipsec, write_offload, write_sflow, write_ipfix})
    write(out, sources);
  const TimeHistogram& turns = sources.times.turns();
  out.family("hecto_control_turn_seconds")
      .histogram(TimeHistogram::kBounds_s, turns.counts(), turns.sum_s());
  return std::move(out).finish();
}

}  // namespace hecto::router
