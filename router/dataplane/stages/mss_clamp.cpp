#include "router/dataplane/stages/mss_clamp.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/stages/rewrite.hpp"

namespace hecto::router {
namespace {

using lookup::NextHopRecord;
using lookup::RecordKind;

constexpr uint8_t kTcp = 6, kIpv6Fragment = 44;
constexpr uint32_t kTcpBytes = 20, kFragmentBytes = 8;
constexpr uint8_t kSyn = 0x02;
constexpr uint8_t kEndOfOptions = 0, kNoOperation = 1, kMss = 2, kMssBytes = 4;

struct Segment {
  uint8_t* tcp = nullptr;  // null: none
  uint32_t bytes = 0;      // that there are, in one piece
};

// `bytes`: of the packet's first segment from `ip` on.
Segment find_tcp(Lane4&, uint8_t* ip, uint32_t bytes) noexcept {
  const bool first = (load16_be(ip + 6) & 0x1fff) == 0;
  if (ip[9] != kTcp || !first) return {};  // no options come here
  return {ip + kIpv4Bytes, bytes - kIpv4Bytes};
}
Segment find_tcp(Lane6&, uint8_t* ip, uint32_t bytes) noexcept {
  if (ip[6] == kTcp) return {ip + kIpv6Bytes, bytes - kIpv6Bytes};
  const uint8_t* const fragment = ip + kIpv6Bytes;
  if (ip[6] != kIpv6Fragment || bytes < kIpv6Bytes + kFragmentBytes || fragment[0] != kTcp ||
      (load16_be(fragment + 2) & 0xfff8) != 0)
    return {};
  return {ip + kIpv6Bytes + kFragmentBytes, bytes - kIpv6Bytes - kFragmentBytes};
}

bool is_syn(const Segment& segment) noexcept {
  return segment.tcp != nullptr && segment.bytes >= kTcpBytes && (segment.tcp[13] & kSyn) != 0;
}

// The record by which rewrite will send it, or, of one that waits for its neighbor, by which Linux
// is to.
template <typename Address>
const NextHopRecord& record_for(Lane<Address>& lane, unsigned i, const uint8_t* ip,
                                const lookup::NextHopView& hops,
                                const Snapshot& snapshot) noexcept {
  const NextHopRecord& record = hops.record(lane.groups[i]);
  if (record.kind != RecordKind::kMultipath) return record;
  const rte_mbuf* const packet = lane.packets[i];
  const uint32_t hash = rewrite_detail::flow_hash(
      lane, packet, ip, packet->data_len - lane.ingress[i].l2_length(), snapshot.ecmp_seed);
  return hops.member(record, hash);
}

template <typename Address>
void clamp(Lane<Address>& lane, const lookup::NextHopView& hops,
           const Snapshot& snapshot) noexcept {
  constexpr uint32_t kHeaders = kTcpBytes + (sizeof(Address) == 4 ? kIpv4Bytes : kIpv6Bytes);
  for (unsigned i = 0; i < lane.count; ++i) {
    rte_mbuf* const packet = lane.packets[i];
    const unsigned l2_length = lane.ingress[i].l2_length();
    uint8_t* const ip = rte_pktmbuf_mtod(packet, uint8_t*) + l2_length;
    const Segment segment = find_tcp(lane, ip, packet->data_len - l2_length);
    if (!is_syn(segment)) continue;
    const NextHopRecord& record = record_for(lane, i, ip, hops, snapshot);
    if (record.mtu == 0) continue;  // it does not go on by a port of ours
    const InterfaceView& in = snapshot.interfaces[lane.ingress[i].interface()];
    if (!in.clamps_mss && !snapshot.interfaces[record.interface].clamps_mss) continue;
    const uint32_t mtu = in.mtu == 0 ? record.mtu : std::min(in.mtu, record.mtu);
    if (mtu > kHeaders)
      (void)lower_mss(segment.tcp, segment.bytes, static_cast<uint16_t>(mtu - kHeaders));
  }
}

}  // namespace

void clamp_mss(Lane4& lane, const lookup::NextHopView& next_hops,
               const Snapshot& snapshot) noexcept {
  clamp(lane, next_hops, snapshot);
}
void clamp_mss(Lane6& lane, const lookup::NextHopView& next_hops,
               const Snapshot& snapshot) noexcept {
  clamp(lane, next_hops, snapshot);
}

bool lower_mss(uint8_t* tcp, uint32_t bytes, uint16_t most) noexcept {
  const uint32_t header = (tcp[12] >> 4) * 4u;
  if (header < kTcpBytes || header > bytes) return false;
  for (uint32_t at = kTcpBytes; at < header && tcp[at] != kEndOfOptions;) {
    if (tcp[at] == kNoOperation) {
      ++at;
      continue;
    }
    if (at + 2 > header || tcp[at + 1] < 2 || at + tcp[at + 1] > header) return false;
    if (tcp[at] != kMss) {
      at += tcp[at + 1];
      continue;
    }
    uint8_t* const value = tcp + at + 2;
    if (tcp[at + 1] != kMssBytes || load16_be(value) <= most) return false;
    // HC' = ~(~HC + ~m + m'); of a field that straddles two words each byte counts for the other place.
    const auto word = [at](uint16_t mss) { return at % 2 == 0 ? mss : __builtin_bswap16(mss); };
    const auto before = static_cast<uint16_t>(~word(load16_be(value)));
    const uint32_t sum =
        static_cast<uint16_t>(~load16_be(tcp + 16)) + uint32_t{before} + word(most);
    store16_be(tcp + 16, static_cast<uint16_t>(~fold_sum(sum)));
    store16_be(value, most);
    return true;
  }
  return false;
}

}  // namespace hecto::router
