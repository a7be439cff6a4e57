// A scrape: all families of families.hpp, from what `show` shows. Control thread only; of workers it
// reads what the sampler copied last, at most a second old, so that a scrape costs them nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "router/api/metrics/writer.hpp"

namespace hecto::router {

class Dataplane;
class FilterControl;
class ForwardingPlane;
class InterfaceTable;
class Ipsec;
class LinuxSide;
class Offload;
class Routing;
class SampleControl;
class Sampler;
class TurnTimes;
struct PortStatus;
struct TableUse;

struct MetricsSources {
  const ForwardingPlane& plane;
  const Sampler& sampler;
  const InterfaceTable& interfaces;
  const std::vector<PortStatus>& lost_ports;  // that do not run
  const Routing& routing;
  const TableUse& tables;
  size_t replicas;              // of the tables
  const LinuxSide* linux_side;  // null: static mode
  const Ipsec& ipsec;
  const FilterControl* filters;  // null: none are known
  const Offload* offload;        // null: no device
  const Dataplane* dataplane;    // whose workers use it
  const TurnTimes& times;
  uint64_t tsc_hz;
  double uptime_s;
  size_t warnings;
  bool gate_open, unconfirmed;
  const SampleControl* samples = nullptr;  // null: nobody takes any
};

std::string metrics_text(const MetricsSources& sources, MetricsFormat format);

// The parts of it.
void write_process(MetricsWriter& out, const MetricsSources& s);
void write_packets(MetricsWriter& out, const MetricsSources& s);
void write_ports(MetricsWriter& out, const MetricsSources& s);  // and interfaces
void write_workers(MetricsWriter& out, const MetricsSources& s);
void write_nat(MetricsWriter& out, const MetricsSources& s);
void write_pools(MetricsWriter& out, const MetricsSources& s);
void write_routes(MetricsWriter& out, const MetricsSources& s);
void write_filters(MetricsWriter& out, const MetricsSources& s);
void write_ipsec(MetricsWriter& out, const MetricsSources& s);
void write_sflow(MetricsWriter& out, const MetricsSources& s);
void write_ipfix(MetricsWriter& out, const MetricsSources& s);
void write_offload(MetricsWriter& out, const MetricsSources& s);

}  // namespace hecto::router
