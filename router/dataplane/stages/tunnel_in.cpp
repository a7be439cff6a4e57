// Tunnels on the way in: the frame begins so much later that as long an L2 header as before lies in front
// of the inner packet. What was there stays till rewrite writes another one: what is refused before begins
// again where it did. How much it is stands in the mbuf, as the length of an outer header.
#include "base/frame_tags.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/tunnel.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using lookup::Family;
using Kind = TunnelKey::Kind;

constexpr uint16_t kGreKey = 0x0020;  // as load16_native sees 0x2000
constexpr uint8_t kNotEct = 0, kEct1 = 1, kEct0 = 2, kCe = 3;

bool is_of_tunnel(uint8_t protocol) noexcept {
  return protocol == kProtocolGre || protocol == kProtocolIpv4 || protocol == kProtocolIpv6;
}

// What stands behind the outer IP header, up to the inner one.
struct Payload {
  Kind kind = Kind::kGre;
  uint32_t key = 0;
  uint32_t bytes = 0;  // of GRE's header
  bool inner4 = false;
};

// False: not as it is opened here. Of GRE no checksum, no sequence number, no routing, version 0.
bool read_payload(uint8_t protocol, const uint8_t* at, uint32_t bytes, Payload& payload) noexcept {
  payload.inner4 = protocol == kProtocolIpv4;
  payload.kind = payload.inner4 ? Kind::kIpv4 : Kind::kIpv6;
  if (protocol != kProtocolGre) return true;
  if (bytes < 4) return false;
  const uint16_t flags = load16_native(at), type = load16_native(at + 2);
  const bool with_key = flags == kGreKey;
  if ((flags != 0 && !with_key) || (type != kEtherIpv4 && type != kEtherIpv6)) return false;
  payload.inner4 = type == kEtherIpv4;
  payload.kind = with_key ? Kind::kGreWithKey : Kind::kGre;
  payload.bytes = with_key ? 8 : 4;
  if (bytes < payload.bytes) return false;
  if (with_key) payload.key = load32_be(at + 4);
  return true;
}

// Of a packet inside: cleared as classify would; damaged; or something that Linux is to look at.
enum class Inner : uint8_t { kCleared, kOdd, kDamaged };

Inner clear_inner(const uint8_t* ip, uint32_t bytes, uint32_t& destination) noexcept {
  if (bytes < kIpv4Bytes || ip[0] >> 4 != 4 || (ip[0] & 0xf) < 5) return Inner::kDamaged;
  if (ip[0] != 0x45) return Inner::kOdd;  // options
  uint32_t total = 0;
  const bool cleared = classify_detail::clear4(ip, bytes, false, &destination, &total);
  if (total < kIpv4Bytes || total > bytes) return Inner::kDamaged;
  if (cleared) return total == bytes ? Inner::kCleared : Inner::kOdd;
  const bool sound =
      ipv4_checksum_holds(load64_native(ip), load64_native(ip + 8), load32_native(ip + 16));
  return sound ? Inner::kOdd : Inner::kDamaged;
}

Inner clear_inner(const uint8_t* ip, uint32_t bytes, lookup::Ipv6Address& destination) noexcept {
  if (bytes < kIpv6Bytes || ip[0] >> 4 != 6) return Inner::kDamaged;
  uint32_t total = 0;
  const bool cleared = classify_detail::clear6(ip, bytes, false, &total);
  if (total > bytes) return Inner::kDamaged;
  std::memcpy(&destination, ip + 24, sizeof destination);
  return cleared && total == bytes ? Inner::kCleared : Inner::kOdd;
}

uint8_t ecn_of(const uint8_t* ip, bool v4) noexcept {
  return v4 ? ip[1] & 3 : ip[1] >> 4 & 3;
}

void set_ecn(uint8_t* ip, bool v4, uint8_t ecn) noexcept {
  if (!v4) {
    ip[1] = static_cast<uint8_t>((ip[1] & 0xcf) | ecn << 4);
    return;
  }
  ip[1] = static_cast<uint8_t>((ip[1] & 0xfc) | ecn);
  std::memset(ip + 10, 0, 2);
  store16_be(ip + 10, ipv4_checksum(ip, kIpv4Bytes));
}

// RFC 6040 §4.2, figure 4. False: it is to be dropped.
bool take_ecn(uint8_t* inner, bool v4, uint8_t outer) noexcept {
  if (outer == kNotEct || outer == kEct0) [[likely]]
    return true;
  const uint8_t before = ecn_of(inner, v4);
  if (outer == kCe && before == kNotEct) return false;
  if (outer == kCe && before != kCe) set_ecn(inner, v4, kCe);
  if (outer == kEct1 && before == kEct0) set_ecn(inner, v4, kEct1);
  return true;
}

