#include "router/sflow/datagram.hpp"

namespace hecto::router {
namespace {

// Of enterprise 0.
constexpr uint32_t kFlowSampleExpanded = 3, kCountersSampleExpanded = 4;
constexpr uint32_t kRawHeader = 1, kExtendedRouter = 1002;
constexpr uint32_t kInterfaceCounters = 1, kPortName = 1005;

constexpr uint32_t kVersion = 5;
constexpr uint32_t kEthernet = 1;          // header_protocol
constexpr uint32_t kFrameCheck_bytes = 4;  // counted, and stripped
constexpr uint32_t kIfIndex = 0;           // what a data source's number is
constexpr uint32_t kEthernetCsmacd = 6;    // ifType
constexpr uint32_t kFullDuplex = 1;
constexpr uint32_t kTrue = 1, kFalse = 2;  // of SNMP

void write_raw_header(XdrWriter& out, const SflowPacket& packet) {
  out.u32(kRawHeader);
  const size_t begun = out.begin();
  out.u32(kEthernet);
  out.u32(packet.length + kFrameCheck_bytes);
  out.u32(kFrameCheck_bytes);
  out.opaque(packet.header);
  out.end(begun);
}

void write_router(XdrWriter& out, const SflowRouter& router) {
  out.u32(kExtendedRouter);
  const size_t begun = out.begin();
  out.address(router.next_hop);
  out.u32(router.source_length);
  out.u32(router.destination_length);
  out.end(begun);
}

void write_packet(XdrWriter& out, const SflowPacket& packet) {
  out.u32(kFlowSampleExpanded);
  const size_t begun = out.begin();
  out.u32(packet.sequence);
  out.u32(kIfIndex);
  out.u32(packet.source);
  out.u32(packet.rate);
  out.u32(packet.pool);
  out.u32(packet.drops);
  out.u32(SflowOutput::kInterface);
  out.u32(packet.source);
  out.u32(packet.output.format);
  out.u32(packet.output.value);
  out.u32(packet.router ? 2 : 1);
  write_raw_header(out, packet);
  if (packet.router) write_router(out, *packet.router);
  out.end(begun);
}

void write_interface(XdrWriter& out, const SflowCounters& c) {
  out.u32(kInterfaceCounters);
  const size_t begun = out.begin();
  out.u32(c.source);
  out.u32(kEthernetCsmacd);
  out.u64(c.speed_bps);
  out.u32(kFullDuplex);
  out.u32((c.admin_up ? 1u : 0u) | (c.up ? 2u : 0u));
  out.u64(c.in_bytes);
  out.u32(c.in_packets);  // of all kinds: nobody counts them by kind
  out.u32(kUnknownCounter);
  out.u32(kUnknownCounter);
  out.u32(c.in_discards);
  out.u32(c.in_errors);
  out.u32(kUnknownCounter);  // of unknown protocols
  out.u64(c.out_bytes);
  out.u32(c.out_packets);
  out.u32(kUnknownCounter);
  out.u32(kUnknownCounter);
  out.u32(kUnknownCounter);  // discards
  out.u32(c.out_errors);
  out.u32(c.promiscuous ? kTrue : kFalse);
  out.end(begun);
}

void write_counters(XdrWriter& out, const SflowCounters& counters) {
  out.u32(kCountersSampleExpanded);
  const size_t begun = out.begin();
  out.u32(counters.sequence);
  out.u32(kIfIndex);
  out.u32(counters.source);
  out.u32(2);
  write_interface(out, counters);
  out.u32(kPortName);
  const size_t name = out.begin();
  out.opaque(std::as_bytes(std::span(counters.name)));
  out.end(name);
  out.end(begun);
}

}  // namespace

void SflowDatagrams::set_agent(const lookup::IpAddress& agent) {
  if (agent == agent_) return;
  send(begun_);
  agent_ = agent;
}

void SflowDatagrams::add(const SflowPacket& packet, Clock::time_point now) {
  sample_.clear();
  write_packet(sample_, packet);
  put(now);
}

void SflowDatagrams::add(const SflowCounters& counters, Clock::time_point now) {
  sample_.clear();
  write_counters(sample_, counters);
  put(now);
}

void SflowDatagrams::put(Clock::time_point now) {
  if (samples_ > 0 && datagram_.size() + sample_.size() > kMostDatagram_bytes) send(now);
  if (samples_ == 0) {
    datagram_.clear();
    datagram_.u32(kVersion);
    datagram_.address(agent_);
    datagram_.u32(sub_agent_);
    datagram_.u32(++sequence_);
    uptime_at_ = datagram_.size();
    datagram_.u32(0);
    count_at_ = datagram_.size();
    datagram_.u32(0);
    begun_ = now;
  }
  datagram_.append(sample_);
  ++samples_;
}

void SflowDatagrams::flush(Clock::time_point now, Clock::duration longest) {
  if (samples_ > 0 && now - begun_ >= longest) send(now);
}

void SflowDatagrams::send(Clock::time_point now) {
  if (samples_ == 0) return;
  const auto uptime = std::chrono::duration_cast<std::chrono::milliseconds>(now - started_);
  datagram_.set(uptime_at_, static_cast<uint32_t>(uptime.count()));
  datagram_.set(count_at_, samples_);
  samples_ = 0;
  send_(datagram_.bytes());
}

}  // namespace hecto::router
