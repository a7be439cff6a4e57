#include "router/api/metrics/families.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::router {
namespace {

constexpr auto kGauge = MetricKind::kGauge;
constexpr auto kCounter = MetricKind::kCounter;
constexpr auto kHistogram = MetricKind::kHistogram;
constexpr auto kInfo = MetricKind::kInfo;

// clang-format off
constexpr MetricFamily kFamilies[] = {
  {"hecto_build", kInfo, "", "version,commit,dpdk_version,lookup_isa", "Which hectod runs."},
  {"hecto_uptime_seconds", kGauge, "seconds", "", "Since hectod started."},
  {"hecto_warnings", kGauge, "", "", "Lines that hecto show summary warns with."},
  {"hecto_gate_open", kGauge, "", "", "1: it forwards; 0: all that comes in is dropped as not_ready."},
  {"hecto_configuration_unconfirmed", kGauge, "", "",
   "1: a reload waits for hecto confirm, and is taken back without."},

  {"hecto_received_packets", kCounter, "packets", "", "That workers took from receive queues."},
  {"hecto_injected_packets", kCounter, "packets", "", "That came from Linux."},
  {"hecto_transmitted_packets", kCounter, "packets", "", "That went to transmit queues."},
  {"hecto_dropped_packets", kCounter, "packets", "reason,stage,kind",
   "That were dropped; kind punt_limited: to Linux, but over the rate."},
  {"hecto_punted_packets", kCounter, "packets", "reason", "That went to Linux."},
  {"hecto_interface_dropped_packets", kCounter, "packets", "reason,interface",
   "hecto_dropped_packets by the interface that they came in by, where there were any."},
  {"hecto_interface_punted_packets", kCounter, "packets", "reason,interface",
   "hecto_punted_packets likewise."},
  {"hecto_punt_class_passed_packets", kCounter, "packets", "class", "That went to Linux, by class."},
  {"hecto_punt_class_dropped_packets", kCounter, "packets", "class",
   "That were over the class's rate."},
  {"hecto_punt_class_interface_dropped_packets", kCounter, "packets", "class,interface",
   "The same, where there were any."},

  {"hecto_port", kInfo, "", "port,device,driver,socket", "Ports that run."},
  {"hecto_port_up", kGauge, "", "port", "1: the device is there and its link is up."},
  {"hecto_port_speed_bytes_per_second", kGauge, "bytes_per_second", "port",
   "Of the link, where it is known."},
  {"hecto_port_mtu_bytes", kGauge, "bytes", "port", "Longest IP packet."},
  {"hecto_port_queues", kGauge, "", "port,direction", "Receive and transmit queues."},
  {"hecto_port_receive_packets", kCounter, "packets", "port", "That came in."},
  {"hecto_port_receive_bytes", kCounter, "bytes", "port", "Of them, as whole Ethernet frames."},
  {"hecto_port_receive_missed_packets", kCounter, "packets", "port",
   "That the device dropped: its receive queue was full."},
  {"hecto_port_receive_no_mbuf_packets", kCounter, "packets", "port",
   "That the driver dropped: the pool was empty."},
  {"hecto_port_receive_errors", kCounter, "", "port", "Broken frames."},
  {"hecto_port_transmit_packets", kCounter, "packets", "port", "That went out."},
  {"hecto_port_transmit_bytes", kCounter, "bytes", "port", "Of them, as whole Ethernet frames."},
  {"hecto_port_transmit_errors", kCounter, "", "port", "Frames that the device did not send."},
  {"hecto_queue_receive_packets", kCounter, "packets", "port,queue",
   "By the driver's count, where it has one; of the first 16 queues."},
  {"hecto_queue_receive_bytes", kCounter, "bytes", "port,queue", "Likewise."},
  {"hecto_queue_transmit_packets", kCounter, "packets", "port,queue", "Likewise."},
  {"hecto_queue_transmit_bytes", kCounter, "bytes", "port,queue", "Likewise."},

  {"hecto_bond_member_active", kGauge, "", "port,member",
   "1: it carries packets of the bond; of LACP, it distributes."},
  {"hecto_bond_member_changes", kCounter, "", "port,member", "Times it came or went."},
  {"hecto_bond_member_receive_packets", kCounter, "packets", "port,member", "By its driver."},
  {"hecto_bond_member_transmit_packets", kCounter, "packets", "port,member", "Likewise."},
  {"hecto_bond_member_lost_packets", kCounter, "packets", "port,member",
   "That its driver lost or refused, in either direction."},
  {"hecto_bond_receive_tcp_segments", kCounter, "segments", "port",
   "Whose order was looked at, a sample."},
  {"hecto_bond_receive_reordered_segments", kCounter, "segments", "port",
   "Of them, that came behind a later one."},

  {"hecto_interface_up", kGauge, "", "interface", "1: packets are taken from it."},
  {"hecto_interface_receive_packets", kCounter, "packets", "interface",
   "Of interfaces with counters: true, as the next three."},
  {"hecto_interface_receive_bytes", kCounter, "bytes", "interface", "Likewise."},
  {"hecto_interface_transmit_packets", kCounter, "packets", "interface", "Likewise."},
  {"hecto_interface_transmit_bytes", kCounter, "bytes", "interface", "Likewise."},

  {"hecto_worker", kInfo, "", "worker,cpu,socket", "Workers."},
  {"hecto_worker_queue", kInfo, "", "worker,port,queue", "Which worker polls which queue."},
  {"hecto_worker_remote_queues", kGauge, "", "worker", "Queues of ports on another socket."},
  {"hecto_worker_busy_ratio", kGauge, "ratio", "worker",
   "Of the last second, the share in which it had packets."},
  {"hecto_worker_packets", kCounter, "packets", "worker", "That it took."},
  {"hecto_worker_bursts", kCounter, "", "worker",
   "Polls that found packets: hecto_worker_packets by it is how full bursts are."},
  {"hecto_worker_busy_cycles", kCounter, "cycles", "worker",
   "With packets: by hecto_worker_packets it is the cycles a packet takes."},
  {"hecto_worker_idle_cycles", kCounter, "cycles", "worker", "Without."},
  {"hecto_worker_sampled_packets", kCounter, "packets", "worker",
   "Received in polls whose stages were timed; of a port that spreads some go on elsewhere, "
   "untimed."},
  {"hecto_worker_stage_cycles", kCounter, "cycles", "worker,stage",
   "By hecto_worker_sampled_packets it is the cycles a packet takes in the stage."},
  {"hecto_worker_cpu_seconds", kCounter, "seconds", "worker,state",
   "Of its thread, as the kernel counts: running, or waiting for its core."},
  {"hecto_burst_limit_packets", kGauge, "packets", "", "Most packets of a burst."},
  {"hecto_tsc_hertz", kGauge, "hertz", "", "What a second has of cycles."},

  {"hecto_nat_sessions", kGauge, "", "pool", "That are open."},
  {"hecto_nat_sessions_limit", kGauge, "", "pool", "As many as there may be."},
  {"hecto_nat_sessions_opened", kCounter, "", "pool", "Since the pool is as it is."},
  {"hecto_nat_blocks_used", kGauge, "", "pool", "Blocks of ports that hosts have."},
  {"hecto_nat_blocks", kGauge, "", "pool", "Those that there are."},
  {"hecto_nat_hosts", kGauge, "", "pool", "That have a block."},

  {"hecto_pool_size_mbufs", kGauge, "mbufs", "pool,socket", "Packet buffers of the pool."},
  {"hecto_pool_used_mbufs", kGauge, "mbufs", "pool,socket", "Of them in use."},
  {"hecto_pool_exhausted", kCounter, "", "pool,socket", "Times that none was left."},

  {"hecto_routes", kGauge, "", "family", "Routes that are known."},
  {"hecto_routes_by_origin", kGauge, "", "origin", "The same by who said so."},
  {"hecto_routes_by_protocol", kGauge, "", "protocol", "The same by the routing protocol."},
  {"hecto_rib_bytes", kGauge, "bytes", "", "Memory of routes."},
  {"hecto_fib_prefixes", kGauge, "", "family", "Of the table that workers read."},
  {"hecto_fib_bytes", kGauge, "bytes", "family", "Its memory, of one replica."},
  {"hecto_fib_used_bytes", kGauge, "bytes", "family", "Of it in use."},
  {"hecto_fib_replicas", kGauge, "", "", "One a socket."},
  {"hecto_fib_writes", kCounter, "", "", "Prefixes that were written or taken out."},
  {"hecto_fib_refused_prefixes", kCounter, "prefixes", "", "For which the table had no room."},
  {"hecto_fib_incomplete_prefixes", kGauge, "prefixes", "",
   "That are not in the table now, or punted, for want of room or of a group."},
  {"hecto_next_hop_groups", kGauge, "", "", "Distinct next hops and ECMP sets."},
  {"hecto_next_hop_groups_limit", kGauge, "", "", "Most of them."},
  {"hecto_next_hop_groups_refused", kCounter, "", "", "For which there was none left."},
  {"hecto_route_update_seconds", kHistogram, "seconds", "",
   "From the reading of changes from netlink to their being in the table."},
  {"hecto_neighbors", kGauge, "", "state", "Neighbors."},
  {"hecto_mirror_synchronized", kGauge, "", "", "1: Linux's routes are here; 0: they are being read."},
  {"hecto_mirror_messages", kCounter, "", "", "Of netlink, that were read."},
  {"hecto_mirror_overruns", kCounter, "", "", "Times that the kernel lost notifications."},
  {"hecto_mirror_resyncs", kCounter, "", "", "Times that all was read again."},

  {"hecto_filter_packets", kCounter, "packets", "filter,rule",
   "That the rule held for; of rules with a name, and of what none held for (otherwise)."},
  {"hecto_filter_bytes", kCounter, "bytes", "filter,rule", "Likewise, of IP packets."},
  {"hecto_policer_packets", kCounter, "packets", "policer,color",
   "green: within its rate; yellow: within its excess; red: dropped."},
  {"hecto_policer_bytes", kCounter, "bytes", "policer,color", "Likewise, of IP packets."},
  {"hecto_filter_memory_bytes", kGauge, "bytes", "", "Of rules and sets as workers read them."},

  {"hecto_ipsec_sas", kGauge, "", "state", "Security associations; soft_expired: one should follow."},
  {"hecto_ipsec_sas_limit", kGauge, "", "", "Most of them."},
  {"hecto_ipsec_sas_refused", kCounter, "", "", "Of Linux's, over the limit or with keys that do not fit."},
  {"hecto_ipsec_sa_lifetime_used_ratio", kGauge, "ratio", "",
   "Of the SA that is nearest to its hard lifetime or its last sequence number: how much is used."},
  {"hecto_ipsec_packets", kCounter, "packets", "", "That were sealed or opened."},
  {"hecto_ipsec_bytes", kCounter, "bytes", "", "Of them, as SAs count."},
  {"hecto_ipsec_policies", kGauge, "", "", "Policies."},
  {"hecto_ipsec_policies_limit", kGauge, "", "", "Most of them."},
  {"hecto_ipsec_policies_refused", kCounter, "", "", "Of Linux's, over the limit."},
  {"hecto_ipsec_policies_without_sa", kGauge, "", "", "Outbound ones that find no SA."},

  {"hecto_offload_device_ready", kGauge, "", "device", "1: it works; 0: it loads, or has stopped."},
  {"hecto_offload_device_stops", kCounter, "", "device", "Times that it was given up."},
  {"hecto_offload_packets", kCounter, "packets", "kind", "That went to a device."},
  {"hecto_offload_batches", kCounter, "", "kind,outcome", "Batches by what became of them."},

  {"hecto_sflow_samples", kCounter, "", "outcome",
   "Packets that were sampled: exported, or dropped for want of room."},
  {"hecto_sflow_datagrams", kCounter, "", "collector", "That left for it."},
  {"hecto_sflow_failed_datagrams", kCounter, "", "collector", "That did not."},
  {"hecto_sflow_refused", kCounter, "", "collector", "Answers that nobody listens there."},

  {"hecto_ipfix_records", kCounter, "", "outcome",
   "Of flows: told, or lost where too many entries went at once."},
  {"hecto_ipfix_records_before_time", kCounter, "", "", "Of flows that others needed the place of."},
  {"hecto_ipfix_flows", kGauge, "", "", "Flows under way."},
  {"hecto_ipfix_flows_limit", kGauge, "", "", "Most of them."},
  {"hecto_ipfix_messages", kCounter, "", "collector", "That left for it."},
  {"hecto_ipfix_failed_messages", kCounter, "", "collector", "That did not."},
  {"hecto_ipfix_refused", kCounter, "", "collector", "Answers that nobody listens there."},

  {"hecto_control_turn_seconds", kHistogram, "seconds", "",
   "Of control's turns: how long the next event waits at most."},
};
// clang-format on

}  // namespace

std::string_view to_string(MetricKind kind) noexcept {
  constexpr std::string_view kWords[] = {"gauge", "counter", "histogram", "info"};
  return kWords[static_cast<size_t>(kind)];
}

std::span<const MetricFamily> metric_families() {
  return kFamilies;
}

std::string_view sample_suffix(MetricKind kind) noexcept {
  return kind == kCounter ? "_total" : kind == kInfo ? "_info" : "";
}

std::string sample_name(const MetricFamily& family) {
  return std::string(family.name).append(sample_suffix(family.kind));
}

std::string markdown_row(const MetricFamily& family) {
  std::string labels;
  for (size_t at = 0; at < family.labels.size();) {
    const size_t end = std::min(family.labels.find(',', at), family.labels.size());
    labels += fmt::format("{}`{}`", at == 0 ? "" : ", ", family.labels.substr(at, end - at));
    at = end + 1;
  }
  return fmt::format("| `{}` | {} | {} | {} |", sample_name(family), to_string(family.kind), labels,
                     family.help);
}

}  // namespace hecto::router
