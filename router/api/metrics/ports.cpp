// Ports, interfaces and pools.
#include "config/file/words.hpp"
#include "router/api/metrics/metrics.hpp"
#include "router/api/show/show.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/control/linux_side.hpp"
#include "router/dataplane/nat/tables.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

// A family of one number for each port, or interface.
template <typename Things, typename Name, typename Number>
void write_each(MetricsWriter& out, const char* family, const Things& things, Name name,
                Number number) {
  out.family(family);
  for (const auto& thing : things) out.add({name(thing)}, number(thing));
}

struct PortSample {
  PortStatus status;
  PortStatistics statistics;
  TrafficTotals traffic;
};

void write_port_counters(MetricsWriter& out, const std::vector<PortSample>& ports) {
  const auto each = [&](const char* family, auto number) {
    write_each(
        out, family, ports,
        [](const PortSample& p) -> const std::string& { return p.status.name(); }, number);
  };
  using P = const PortSample&;
  each("hecto_port_receive_packets", [](P p) { return p.traffic.rx_packets; });
  each("hecto_port_receive_bytes", [](P p) { return p.traffic.rx_bytes; });
  each("hecto_port_receive_missed_packets", [](P p) { return p.statistics.missed; });
  each("hecto_port_receive_no_mbuf_packets", [](P p) { return p.statistics.no_mbuf; });
  each("hecto_port_receive_errors", [](P p) { return p.statistics.rx_errors; });
  each("hecto_port_transmit_packets", [](P p) { return p.traffic.tx_packets; });
  each("hecto_port_transmit_bytes", [](P p) { return p.traffic.tx_bytes; });
  each("hecto_port_transmit_errors", [](P p) { return p.statistics.tx_errors; });
}

void write_port_states(MetricsWriter& out, const std::vector<PortSample>& ports,
                       const std::vector<PortStatus>& lost) {
  out.family("hecto_port");
  for (const auto& [port, statistics, traffic] : ports)
    out.add(
        {port.name(), config::device_words(port.config), port.driver, std::to_string(port.socket)},
        true);
  out.family("hecto_port_up");
  for (const auto& [port, statistics, traffic] : ports) out.add({port.name()}, port.up());
  for (const PortStatus& port : lost) out.add({port.name()}, false);
  out.family("hecto_port_speed_bytes_per_second");
  for (const auto& [port, statistics, traffic] : ports)
    if (port.link.speed_mbps != 0)
      out.add({port.name()}, uint64_t{port.link.speed_mbps} * (1'000'000 / 8));
  out.family("hecto_port_mtu_bytes");
  for (const auto& [port, statistics, traffic] : ports) out.add({port.name()}, uint64_t{port.mtu});
  out.family("hecto_port_queues");
  for (const auto& [port, statistics, traffic] : ports)
    out.add({port.name(), "receive"}, uint64_t{port.rx_queues})
        .add({port.name(), "transmit"}, uint64_t{port.tx_queues});
}

void write_queues(MetricsWriter& out, const std::vector<PortSample>& ports) {
  const auto each = [&](const char* family, auto number) {
    out.family(family);
    for (const PortSample& sample : ports)
      for (size_t i = 0; i < sample.statistics.queues.size(); ++i)
        out.add({sample.status.name(), std::to_string(i)}, sample.statistics.queues[i].*number);
  };
  each("hecto_queue_receive_packets", &QueueStatistics::rx_packets);
  each("hecto_queue_receive_bytes", &QueueStatistics::rx_bytes);
  each("hecto_queue_transmit_packets", &QueueStatistics::tx_packets);
  each("hecto_queue_transmit_bytes", &QueueStatistics::tx_bytes);
}

void write_order(MetricsWriter& out, const std::vector<PortSample>& ports) {
  const auto each = [&](const char* family, uint64_t TrafficTotals::*number) {
    out.family(family);
    for (const PortSample& port : ports)
      if (port.status.config.bond) out.add({port.status.name()}, port.traffic.*number);
  };
  each("hecto_bond_receive_tcp_segments", &TrafficTotals::rx_segments);
  each("hecto_bond_receive_reordered_segments", &TrafficTotals::rx_reordered);
}

