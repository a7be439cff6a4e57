// classify: which interface, IPv4 or IPv6, and the checks of RFC 1812 §5.2.2 and RFC 8200.
//
// The fast loop clears ordinary packets: untagged (or of a known VLAN), to our MAC, IPv4 without
// options or IPv6 without hop-by-hop header, unicast, one segment, lengths and checksum right. All
// its conditions are or-ed into one branch. Everything else goes to `diagnose`, which asks the
// same questions in the RFC's order and either names the reason or clears the packet after all.
// TTL and hop limit are checked at rewrite: packets for the router itself may have a TTL of 1.
#pragma once

#include <algorithm>
#include <bit>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/stages/header_kernels.hpp"

namespace hecto::router {

inline constexpr uint64_t kMacMask = 0xffffffffffff;  // of a load of eight bytes

struct Diagnosis {
  Reason reason = Reason::kNone;
  lookup::Family family = lookup::Family::kIpv4;
  uint8_t l2_length = kEthernetBytes;
  InterfaceId interface = kNoInterface;
};

// Never reads past the packet's first segment; trims padding of what it clears.
Diagnosis diagnose(rte_mbuf* packet, const PortView& port, const Snapshot& snapshot) noexcept;

// By first byte of an address: 0 for plain unicast, else something `diagnose` must look at.
inline constexpr auto kSpecial4 = [] {
  std::array<uint8_t, 256> special{};
  special[0] = special[127] = special[169] = 1;
  for (unsigned byte = 224; byte < 256; ++byte) special[byte] = 1;
  return special;
}();
inline constexpr auto kSpecial6 = [] {
  std::array<uint8_t, 256> special{};
  special[0x00] = special[0xfe] = special[0xff] = 1;
  return special;
}();

namespace classify_detail {

// EtherType, version and header length of an ordinary packet, as load32 of the frame at the
// EtherType sees them: 0800 45 xx, and 86dd 6x xx.
inline constexpr uint32_t kPlain4 = 0x450008, kPlain4Mask = 0xffffff;
inline constexpr uint32_t kPlain6 = 0x60dd86, kPlain6Mask = 0xf0ffff;

static_assert(kMbufBuffer == offsetof(rte_mbuf, buf_addr) &&
              kMbufOffset == offsetof(rte_mbuf, data_off) &&
              kMbufSegments == offsetof(rte_mbuf, nb_segs) &&
              kMbufPacketBytes == offsetof(rte_mbuf, pkt_len) &&
              kMbufBytes == offsetof(rte_mbuf, data_len));

// What a NIC says of an IPv4 header's checksum: of the outer one only that it is bad.
inline constexpr uint64_t kChecksumFlags =
    RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD;

// True when the header is fit to be forwarded. `total` is the length that it claims. `good`: its
// checksum is known to be.
inline bool clear4(const uint8_t* ip, uint32_t available, bool not_ours, uint32_t* destination,
                   uint32_t* total, bool good = false) noexcept {
  const uint64_t word0 = load64_native(ip);
  const uint64_t word1 = load64_native(ip + 8);
  const uint32_t to = load32_native(ip + 16);
  const auto from = static_cast<uint32_t>(word1 >> 32);
  *total = __builtin_bswap16(static_cast<uint16_t>(word0 >> 16));
  *destination = __builtin_bswap32(to);
  const bool special = (kSpecial4[from & 0xff] | kSpecial4[to & 0xff]) != 0;
  const bool bad_length = *total - kIpv4Bytes > available - kIpv4Bytes;  // too short wraps around
  return !(special | not_ours | bad_length | (from == to) |
           (!good && !ipv4_checksum_holds(word0, word1, to)));
}

inline bool clear6(const uint8_t* ip, uint32_t available, bool not_ours, uint32_t* total) noexcept {
  const uint64_t word0 = load64_native(ip);
  *total = __builtin_bswap16(static_cast<uint16_t>(word0 >> 32)) + kIpv6Bytes;
  const bool special = (kSpecial6[ip[8]] | kSpecial6[ip[24]]) != 0;
  const bool hop_by_hop = (word0 >> 48 & 0xff) == 0;
  const bool loop = ((load64_native(ip + 8) ^ load64_native(ip + 24)) |
                     (load64_native(ip + 16) ^ load64_native(ip + 32))) == 0;
  return !(special | not_ours | (*total > available) | hop_by_hop | loop);
}

// What the fast loop knows of the port, out of reach of the stores that it makes.
struct PortFacts {
  explicit PortFacts(const PortView& port) noexcept
      : mac(port.mac),
        own_tail(static_cast<uint32_t>(port.mac >> 16)),
        untagged(port.untagged),
        down(port.untagged == kNoInterface) {
    take(port.tagged);
    down = down && vlans == nullptr && !port.tagged.stacked;
  }
  void take(const TaggedInterfaces& tagged) noexcept {
    vlans = tagged.vlans ? tagged.vlans->data() : nullptr;
    stacked = tagged.stacked ? tagged.stacked->view() : TagView{};
  }
  uint64_t mac;       // that packets are for
  uint32_t own_tail;  // last four bytes of the port's own, that they are not from
  InterfaceId untagged;
  const InterfaceId* vlans = nullptr;
  TagView stacked;
  bool down;
};

// Of a port with several addresses the one that the first packet is for: as a rule it is the first
// hop of all others. What is for another one `diagnose` clears.
inline PortFacts facts_for(const Chunk& chunk, const PortView& port) noexcept {
  PortFacts facts(port);
  if (!port.stations || chunk.count == 0 || chunk.packets[0]->data_len < kEthernetBytes) [[likely]]
    return facts;
  const uint64_t to = load64_native(rte_pktmbuf_mtod(chunk.packets[0], const uint8_t*)) & kMacMask;
  if (const StationView* const station = port.station(to)) {
    facts.mac = station->mac;
    facts.untagged = station->untagged;
    facts.take(station->tagged);
    facts.down = false;
  }
  return facts;
}

// A packet that the fast loop did not clear.
[[gnu::noinline, gnu::cold]] inline void classify_slow(Chunk& chunk, rte_mbuf* packet,
                                                       const PortView& port,
                                                       const Snapshot& snapshot) noexcept {
  const Diagnosis d = diagnose(packet, port, snapshot);
  if (d.reason != Reason::kNone) {
    chunk.refuse(packet, d.reason, d.interface);
    return;
  }
  const uint8_t* ip = rte_pktmbuf_mtod(packet, const uint8_t*) + d.l2_length;
  const auto append = [&](auto& lane) {
    lane.packets[lane.count] = packet;
    lane.ingress[lane.count] = {d.interface, d.l2_length};
    return lane.count++;
  };
  if (d.family == lookup::Family::kIpv4)
    chunk.v4.destinations[append(chunk.v4)] = load32_be(ip + 16);
  else
    std::memcpy(&chunk.v6.destinations[append(chunk.v6)], ip + 24, 16);
}

// By its tags the interface of a frame, whose EtherType and IP header begin at `plain`. Most ports
// have VLANs of 802.1Q alone.
template <bool Stacked>
inline void read_tags(const uint8_t* frame, uint32_t bytes, const PortFacts& port, uint32_t& plain,
                      unsigned& l2_length, InterfaceId& interface) noexcept {
  const auto type = static_cast<uint16_t>(plain);
  if constexpr (!Stacked) {
    if (type == kEtherVlan && port.vlans != nullptr &&
        bytes >= kEthernetBytes + kVlanTagBytes + kIpv4Bytes) {
      l2_length = kEthernetBytes + kVlanTagBytes;
      interface = port.vlans[load16_be(frame + 14) & 0xfff];
      plain = load32_native(frame + 16);
    }
  } else if (is_vlan_tag(type) && bytes >= kMostL2Bytes + kIpv4Bytes) {
    // A tag that says 0 is in no table: `diagnose` knows what it means.
    const bool service = type == kEtherServiceVlan;
    const unsigned vlan = load16_be(frame + 14) & 0xfff;
    plain = load32_native(frame + 16);
    if (static_cast<uint16_t>(plain) == kEtherVlan) {
      l2_length = kMostL2Bytes;
      interface =
          port.stacked.find(TagTable::key_of_two(service, vlan, load16_be(frame + 18) & 0xfff));
      plain = load32_native(frame + 20);
    } else {
      l2_length = kEthernetBytes + kVlanTagBytes;
      interface = service                 ? port.stacked.find(TagTable::key_of_one(true, vlan))
                  : port.vlans == nullptr ? kNoInterface
                                          : port.vlans[vlan];
    }
  }
}

// Whether a kernel is to look at what follows: not where it would find tags.
template <unsigned Features, bool Stacked>
inline bool by_groups(const Chunk& chunk, const PortFacts& port, unsigned next,
                      const HeaderKernels& kernels) noexcept {
  if (kernels.run == nullptr || port.untagged == kNoInterface) return false;
  if constexpr ((Features & kFeatureVlan) == 0) return true;
  const rte_mbuf* const packet = chunk.packets[next];
  if (packet->data_len < kEthernetBytes) return true;
  const uint16_t type = load16_native(rte_pktmbuf_mtod(packet, const uint8_t*) + 12);
  return Stacked ? !is_vlan_tag(type) : type != kEtherVlan;
}

// Puts groups into their lanes as long as they are in order; returns the first packet that is not.
inline unsigned clear_groups(Chunk& chunk, const PortFacts& port, unsigned next,
                             const HeaderKernels& kernels, const void* fib4 = nullptr) noexcept {
  const auto lane = [](auto& of) {
    return HeaderLane{of.packets, of.destinations, of.ingress, of.count};
  };
  HeaderJob job;  // all of it is written below; zeroed first (REP STOS) it costs 80 cycles
  job.packets = reinterpret_cast<const void* const*>(chunk.packets);
  job.next = next;
  job.count = chunk.count;
  job.mac = port.mac;
  job.own_tail = port.own_tail;
  job.ingress = std::bit_cast<uint32_t>(Ingress(port.untagged, kEthernetBytes));
  job.bytes = 0;
  job.v4 = lane(chunk.v4);
  job.v6 = lane(chunk.v6);
  job.fib4 = fib4;
  kernels.run(job);
  chunk.v4.count = job.v4.count;
  chunk.v6.count = job.v6.count;
  chunk.bytes += job.bytes;
  return job.next;
}

}  // namespace classify_detail

// A packet that came out of another one, behind that one's L2 header: checked like any, put into
// its lane or refused.
inline void classify_again(Chunk& chunk, rte_mbuf* packet, Ingress ingress, const PortView& port,
                           const Snapshot& snapshot) noexcept {
  using namespace classify_detail;
  const unsigned l2_length = ingress.l2_length();
  const uint8_t* const ip = rte_pktmbuf_mtod(packet, const uint8_t*) + l2_length;
  const uint32_t available = packet->data_len - l2_length;
  uint32_t total = available;
  bool cleared = false;
  if (available >= kIpv4Bytes && ip[0] == 0x45) {
    const unsigned i = chunk.v4.count;
    cleared = clear4(ip, available, false, &chunk.v4.destinations[i], &total);
    chunk.v4.packets[i] = packet;
    chunk.v4.ingress[i] = ingress;
    chunk.v4.count += cleared;
  } else if (available >= kIpv6Bytes && ip[0] >> 4 == 6) {
    const unsigned i = chunk.v6.count;
    cleared = clear6(ip, available, false, &total);
    std::memcpy(&chunk.v6.destinations[i], ip + 24, 16);
    chunk.v6.packets[i] = packet;
    chunk.v6.ingress[i] = ingress;
    chunk.v6.count += cleared;
  }
  if (!cleared) [[unlikely]] {
    classify_slow(chunk, packet, port, snapshot);
    return;
  }
  packet->pkt_len = total + l2_length;
  packet->data_len = static_cast<uint16_t>(total + l2_length);
}

// From chunk.packets[from] up to `to`. `Trusts`: what the port's NIC says of checksums, which saves 11
// of 105 instructions. `Stacked`: it has interfaces with other tags than one of 802.1Q. Loops of their
// own: to ask each packet costs where nobody answers, 3 cycles (hecto-bench forward, burst 64).
template <unsigned Features, bool Trusts, bool Stacked>
inline void classify_each(Chunk& chunk, const PortView& view, const classify_detail::PortFacts port,
                          const Snapshot& snapshot, unsigned from, unsigned to) noexcept {
  using namespace classify_detail;
  constexpr unsigned kAhead = 6;  // packets whose first line is being fetched
  unsigned count4 = chunk.v4.count, count6 = chunk.v6.count;
  uint64_t bytes_total = 0;
  for (unsigned i = from; i < to; ++i) {
    if (i + kAhead < to) rte_prefetch0(rte_pktmbuf_mtod(chunk.packets[i + kAhead], const void*));
    rte_mbuf* const packet = chunk.packets[i];
    const uint32_t bytes = packet->data_len;
    bytes_total += packet->pkt_len;
    bool cleared = false;
    if (bytes >= kEthernetBytes + kIpv4Bytes && packet->nb_segs == 1 && !port.down) [[likely]] {
      const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
      unsigned l2_length = kEthernetBytes;
      InterfaceId interface = port.untagged;
      uint32_t plain = load32_native(frame + 12);
      if constexpr ((Features & kFeatureVlan) != 0)
        read_tags<Stacked>(frame, bytes, port, plain, l2_length, interface);
      // Destination MAC is ours; source MAC is not, by its last four bytes (`diagnose` has the
      // rest).
      const bool not_ours = ((load64_native(frame) ^ port.mac) << 16 != 0) |
                            (load32_native(frame + 8) == port.own_tail) |
                            (interface == kNoInterface);
      const uint8_t* const ip = frame + l2_length;
      const uint32_t available = bytes - l2_length;
      uint32_t total = available;
      if ((plain & kPlain4Mask) == kPlain4) [[likely]] {
        bool good = false;
        if constexpr (Trusts)
          good = (packet->ol_flags & kChecksumFlags) == RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        cleared = clear4(ip, available, not_ours, &chunk.v4.destinations[count4], &total, good);
        chunk.v4.packets[count4] = packet;
        chunk.v4.ingress[count4] = {interface, l2_length};
        count4 += cleared;
      } else if ((plain & kPlain6Mask) == kPlain6 && available >= kIpv6Bytes) {
        cleared = clear6(ip, available, not_ours, &total);
        std::memcpy(&chunk.v6.destinations[count6], ip + 24, 16);
        chunk.v6.packets[count6] = packet;
        chunk.v6.ingress[count6] = {interface, l2_length};
        count6 += cleared;
      }
      if (cleared) [[likely]] {
        // Padding goes; stored also where there is none, for a branch would be hard to predict.
        packet->pkt_len = total + l2_length;
        packet->data_len = static_cast<uint16_t>(total + l2_length);
      }
    }
    if (!cleared) [[unlikely]] {
      chunk.v4.count = count4;
      chunk.v6.count = count6;
      classify_slow(chunk, packet, view, snapshot);
      count4 = chunk.v4.count;
      count6 = chunk.v6.count;
    }
  }
  chunk.v4.count = count4;
  chunk.v6.count = count6;
  chunk.bytes += bytes_total;
}

template <unsigned Features, bool Trusts, bool Stacked>
inline void classify_all(Chunk& chunk, const PortView& view, const Snapshot& snapshot,
                         const HeaderKernels& kernels, const void* fib4) noexcept {
  using namespace classify_detail;
  const PortFacts port = facts_for(chunk, view);
  chunk.v4.count = chunk.v6.count = chunk.refused_count = 0;
  chunk.bytes = 0;
  unsigned next = 0;
  for (const HeaderKernels* by = &kernels; by != nullptr; by = by->smaller)
    while (chunk.count - next >= by->lanes &&
           by_groups<Features, Stacked>(chunk, port, next, *by)) {
      next = clear_groups(chunk, port, next, *by, fib4);
      if (chunk.count - next < by->lanes) break;  // the smaller kernel's
      classify_each<Features, Trusts, Stacked>(chunk, view, port, snapshot, next, next + by->lanes);
      next += by->lanes;
    }
  classify_each<Features, Trusts, Stacked>(chunk, view, port, snapshot, next, chunk.count);
}

// `fib4`: of the FIB that comes next, lookup::first_level; groups fetch what their look-ups read.
template <unsigned Features>
inline void classify(Chunk& chunk, const PortView& view, const Snapshot& snapshot,
                     const HeaderKernels& kernels = header_kernels(),
                     const void* fib4 = nullptr) noexcept {
  constexpr bool kTags = (Features & kFeatureVlan) != 0;
  const auto all = [&]<bool Stacked>() {
    if (view.trusts_checksums)
      classify_all<Features, true, Stacked>(chunk, view, snapshot, kernels, fib4);
    else
      classify_all<Features, false, Stacked>(chunk, view, snapshot, kernels, fib4);
  };
  if (kTags && view.tagged.stacked) [[unlikely]]
    all.template operator()<kTags>();
  else
    all.template operator()<false>();
}

}  // namespace hecto::router