void begin_later(rte_mbuf* packet, uint32_t bytes) noexcept {
  packet->data_off = static_cast<uint16_t>(packet->data_off + bytes);
  packet->data_len = static_cast<uint16_t>(packet->data_len - bytes);
  packet->pkt_len -= bytes;
  packet->outer_l3_len = bytes;
}

void begin_as_before(rte_mbuf* packet) noexcept {
  const auto bytes = static_cast<uint32_t>(packet->outer_l3_len);
  if (bytes > packet->data_off) return;
  packet->data_off = static_cast<uint16_t>(packet->data_off - bytes);
  packet->data_len = static_cast<uint16_t>(packet->data_len + bytes);
  packet->pkt_len += bytes;
  packet->outer_l3_len = 0;
}

template <typename Address>
void append(Lane<Address>& lane, rte_mbuf* packet, Ingress ingress,
            const Address& destination) noexcept {
  lane.packets[lane.count] = packet;
  lane.destinations[lane.count] = destination;
  lane.ingress[lane.count++] = ingress;
}

}  // namespace

TunnelStage::Outer TunnelStage::read4(const uint8_t* ip, uint32_t bytes) noexcept {
  constexpr uint16_t kFragment = 0x3fff;  // more of them, or an offset
  if (!is_of_tunnel(ip[9]) || ip[0] != 0x45 || (load16_be(ip + 6) & kFragment) != 0) return {};
  Payload payload;
  if (!read_payload(ip[9], ip + kIpv4Bytes, bytes - kIpv4Bytes, payload)) return {};
  return {TunnelKey::of4(ip + 16, ip + 12, payload.kind, payload.key), kIpv4Bytes + payload.bytes,
          payload.inner4, ecn_of(ip, true)};
}

// Behind an encapsulation limit, which is for who puts it in another tunnel, too.
TunnelStage::Outer TunnelStage::read6(const uint8_t* ip, uint32_t bytes) noexcept {
  uint8_t protocol = ip[6];
  uint32_t before = kIpv6Bytes;
  if (protocol == kProtocolOptions6 && bytes >= before + 8) {
    const uint8_t* const option = ip + before;
    const bool limit =
        option[1] == 0 && option[2] == 4 && option[3] == 1 && option[5] == 1 && option[6] == 1;
    if (!limit) return {};
    protocol = option[0];
    before += 8;
  }
  Payload payload;
  if (!is_of_tunnel(protocol) || !read_payload(protocol, ip + before, bytes - before, payload))
    return {};
  return {TunnelKey::of6(ip + 24, ip + 8, payload.kind, payload.key), before + payload.bytes,
          payload.inner4, ecn_of(ip, false)};
}

// Into known_. Whether the address is ours is asked where the packet came in.
void TunnelStage::find(const Outer& outer, InterfaceId by, const uint8_t* local, Family family,
                       const TableViews& tables) noexcept {
  known_ = {outer.key, by, tunnels_->find(outer.key), false, false};
  if (known_.tunnel == nullptr) {
    const auto kind = static_cast<Kind>(outer.key.words[4] & 0xff);
    if (kind != Kind::kGre && kind != Kind::kGreWithKey) return;
    TunnelKey ends = outer.key;
    ends.words[4] = (ends.words[4] & 0xff00) | static_cast<unsigned>(Kind::kGreEnds);
    known_.wrong_key = tunnels_->find(ends) != nullptr;
    if (!known_.wrong_key) return;
  }
  known_.own = VrfTables(tables, snapshot_->rules.get()).is_own(by, family, local);
}

void TunnelStage::count_in(InterfaceId interface, uint32_t bytes) noexcept {
  interfaces_[interface].rx_packets.add(1);
  interfaces_[interface].rx_bytes.add(bytes);
}

