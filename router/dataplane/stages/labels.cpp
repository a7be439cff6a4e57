#include "router/dataplane/stages/labels.hpp"

#include <algorithm>

#include "base/checksum_change.hpp"
#include "base/frame_tags.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/label_stack.hpp"
#include "router/dataplane/stages/opened_frame.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::router {
namespace {

using lookup::NextHopRecord;
using lookup::RecordKind;

constexpr unsigned kMostLooked = 16;      // entries of a stack; deeper ones are not looked at
constexpr uint32_t kReservedLabels = 16;  // RFC 3032 §2.1
constexpr unsigned kAhead = 6;            // packets whose first line is being fetched

bool is_ip(const uint8_t* ip, uint32_t bytes) noexcept {
  const uint8_t version = ip[0] >> 4;
  return version == 4 ? bytes >= kIpv4Bytes && (ip[0] & 0xf) >= 5
                      : version == 6 && bytes >= kIpv6Bytes;
}

bool is_v4(const uint8_t* ip) noexcept {
  return ip[0] >> 4 == 4;
}

uint8_t ttl_of(const uint8_t* ip) noexcept {
  return ip[is_v4(ip) ? 8 : 7];
}

void set_ttl(uint8_t* ip, uint8_t ttl) noexcept {
  if (!is_v4(ip)) {
    ip[7] = ttl;
    return;
  }
  const uint16_t before = load16_native(ip + 8);
  ip[8] = ttl;
  change_checksum(ip + 10, delta16(before, load16_native(ip + 8)));
}

void write_ether_type(uint8_t* ip) noexcept {
  const uint16_t type = is_v4(ip) ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(ip - 2, &type, sizeof type);
}

// What of a packet for a VRF classify would clear, damaged, or something that Linux is to look at.
enum class Inner : uint8_t { kCleared, kOdd, kDamaged };

Inner judge(const uint8_t* ip, uint32_t bytes, uint32_t& total) noexcept {
  if (!is_ip(ip, bytes)) return Inner::kDamaged;
  if (!is_v4(ip)) {
    const bool cleared = classify_detail::clear6(ip, bytes, false, &total);
    return total > bytes ? Inner::kDamaged : cleared ? Inner::kCleared : Inner::kOdd;
  }
  if (ip[0] != 0x45) return Inner::kOdd;  // options
  uint32_t destination = 0;
  const bool cleared = classify_detail::clear4(ip, bytes, false, &destination, &total);
  if (total < kIpv4Bytes || total > bytes) return Inner::kDamaged;
  if (cleared) return Inner::kCleared;
  const bool sound =
      ipv4_checksum_holds(load64_native(ip), load64_native(ip + 8), load32_native(ip + 16));
  return sound ? Inner::kOdd : Inner::kDamaged;
}

}  // namespace

uint32_t LabelStage::Frame::bytes() const noexcept {
  return packet->pkt_len - l2;
}

bool LabelStage::Frame::bottom() const noexcept {
  return (entry & kBottomOfStack) != 0;
}

void LabelStage::use(const Snapshot& snapshot, bool on) noexcept {
  snapshot_ = &snapshot;
  on_ = on && snapshot.label_flag != 0;
  if (on_) flag_ = snapshot.label_flag;
}

LabelStage::Taken LabelStage::refuse(const Frame& frame, Reason reason,
                                     Chunk& chunk) const noexcept {
  chunk.refuse(frame.packet, reason, frame.by);
  return Taken::kGone;
}

// False: it has no labels, or is not for an interface that forwards by them: classify has its name.
bool LabelStage::read(rte_mbuf* packet, const PortView& port, Frame& frame) const noexcept {
  if (packet->data_len < kEthernetBytes || packet->nb_segs != 1) return false;
  uint8_t* const data = rte_pktmbuf_mtod(packet, uint8_t*);
  const uint16_t type = load16_native(data + 12);
  if (type != kEtherMpls && !is_vlan_tag(type)) return false;
  const FrameTags l2 = read_frame_tags(data, packet->data_len);
  if (l2.ether_type != kEtherMpls) return false;
  if ((load64_native(data) & kMacMask) != port.mac) return false;
  if ((load64_native(data + 6) & kMacMask) == port.mac) return false;
  frame.by = l2.tags.vlan == 0 ? port.untagged : port.tagged.find(l2.tags);
  if (frame.by == kNoInterface) return false;
  const InterfaceView& view = snapshot_->interfaces[frame.by];
  if (!view.up || !view.labels || view.linux_only) return false;
  frame.packet = packet;
  frame.l2 = l2.l2_bytes;
  frame.label = data + l2.l2_bytes;
  return true;
}

