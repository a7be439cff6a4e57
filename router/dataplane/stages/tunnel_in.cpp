// Tunnels on the way in: no byte moves, the frame begins later (opened_frame.hpp), and what is refused
// before rewrite begins again where it did.
#include "base/frame_tags.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/diagnose.hpp"
#include "router/dataplane/stages/opened_frame.hpp"
#include "router/dataplane/stages/tunnel.hpp"
#include "router/dataplane/stages/urpf.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using Kind = TunnelKey::Kind;

constexpr uint32_t kLeastPrinted = kIpv4Bytes + 8;  // bytes of a packet: with GRE's key
constexpr uint16_t kGreKey = 0x0020;                // as load16_native sees 0x2000
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
  if (total == bytes && (cleared || check_ipv4(ip, bytes, bytes, &total) == Reason::kNone))
    return Inner::kCleared;
  if (cleared) return Inner::kOdd;
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
  const bool fit = cleared || check_ipv6(ip, bytes, bytes, &total) == Reason::kNone;
  return fit && total == bytes ? Inner::kCleared : Inner::kOdd;
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
          payload.inner4};
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
          payload.inner4};
}

// Into known_. Whether the address is ours is asked where the packet came in, and whether that has a way
// back to the other end: uRPF behind has the outer packet that has none.
TunnelStage::Print TunnelStage::Print::of(const uint8_t* ip, const Outer& outer) noexcept {
  uint8_t mask[kIpv4Bytes + 8] = {};
  mask[0] = mask[7] = mask[9] = 0xff;  // length of the header, offset, protocol
  mask[6] = 0x3f;                      // and whether more fragments come
  std::memset(mask + 12, 0xff, outer.bytes - 12);
  Print print;
  for (unsigned i = 0; i < 3; ++i) {
    print.mask[i] = load64_native(mask + 8 * i);
    print.word[i] = load64_native(ip + 8 * i) & print.mask[i];
  }
  print.key_mask = load32_native(mask + 24);
  print.key = load32_native(ip + 24) & print.key_mask;
  return print;
}

bool TunnelStage::Print::is_of(const uint8_t* ip) const noexcept {
  uint64_t other = (load32_native(ip + 24) ^ key) & key_mask;
  for (unsigned i = 0; i < 3; ++i) other |= (load64_native(ip + 8 * i) ^ word[i]) & mask[i];
  return other == 0;
}

template <typename Address>
void TunnelStage::find(const Outer& outer, rte_mbuf* packet, Ingress ingress,
                       const Address& destination, const TableViews& tables) noexcept {
  count_in();
  known_ = {};
  known_.key = outer.key;
  known_.by = ingress.interface();
  known_.tunnel = tunnels_->find(outer.key);
  if (known_.tunnel == nullptr) {
    const auto kind = static_cast<Kind>(outer.key.words[4] & 0xff);
    if (kind != Kind::kGre && kind != Kind::kGreWithKey) return;
    TunnelKey ends = outer.key;
    ends.words[4] = (ends.words[4] & 0xff00) | static_cast<unsigned>(Kind::kGreEnds);
    if (tunnels_->find(ends) == nullptr) return;
  }
  const RuleTables* const rules = snapshot_->rules.get();
  const lookup::GroupId group = VrfTables(tables, rules).group(ingress.interface(), destination);
  known_.opened = tables.next_hops.record(group).own != 0 &&
                  passes_reverse_path(packet, ingress, destination, tables, *snapshot_, rules);
}

void TunnelStage::count_in() noexcept {
  if (known_.packets == 0) return;
  InterfaceCounters& counters = interfaces_[known_.tunnel->interface];
  counters.rx_packets.add(known_.packets);
  counters.rx_bytes.add(known_.bytes);
  known_.packets = known_.bytes = 0;
}

template <typename Address>
[[gnu::always_inline]] inline TunnelStage::Opened TunnelStage::open_one(
    Lane<Address>& lane, unsigned i, Chunk& chunk, const TableViews& tables) noexcept {
  constexpr bool kOuter4 = sizeof(Address) == 4;
  rte_mbuf* const packet = lane.packets[i];
  const Ingress ingress = lane.ingress[i];
  const unsigned l2 = ingress.l2_length();
  uint8_t* const ip = rte_pktmbuf_mtod_offset(packet, uint8_t*, l2);
  const uint32_t bytes = packet->data_len - l2;
  if ((packet->ol_flags & flag_) != 0) return Opened::kLeft;  // out of a label
  const bool printed = kOuter4 && bytes >= known_.least && packet->nb_segs == 1 &&
                       ingress.interface() == known_.by && known_.print.is_of(ip);
  if (!printed) {
    const Outer outer = kOuter4 ? read4(ip, bytes) : read6(ip, bytes);
    if (outer.bytes == 0 || packet->nb_segs != 1) return Opened::kLeft;
    if (outer.key != known_.key || ingress.interface() != known_.by)
      find(outer, packet, ingress, lane.destinations[i], tables);
    if (!known_.opened) return Opened::kLeft;
    known_.outer = outer;
    if (kOuter4 && known_.tunnel != nullptr && bytes >= kLeastPrinted) {
      known_.print = Print::of(ip, outer);
      known_.least = kLeastPrinted;
    }
  }
  const uint32_t outer_bytes = known_.outer.bytes;
  const bool inner4 = known_.outer.inner4;
  const uint8_t ecn = ecn_of(ip, kOuter4);
  const auto refuse = [&](Reason reason) {
    const TunnelView* const tunnel = known_.tunnel;
    chunk.refuse(packet, reason, tunnel == nullptr ? ingress.interface() : tunnel->interface);
    return Opened::kRefused;
  };
  if (known_.tunnel == nullptr) return refuse(Reason::kTunnelKey);

  uint8_t* const inner = ip + outer_bytes;
  const uint32_t inside = bytes - outer_bytes;
  uint32_t to4;
  lookup::Ipv6Address to6;
  const Inner state = inner4 ? clear_inner(inner, inside, to4) : clear_inner(inner, inside, to6);
  if (state == Inner::kDamaged) return refuse(Reason::kTunnelMalformed);
  if (state == Inner::kOdd) return Opened::kLeft;
  if (!take_ecn(inner, inner4, ecn)) return refuse(Reason::kTunnelEcn);

  ++known_.packets;
  known_.bytes += inside;
  packet->ol_flags = (packet->ol_flags & ~uint64_t{RTE_MBUF_F_RX_RSS_HASH}) | tunnels_->flag();
  opened_ = true;
  begin_later(packet, outer_bytes);
  const Ingress by(known_.tunnel->interface, l2);
  if (inner4 == kOuter4) {
    if constexpr (kOuter4)
      lane.destinations[i] = to4;
    else
      lane.destinations[i] = to6;
    lane.ingress[i] = by;
    return Opened::kHere;
  }
  if (inner4)
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
  count_in();
  return opened_;
}

}  // namespace hecto::router