template <typename Address>
TunnelStage::Opened TunnelStage::open_one(Lane<Address>& lane, unsigned i, Chunk& chunk,
                                          const TableViews& tables) noexcept {
  constexpr bool kOuter4 = sizeof(Address) == 4;
  rte_mbuf* const packet = lane.packets[i];
  const Ingress ingress = lane.ingress[i];
  const unsigned l2 = ingress.l2_length();
  uint8_t* const ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, l2);
  const uint32_t bytes = packet->data_len - l2;
  const Outer outer = kOuter4 ? read4(ip, bytes) : read6(ip, bytes);
  if (outer.bytes == 0 || packet->nb_segs != 1) return Opened::kLeft;
  // Came out of a label: the frame has begun later already.
  if (snapshot_->interfaces[ingress.interface()].vrf_device) return Opened::kLeft;
  if (outer.key != known_.key || ingress.interface() != known_.by) [[unlikely]]
    find(outer, ingress.interface(), ip + (kOuter4 ? 16 : 24),
         kOuter4 ? Family::kIpv4 : Family::kIpv6, tables);
  if (!known_.own) return Opened::kLeft;
  const auto refuse = [&](Reason reason) {
    const TunnelView* const tunnel = known_.tunnel;
    packet->outer_l3_len = 0;
    chunk.refuse(packet, reason, tunnel == nullptr ? ingress.interface() : tunnel->interface);
    return Opened::kRefused;
  };
  if (known_.tunnel == nullptr) return refuse(Reason::kTunnelKey);

  uint8_t* const inner = ip + outer.bytes;
  const uint32_t inside = bytes - outer.bytes;
  uint32_t to4;
  lookup::Ipv6Address to6;
  const Inner state =
      outer.inner4 ? clear_inner(inner, inside, to4) : clear_inner(inner, inside, to6);
  if (state == Inner::kDamaged) return refuse(Reason::kTunnelMalformed);
  if (state == Inner::kOdd) return Opened::kLeft;
  if (!take_ecn(inner, outer.inner4, outer.ecn)) return refuse(Reason::kTunnelEcn);

  const InterfaceId interface = known_.tunnel->interface;
  count_in(interface, inside);
  packet->ol_flags = (packet->ol_flags & ~uint64_t{RTE_MBUF_F_RX_RSS_HASH}) | tunnels_->flag();
  opened_ = true;
  begin_later(packet, outer.bytes);
  const Ingress by(interface, l2);
  if (outer.inner4 == kOuter4) {
    if constexpr (kOuter4)
      lane.destinations[i] = to4;
    else
      lane.destinations[i] = to6;
    lane.ingress[i] = by;
    return Opened::kHere;
  }
  if (outer.inner4)
    append(chunk.v4, packet, by, to4);
  else
    append(chunk.v6, packet, by, to6);
  return Opened::kElsewhere;
}

// The first `count` of the lane: what came out of another one is not opened again.
template <typename Address>
void TunnelStage::open_lane(Lane<Address>& lane, unsigned count, Chunk& chunk,
                            const TableViews& tables) noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; i < count; ++i) {
    const Opened opened = open_one(lane, i, chunk, tables);
    if (opened == Opened::kElsewhere || opened == Opened::kRefused) continue;
    if (kept != i) {
      lane.packets[kept] = lane.packets[i];
      lane.destinations[kept] = lane.destinations[i];
      lane.ingress[kept] = lane.ingress[i];
    }
    ++kept;
  }
  if (kept == count) return;
  for (unsigned i = count; i < lane.count; ++i, ++kept) {
    lane.packets[kept] = lane.packets[i];
    lane.destinations[kept] = lane.destinations[i];
    lane.ingress[kept] = lane.ingress[i];
  }
  lane.count = kept;
}

bool TunnelStage::open(Chunk& chunk, const TableViews& tables) noexcept {
  opened_ = false;
  known_ = {};
  const unsigned count6 = chunk.v6.count;
  open_lane(chunk.v4, chunk.v4.count, chunk, tables);
  open_lane(chunk.v6, count6, chunk, tables);
  return opened_;
}

void TunnelStage::unmark(Chunk& chunk) const noexcept {
  const uint64_t mask = ~tunnels_->flag();
  for (unsigned i = 0; i < chunk.v4.count; ++i) chunk.v4.packets[i]->ol_flags &= mask;
  for (unsigned i = 0; i < chunk.v6.count; ++i) chunk.v6.packets[i]->ol_flags &= mask;
  for (unsigned i = 0; i < chunk.refused_count; ++i) chunk.refused[i].packet->ol_flags &= mask;
}

void TunnelStage::name_ingress(Chunk& chunk) const noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& refused = chunk.refused[i];
    if (tunnels_->of(refused.interface) == nullptr) continue;
    rte_mbuf* const packet = refused.packet;
    begin_as_before(packet);
    if (!info(refused.reason).punt) continue;
    if (packet->port >= kMaxPorts || packet->data_len < kEthernetBytes) continue;
    const PortView& port = snapshot_->ports[packet->port];
    const FrameTags l2 =
        read_frame_tags(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
    refused.interface = l2.tags.vlan == 0 ? port.untagged : port.tagged.find(l2.tags);
  }
}

}  // namespace hecto::router
