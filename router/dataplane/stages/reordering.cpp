#include "router/dataplane/stages/reordering.hpp"

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/stages/framed_ip.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kProtocolTcp = 6;
constexpr uint32_t kLeastTcpBytes = 20;
constexpr uint8_t kFlagFin = 0x01, kFlagSyn = 0x02, kFlagRst = 0x04;

}  // namespace

std::optional<TcpSegment> tcp_segment(PortId port, const uint8_t* frame, uint32_t bytes,
                                      uint32_t frame_bytes) noexcept {
  const FramedIp framed = find_ip(frame, bytes);
  if (framed.ip == nullptr || framed.damaged) return std::nullopt;
  const uint8_t* const ip = framed.ip;
  TcpSegment segment;
  uint32_t header = kIpv6Bytes, total = 0;
  if (framed.family == lookup::Family::kIpv4) {
    const bool fragment = (load16_be(ip + 6) & 0x3fff) != 0;  // MF or an offset
    if (ip[9] != kProtocolTcp || fragment) return std::nullopt;
    header = (ip[0] & 0xf) * 4u;
    total = load16_be(ip + 2);
    segment.flow.addresses[0] = load64_native(ip + 12);
  } else {
    if (ip[6] != kProtocolTcp) return std::nullopt;
    total = kIpv6Bytes + load16_be(ip + 4);
    for (unsigned i = 0; i < 4; ++i) segment.flow.addresses[i] = load64_native(ip + 8 + i * 8);
  }
  if (framed.bytes < header + kLeastTcpBytes || framed.l2_bytes + total > frame_bytes)
    return std::nullopt;
  const uint8_t* const tcp = ip + header;
  const uint32_t behind = header + (tcp[12] >> 4) * 4u;
  if (behind < header + kLeastTcpBytes || behind > total) return std::nullopt;
  segment.flow.ports = load32_native(tcp);
  if (framed.l2_bytes > kEthernetBytes) segment.flow.vlan = load16_be(ip - kVlanTagBytes) & 0xfff;
  segment.flow.port = port;
  segment.sequence = load32_be(tcp + 4);
  segment.bytes = total - behind;
  segment.flags = tcp[13];
  return segment;
}

Reordering::Counts Reordering::watch(PortId port, rte_mbuf* const* packets, unsigned count,
                                     uint64_t now) noexcept {
  Counts counts;
  if (now < rests_until_) return counts;
  for (unsigned i = 0; i < count; ++i) {
    const rte_mbuf* const packet = packets[i];
    const auto segment = tcp_segment(port, rte_pktmbuf_mtod(packet, const uint8_t*),
                                     packet->data_len, packet->pkt_len);
    if (segment && follows_ && segment->flow == flow_)
      take(*segment, now, counts);
    else if (segment && !follows_)
      begin(*segment, now);
    else if (++strangers_ >= kPatiencePackets)
      follows_ = false;
  }
  looked_at_ += count;
  if (looked_at_ < kWindowPackets) return counts;
  looked_at_ = 0;
  follows_ = false;
  rests_until_ = now + kRest_ms * cycles_per_ms_;
  return counts;
}

void Reordering::begin(const TcpSegment& segment, uint64_t now) noexcept {
  if (segment.bytes == 0 || (segment.flags & (kFlagSyn | kFlagFin | kFlagRst)) != 0) return;
  follows_ = true;
  flow_ = segment.flow;
  next_ = segment.sequence + segment.bytes;
  gap_at_ = now;
  segments_ = strangers_ = 0;
}

// Sequence numbers go around: what is less than half of them ahead is ahead.
void Reordering::take(const TcpSegment& segment, uint64_t now, Counts& counts) noexcept {
  strangers_ = 0;
  // Its end, or the ports' next connection.
  if ((segment.flags & (kFlagSyn | kFlagFin | kFlagRst)) != 0) follows_ = false;
  if (segment.bytes == 0 || !follows_) return;
  ++counts.segments;
  const uint32_t end = segment.sequence + segment.bytes;
  const auto ahead = static_cast<int32_t>(segment.sequence - next_);
  if (ahead > 0) gap_at_ = now;
  if (ahead < 0 && ahead >= -kFar_bytes && now - gap_at_ <= kLate_ms * cycles_per_ms_)
    ++counts.reordered;
  if (ahead < -kFar_bytes || static_cast<int32_t>(end - next_) > 0) next_ = end;
  if (++segments_ >= kFlowSegments) follows_ = false;
}

}  // namespace hecto::router
