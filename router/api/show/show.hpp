// The router's state as JSON, in the shapes of docs/api.md: one function a noun, given what it
// shows and no more. Control thread only.
#pragma once

#include <array>
#include <chrono>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "lookup/fib.hpp"

namespace hecto::config {
struct NatConfig;
}

namespace hecto::router {

struct Balance;
class BridgeControl;
class Dataplane;
class FilterControl;
class FlowControl;
class ForwardingPlane;
class NatControl;
class InterfaceTable;
class Ipsec;
class LinuxSide;
class NicSessions;
class Offload;
class OffloadWatch;
class PersistControl;
class ReorderWatch;
class Routing;
class LabelControl;
struct LabelStack;
class SampleControl;
class Sampler;
class TraceSession;
struct Explanation;
struct FlowsQuery;
struct FlowId;
struct PacketAnswer;
struct RoutePage;
struct PoolStatus;
struct PortStatus;
struct Running;

// How full the tables of the workers are.
struct TableUse {
  lookup::FibStatistics ipv4, ipv6;
  uint32_t groups = 0, max_groups = 0;  // of next hops
};

struct Summary {
  const Running& running;
  const ForwardingPlane& plane;
  const Sampler& sampler;
  const TableUse& tables;
  const LinuxSide* linux_side;  // null: static mode
  std::chrono::seconds uptime;
  std::vector<std::string> warnings;
};

// summary.cpp
nlohmann::json show_summary(const Summary& summary);
nlohmann::json show_config(const Running& running, const ForwardingPlane& plane);
nlohmann::json show_plan(const Running& running);
// flows.cpp
nlohmann::json show_flows(FlowControl& control);
nlohmann::json walk_flows(FlowControl& control, FlowId from, uint32_t limit);
// bonds.cpp
nlohmann::json show_bonds(const ForwardingPlane& plane, const ReorderWatch& order);
nlohmann::json show_bridges(const BridgeControl* bridges);  // null: static mode
nlohmann::json show_filters(const FilterControl& filters);  // filters.cpp
// nat.cpp
nlohmann::json show_nat(const ForwardingPlane& plane, const config::NatConfig& nat,
                        const NatControl& control, const InterfaceTable& interfaces);
// ports.cpp. `linux_side`: null in static mode.
// `lost`: ports that do not run; they stand there with what keeps them from it.
nlohmann::json show_ports(const ForwardingPlane& plane, const Sampler& sampler,
                          const InterfaceTable& interfaces, const OffloadWatch& offloads,
                          const std::vector<PortStatus>& lost);
nlohmann::json show_interfaces(const InterfaceTable& interfaces, const Routing& routing,
                               const ForwardingPlane& plane, const Sampler& sampler,
                               const LinuxSide* linux_side);
// A driver, or a frame from Linux, found the pool empty.
uint64_t times_exhausted(const PoolStatus& pool, const ForwardingPlane& plane,
                         const LinuxSide* linux_side);
nlohmann::json show_pools(const ForwardingPlane& plane, const LinuxSide* linux_side);
// Whose cycles workers sample, in the order of WorkerTotals::stage_cycles.
inline constexpr std::array<const char*, 5> kTimedStages = {"receive", "classify", "lookup",
                                                            "rewrite", "transmit"};
// workers.cpp. `tsc_hz`: of the cycle counter.
nlohmann::json show_workers(const ForwardingPlane& plane, const Sampler& sampler, uint64_t tsc_hz);
nlohmann::json show_drops(const ForwardingPlane& plane, const InterfaceTable& interfaces,
                          const Sampler& sampler, const Balance& balance);
// punt.cpp
nlohmann::json show_punt(const ForwardingPlane& plane, const InterfaceTable& interfaces,
                         const Sampler& sampler);
// samples.cpp
nlohmann::json show_sflow(const SampleControl& samples);
nlohmann::json show_ipfix(const SampleControl& samples);
nlohmann::json show_top_flows(const SampleControl& samples, const FlowsQuery& query,
                              const ForwardingPlane& plane, const InterfaceTable& interfaces);
// labels.cpp. `control`: null in static mode.
nlohmann::json show_labels(const Routing& routing, const LabelControl* control);
nlohmann::json labels_json(const LabelStack& stack);
std::string labels_text(const LabelStack& stack);  // 100/200, the outermost first
// routes.cpp
nlohmann::json show_neighbors(const Routing& routing);
nlohmann::json show_rules(const Routing& routing, bool marks);  // filters give packets some
nlohmann::json show_tables(const Routing& routing);
nlohmann::json show_next_hops(const Routing& routing, const TableUse& tables,
                              const ForwardingPlane& plane);
nlohmann::json show_page(const Routing& routing, const RoutePage& page,
                         const PersistControl& persist);
// The routes of an address, and what becomes of a packet to it.
nlohmann::json show_explanation(const ForwardingPlane& plane, const Routing& routing,
                                const Explanation& explanation, const PacketAnswer& packet,
                                const PersistControl& persist);
// mtu.cpp. What carries how long packets; the way to an address, where one is asked about.
struct MtuPath {
  const Explanation& explanation;
  const PacketAnswer& packet;
};
struct MtuSources {
  const InterfaceTable& interfaces;
  const Routing& routing;
  const ForwardingPlane& plane;
  const BridgeControl* bridges;  // null: static mode
};
nlohmann::json show_mtu(const MtuSources& sources, const MtuPath* path);
// `offload`: null without a device; `found`: devices, or why there is none.
nlohmann::json show_offload(const std::string& found, const Offload* offload,
                            const Dataplane& dataplane);
// `nic`: null where NICs are to do no crypto.
nlohmann::json show_ipsec(const Ipsec& ipsec, const std::string& crypto, const NicSessions* nic,
                          const PersistControl& persist);

// What of a trace's packets is told in names.
struct TraceNames {
  const ForwardingPlane& plane;
  const InterfaceTable& interfaces;
  const Routing& routing;
};
// Packets with a number above `after`.
nlohmann::json show_trace(const TraceNames& names, const TraceSession& session, uint32_t after);

}  // namespace hecto::router