void write_bonds(MetricsWriter& out, const std::vector<BondStatus>& bonds) {
  const auto each = [&](const char* family, auto number) {
    out.family(family);
    for (const BondStatus& bond : bonds)
      for (const BondMemberStatus& member : bond.members)
        out.add({bond.name, member.device}, number(member));
  };
  using M = const BondMemberStatus&;
  each("hecto_bond_member_active", [](M m) { return m.active; });
  each("hecto_bond_member_changes", [](M m) { return m.changes; });
  each("hecto_bond_member_receive_packets", [](M m) { return m.traffic.rx_packets; });
  each("hecto_bond_member_transmit_packets", [](M m) { return m.traffic.tx_packets; });
  each("hecto_bond_member_lost_packets", [](M m) { return m.traffic.lost; });
}

void write_interfaces(MetricsWriter& out, const MetricsSources& s) {
  out.family("hecto_interface_up");
  std::vector<std::pair<std::string, TrafficTotals>> counted;
  for (const auto& [id, interface] : s.interfaces.all()) {
    out.add({interface.name}, s.plane.interface_up(id));
    if (interface.counters)
      counted.emplace_back(interface.name, s.sampler.interface(s.sampler.now(), id));
  }
  const auto each = [&](const char* family, auto number) {
    write_each(
        out, family, counted, [](const auto& c) -> const std::string& { return c.first; },
        [&](const auto& c) { return c.second.*number; });
  };
  each("hecto_interface_receive_packets", &TrafficTotals::rx_packets);
  each("hecto_interface_receive_bytes", &TrafficTotals::rx_bytes);
  each("hecto_interface_transmit_packets", &TrafficTotals::tx_packets);
  each("hecto_interface_transmit_bytes", &TrafficTotals::tx_bytes);
}

}  // namespace

void write_ports(MetricsWriter& out, const MetricsSources& s) {
  std::vector<PortSample> ports;
  for (const PortStatus& port : s.plane.ports())
    ports.push_back(
        {port, s.plane.statistics(port.name()), s.sampler.port(s.sampler.now(), port.id)});
  write_port_states(out, ports, s.lost_ports);
  write_port_counters(out, ports);
  write_queues(out, ports);
  write_bonds(out, s.plane.bonds());
  write_order(out, ports);
  write_interfaces(out, s);
}

void write_nat(MetricsWriter& out, const MetricsSources& s) {
  const auto tables = s.plane.nat();
  const auto each = [&](const char* family, auto number) {
    out.family(family);
    if (!tables) return;
    for (const nat::PoolUse& use : tables->pools) {
      uint64_t sum = 0;
      for (unsigned worker = 0; worker < use.pool->workers(); ++worker)
        sum += number(use.pool->share(worker));
      out.add({use.pool->config().name}, sum);
    }
  };
  using Share = const nat::Share&;
  each("hecto_nat_sessions", [](Share share) { return share.sessions(); });
  each("hecto_nat_sessions_limit", [](Share share) { return uint64_t{share.capacity()}; });
  each("hecto_nat_sessions_opened", [](Share share) { return share.opened(); });
  each("hecto_nat_blocks_used", [](Share share) { return share.blocks().used_blocks(); });
  each("hecto_nat_blocks", [](Share share) { return uint64_t{share.blocks().blocks()}; });
  each("hecto_nat_hosts", [](Share share) { return share.blocks().hosts(); });
}

void write_pools(MetricsWriter& out, const MetricsSources& s) {
  const std::vector<PoolStatus> pools = s.plane.pools();
  const auto each = [&](const char* family, auto number) {
    out.family(family);
    for (const PoolStatus& pool : pools)
      out.add({pool.name, std::to_string(pool.socket)}, uint64_t{number(pool)});
  };
  each("hecto_pool_size_mbufs", [](const PoolStatus& pool) { return pool.size; });
  each("hecto_pool_used_mbufs", [](const PoolStatus& pool) { return pool.in_use; });
  each("hecto_pool_exhausted",
       [&](const PoolStatus& pool) { return times_exhausted(pool, s.plane, s.linux_side); });
}

}  // namespace hecto::router