// By the labels, and by the flow inside where that is seen.
uint32_t LabelStage::hash_of(const Frame& frame) const noexcept {
  const unsigned looked = frame.inside != 0 ? frame.inside : kMostLooked * kLabelBytes;
  uint32_t hash = snapshot_->ecmp_seed;
  for (unsigned at = 0; at < looked; at += kLabelBytes)
    hash = rte_hash_crc_4byte(load32_native(frame.label + at) & 0xf0ffffff, hash);
  frame.packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};  // it is of no flow
  const uint8_t* const ip = frame.label + frame.inside;
  const uint32_t bytes = frame.bytes() - frame.inside;
  if (frame.inside == 0 || !is_ip(ip, bytes)) return mix_hash(hash, snapshot_->ecmp_seed);
  return is_v4(ip) ? flow_hash4(frame.packet, ip, bytes, hash)
                   : flow_hash6(frame.packet, ip, bytes, hash);
}

LabelStage::Taken LabelStage::go(Frame& frame, const uint16_t* slots, const TableViews& tables,
                                 Chunk& chunk) noexcept {
  const uint32_t bytes = frame.bytes();
  if (bytes < kLabelBytes) return refuse(frame, Reason::kMplsMalformed, chunk);
  frame.entry = load32_be(frame.label);
  const uint32_t label = frame.entry >> 12;
  const lookup::GroupId group = tables.labels->group(slots, label);
  if (group == lookup::kNoRoute)
    return label < kReservedLabels ? Taken::kStays : refuse(frame, Reason::kMplsLabel, chunk);
  unsigned at = 0;
  while (at / kLabelBytes < kMostLooked && at + kLabelBytes <= bytes && frame.inside == 0) {
    at += kLabelBytes;
    if ((load32_be(frame.label + at - kLabelBytes) & kBottomOfStack) != 0) frame.inside = at;
  }
  if (frame.inside == 0 && at / kLabelBytes < kMostLooked)
    return refuse(frame, Reason::kMplsMalformed, chunk);
  if (frame.ttl() <= 1) return refuse(frame, Reason::kMplsTtl, chunk);
  const NextHopRecord* record = &tables.next_hops.record(group);
  if (record->kind == RecordKind::kMultipath) [[unlikely]]
    record = &tables.next_hops.member(*record, hash_of(frame));
  if (record->kind == RecordKind::kLabelled) [[likely]]
    return forward(frame, *record, chunk);
  if (record->kind == RecordKind::kReceive) return receive(frame, *record, chunk);
  if (record->kind != RecordKind::kDrop) return Taken::kStays;
  return refuse(frame, static_cast<Reason>(record->reason), chunk);
}

// mpls_forward() and mpls_egress() of Linux: a label that comes to the top keeps its own TTL, the
// traffic class of labels is 0.
LabelStage::Taken LabelStage::forward(const Frame& frame, const NextHopRecord& record,
                                      Chunk& chunk) noexcept {
  rte_mbuf* const packet = frame.packet;
  uint8_t* const payload = frame.label + kLabelBytes;
  const uint32_t bytes = frame.bytes() - kLabelBytes;
  const bool bare = record.label_count == 0 && frame.bottom();
  if (bare && !is_ip(payload, bytes)) return refuse(frame, Reason::kMplsMalformed, chunk);
  if (bytes > record.mtu) return refuse(frame, Reason::kMplsTooBig, chunk);
  const uint32_t left = frame.ttl() - 1;
  if (bare) {
    const bool uniform = record.label_ttl == 0;
    if (!uniform && ttl_of(payload) <= 1) return refuse(frame, Reason::kMplsTtl, chunk);
    set_ttl(payload, static_cast<uint8_t>(uniform ? left : ttl_of(payload) - 1u));
  }
  if (!rewrite_detail::write_labelled_header(packet, payload, frame.l2 + kLabelBytes, record, left,
                                             frame.bottom())) [[unlikely]]
    return refuse(frame, Reason::kTunnelNoRoom, chunk);
  if (bare) write_ether_type(payload);
  if (snapshot_->interfaces[record.interface].counters) {
    interfaces_[record.interface].tx_packets.add(1);
    interfaces_[record.interface].tx_bytes.add(bytes + record.label_count * kLabelBytes);
  }
  transmitter_.enqueue(PortId(record.port), packet);
  return Taken::kGone;
}

// As received by the wire: without its label the frame goes the way of all packets.
LabelStage::Taken LabelStage::uncover(const Frame& frame, const NextHopRecord& record,
                                      Chunk& chunk) noexcept {
  rte_mbuf* const packet = frame.packet;
  const RuleTables* const rules = snapshot_->rules.get();
  const bool in_vrf = rules != nullptr && ((rules->ipv4 && rules->ipv4->in_vrf(frame.by)) ||
                                           (rules->ipv6 && rules->ipv6->in_vrf(frame.by)));
  if (in_vrf) return Taken::kStays;
  uint8_t* const ip = frame.label + kLabelBytes;
  if (!is_ip(ip, frame.bytes() - kLabelBytes)) return refuse(frame, Reason::kMplsMalformed, chunk);
  if (record.label_ttl == 0) set_ttl(ip, static_cast<uint8_t>(frame.ttl()));
  uint8_t* const data = rte_pktmbuf_mtod(packet, uint8_t*);
  std::memmove(data + kLabelBytes, data, frame.l2);
  write_ether_type(ip);
  (void)rte_pktmbuf_adj(packet, kLabelBytes);
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH | RTE_MBUF_F_RX_IP_CKSUM_MASK};
  return Taken::kStays;
}

// What is inside came in by the VRF's device. One hop less it has behind rewrite alone, as Linux has it
// behind its look-up there (mpls_egress(), vrf_xmit()).
LabelStage::Taken LabelStage::receive(const Frame& frame, const NextHopRecord& record,
                                      Chunk& chunk) noexcept {
  if (!frame.bottom()) return Taken::kStays;
  const InterfaceId vrf(record.interface);
  if (vrf == kNoInterface) return uncover(frame, record, chunk);
  rte_mbuf* const packet = frame.packet;
  uint8_t* const ip = frame.label + kLabelBytes;
  uint32_t total = 0;
  const Inner inner = judge(ip, frame.bytes() - kLabelBytes, total);
  if (inner == Inner::kDamaged) return refuse(frame, Reason::kMplsMalformed, chunk);
  if (inner == Inner::kOdd || !snapshot_->interfaces[vrf].up) return Taken::kStays;
  if (record.label_ttl == 0) set_ttl(ip, static_cast<uint8_t>(frame.ttl()));
  packet->data_len = static_cast<uint16_t>(total + frame.l2 + kLabelBytes);  // padding goes
  packet->pkt_len = packet->data_len;
  begin_later(packet, kLabelBytes);
  packet->ol_flags = (packet->ol_flags & ~uint64_t{RTE_MBUF_F_RX_RSS_HASH}) | flag_;
  waiting_[waiting_count_++] = {packet, Ingress(vrf, frame.l2), is_v4(ip)};
  interfaces_[vrf].rx_packets.add(1);
  interfaces_[vrf].rx_bytes.add(total);
  return Taken::kGone;
}

uint64_t LabelStage::take(Chunk& chunk, const PortView& port, const TableViews& tables) noexcept {
  const uint16_t* const slots =
      tables.labels == nullptr ? nullptr : tables.labels->slots.load(std::memory_order_acquire);
  const unsigned count = chunk.count;
  chunk.count = chunk.refused_count = waiting_count_ = 0;
  uint64_t gone = 0;
  for (unsigned i = 0; i < count; ++i) {
    if (i + kAhead < count) rte_prefetch0(rte_pktmbuf_mtod(chunk.packets[i + kAhead], const void*));
    rte_mbuf* const packet = chunk.packets[i];
    const uint32_t bytes = packet->pkt_len;
    Frame frame;
    if (slots == nullptr || !read(packet, port, frame) ||
        go(frame, slots, tables, chunk) == Taken::kStays) {
      chunk.packets[chunk.count++] = packet;
      gone += bytes - packet->pkt_len;
      continue;
    }
    gone += bytes;
    if (!snapshot_->interfaces[frame.by].counters) continue;
    interfaces_[frame.by].rx_packets.add(1);
    interfaces_[frame.by].rx_bytes.add(bytes - frame.l2);
  }
  return gone;
}

void LabelStage::enter(Chunk& chunk) noexcept {
  for (unsigned i = 0; i < waiting_count_; ++i) {
    const Waiting& each = waiting_[i];
    const uint8_t* const ip =
        rte_pktmbuf_mtod_offset(each.packet, const uint8_t*, each.ingress.l2_length());
    const auto append = [&](auto& lane) {
      lane.packets[lane.count] = each.packet;
      lane.ingress[lane.count] = each.ingress;
      return lane.count++;
    };
    if (each.v4)
      chunk.v4.destinations[append(chunk.v4)] = load32_be(ip + 16);
    else
      std::memcpy(&chunk.v6.destinations[append(chunk.v6)], ip + 24, 16);
  }
  waiting_count_ = 0;
}

}  // namespace hecto::router
