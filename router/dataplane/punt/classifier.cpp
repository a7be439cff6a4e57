#include "router/dataplane/punt/classifier.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kIgmp = 2, kTcp = 6, kUdp = 17, kIcmp6 = 58;
constexpr uint8_t kRsvp = 46, kEigrp = 88, kOspf = 89, kPim = 103, kVrrp = 112;

// Where a packet's payload begins, and whose it is.
struct Packet {
  bool v6 = false;
  bool fragment = false;
  uint8_t protocol = 0;
  uint8_t hops = 0;  // TTL or hop limit
  SocketAddress source, destination;
  std::span<const uint8_t> payload;

  bool has(size_t bytes) const noexcept { return payload.size() >= bytes; }
  uint16_t source_port() const noexcept { return load16_be(payload.data()); }
  uint16_t destination_port() const noexcept { return load16_be(payload.data() + 2); }
};

bool read4(std::span<const uint8_t> ip, Packet& packet) noexcept {
  if (ip.size() < kIpv4Bytes) return false;
  const size_t header = (ip[0] & 0xf) * 4u;
  if (header < kIpv4Bytes || header > ip.size()) return false;
  packet.protocol = ip[9];
  packet.hops = ip[8];
  packet.fragment = (load16_be(ip.data() + 6) & 0x3fff) != 0;
  std::memcpy(packet.source.bytes.data(), ip.data() + 12, 4);
  std::memcpy(packet.destination.bytes.data(), ip.data() + 16, 4);
  packet.payload = ip.subspan(header);
  return true;
}

// Looks behind one hop-by-hop header (MLD has one) and one fragment header.
bool read6(std::span<const uint8_t> ip, Packet& packet) noexcept {
  constexpr uint8_t kHopByHop = 0, kFragment = 44;
  if (ip.size() < kIpv6Bytes) return false;
  packet.v6 = true;
  packet.protocol = ip[6];
  packet.hops = ip[7];
  packet.source.v6 = packet.destination.v6 = true;
  std::memcpy(packet.source.bytes.data(), ip.data() + 8, 16);
  std::memcpy(packet.destination.bytes.data(), ip.data() + 24, 16);
  packet.payload = ip.subspan(kIpv6Bytes);
  if (packet.protocol == kHopByHop && packet.has(8)) {
    const size_t bytes = (packet.payload[1] + 1u) * 8;
    if (!packet.has(bytes)) return false;
    packet.protocol = packet.payload[0];
    packet.payload = packet.payload.subspan(bytes);
  }
  if (packet.protocol == kFragment && packet.has(8)) {
    packet.fragment = true;
    packet.protocol = packet.payload[0];
    packet.payload = packet.payload.subspan(8);
  }
  return true;
}

bool routing_protocol(const Packet& packet) noexcept {
  switch (packet.protocol) {
    case kOspf:
    case kPim:
    case kEigrp:
    case kRsvp:
      return true;
    case kVrrp:
      return packet.hops == 255;  // RFC 9568 §5.1.1.3: what has come by a router is none
    default:
      return false;
  }
}

// RFC 4861 §6.1, §7.1: what has come by a router is no neighbor discovery.
PuntClass icmp6_class(const Packet& packet) noexcept {
  if (!packet.has(1)) return PuntClass::kLocal;
  const uint8_t type = packet.payload[0];
  const bool listener = (type >= 130 && type <= 132) || type == 143;  // RFC 2710, RFC 3810
  if (listener) return PuntClass::kRequests;
  if (packet.hops != 255) return PuntClass::kLocal;
  if (type == 133 || type == 135) return PuntClass::kRequests;
  return type == 134 || type == 136 ? PuntClass::kNeighbor : PuntClass::kLocal;
}

// kCount: not one of the ports that say it themselves.
PuntClass udp_port_class(const Packet& packet) noexcept {
  switch (packet.destination_port()) {
    case 3784:  // RFC 5881 §5: TTL 255
    case 6784:  // RFC 7130
      return packet.hops == 255 ? PuntClass::kBfd : PuntClass::kCount;
    case 3785:  // echo, which has come by its peer
      return packet.hops >= 254 ? PuntClass::kBfd : PuntClass::kCount;
    case 4784:  // RFC 5883, over several hops
      return PuntClass::kBfd;
    case 520:
    case 521:
    case 646:
      return PuntClass::kRouting;
    case 500:
    case 4500:
      return PuntClass::kIke;
    default:
      return PuntClass::kCount;
  }
}

PuntClass udp_class(const Packet& packet, const PuntSessions* sessions) noexcept {
  const uint16_t port = packet.destination_port();
  if (sessions != nullptr && !sessions->open_udp(port)) return PuntClass::kClosed;
  const PuntClass by_port = udp_port_class(packet);
  if (by_port == PuntClass::kCount && sessions != nullptr &&
      sessions->connected(kUdp, packet.destination, port, packet.source, packet.source_port()))
    return PuntClass::kConnections;
  return by_port == PuntClass::kCount ? PuntClass::kLocal : by_port;
}

PuntClass tcp_class(const Packet& packet, const PuntSessions* sessions) noexcept {
  constexpr uint8_t kSyn = 0x02, kAck = 0x10;
  if (!packet.has(14)) return PuntClass::kClosed;
  const uint16_t port = packet.destination_port();
  const bool for_peers = is_session_port(port) || is_session_port(packet.source_port());
  // A stranger may hold a connection, to sshd say: it is not in the way of BGP.
  if (sessions != nullptr &&
      sessions->connected(kTcp, packet.destination, port, packet.source, packet.source_port()))
    return for_peers ? PuntClass::kSessions : PuntClass::kConnections;
  if (for_peers && sessions != nullptr && sessions->known_peer(packet.source))
    return PuntClass::kRouting;
  if (sessions != nullptr && !sessions->listens_tcp(port)) return PuntClass::kClosed;
  const bool opens = (packet.payload[13] & (kSyn | kAck)) == kSyn;
  // What is no SYN may end the handshake of one that was let in.
  return is_session_port(port) && opens ? PuntClass::kStrangers : PuntClass::kManagement;
}

PuntClass own_class(const Packet& packet, const PuntSessions* sessions) noexcept {
  if (routing_protocol(packet)) return PuntClass::kRouting;
  if (packet.fragment) return PuntClass::kFragments;
  if (packet.protocol == kTcp) return tcp_class(packet, sessions);
  if (packet.protocol == kUdp)
    return packet.has(8) ? udp_class(packet, sessions) : PuntClass::kClosed;
  if (packet.protocol == kIcmp6 && packet.v6) return icmp6_class(packet);
  return packet.protocol == kIgmp && !packet.v6 ? PuntClass::kRequests : PuntClass::kLocal;
}

// 224.0.0.0/24 and ff02::/16 never leave their link: only what is sent there speaks of it.
PuntClass multicast_class(const Packet& packet) noexcept {
  const auto& to = packet.destination.bytes;
  const bool link =
      packet.v6 ? to[0] == 0xff && (to[1] & 0xf) == 2 : to[0] == 224 && to[1] == 0 && to[2] == 0;
  if (packet.protocol == kIgmp && !packet.v6) return PuntClass::kRequests;
  if (packet.protocol == kIcmp6 && packet.v6 && !packet.fragment) {
    const PuntClass icmp = icmp6_class(packet);
    return icmp == PuntClass::kLocal ? PuntClass::kMulticast : icmp;
  }
  if (!link) return PuntClass::kMulticast;
  if (routing_protocol(packet)) return PuntClass::kRouting;
  if (packet.protocol == kUdp && packet.has(8) && !packet.fragment &&
      udp_port_class(packet) == PuntClass::kRouting)
    return PuntClass::kRouting;
  return PuntClass::kMulticast;
}

// IS-IS is the one that comes in IEEE 802.3 frames: LLC with both SAPs 0xfe (ISO 10589 §8).
PuntClass other_class(std::span<const uint8_t> frame, size_t l2, uint16_t type) noexcept {
  constexpr uint16_t kSlowProtocols = 0x8809, kMostLength = 1500;
  const uint16_t value = __builtin_bswap16(type);
  if (value == kSlowProtocols) return PuntClass::kRouting;
  if (value <= kMostLength && frame.size() >= l2 + 2 && frame[l2] == 0xfe && frame[l2 + 1] == 0xfe)
    return PuntClass::kRouting;
  return PuntClass::kOther;
}

// By its reason alone: of packets that are for others.
PuntClass reason_class(Reason reason) noexcept {
  switch (reason) {
    case Reason::kTtlExpired:
      return PuntClass::kTtl;
    case Reason::kTooBig:
      return PuntClass::kTooBig;
    case Reason::kGlean:
      return PuntClass::kGlean;
    case Reason::kNoRoute:
    case Reason::kUnreachable:
    case Reason::kProhibit:
      return PuntClass::kNoRoute;
    case Reason::kOptions:
      return PuntClass::kOptions;
    case Reason::kBroadcast:
      return PuntClass::kBroadcast;
    case Reason::kLinkLocal:
      return PuntClass::kLinkLocal;
    case Reason::kMulticast:
      return PuntClass::kMulticast;
    case Reason::kLocal:
    case Reason::kPolicyRule:
    case Reason::kRedirect:
      return PuntClass::kTransit;
    case Reason::kArp:
      return PuntClass::kRequests;
    default:
      return PuntClass::kOther;
  }
}

bool asks_whose(Reason reason) noexcept {
  return reason == Reason::kLocal || reason == Reason::kOptions || reason == Reason::kLinkLocal;
}

struct Layer2 {
  size_t bytes = 0;
  uint16_t type = 0;  // as load16_native
};
Layer2 layer2(std::span<const uint8_t> frame) noexcept {
  if (frame.size() < kEthernetBytes) return {};
  const FrameTags l2 = read_frame_tags(frame.data(), static_cast<uint32_t>(frame.size()));
  if (l2.l2_bytes == kEthernetBytes && l2.ether_type == kEtherVlan) return {};  // cut
  return {l2.l2_bytes, l2.ether_type};
}

}  // namespace

PuntClass punt_class(std::span<const uint8_t> frame, Reason reason, bool own,
                     const PuntSessions* sessions) noexcept {
  const bool multicast = reason == Reason::kMulticast;
  const bool by_content = multicast || (asks_whose(reason) && own) || reason == Reason::kArp ||
                          reason == Reason::kOtherProtocol;
  if (!by_content) return reason_class(reason);
  const Layer2 l2 = layer2(frame);
  if (l2.bytes == 0) return reason_class(reason);
  if (reason == Reason::kOtherProtocol) return other_class(frame, l2.bytes, l2.type);
  const std::span<const uint8_t> rest = frame.subspan(l2.bytes);
  if (reason == Reason::kArp) {
    const bool reply = rest.size() >= 8 && load16_be(rest.data() + 6) == 2;  // RFC 826
    return reply ? PuntClass::kNeighbor : PuntClass::kRequests;
  }
  Packet packet;
  const bool whole = l2.type == kEtherIpv6 ? read6(rest, packet) : read4(rest, packet);
  if (!whole) return multicast ? PuntClass::kMulticast : PuntClass::kClosed;
  return multicast ? multicast_class(packet) : own_class(packet, sessions);
}

PuntClass punt_class(const rte_mbuf* packet, Reason reason, const TableViews& tables,
                     const PuntSessions* sessions) noexcept {
  const std::span<const uint8_t> frame(rte_pktmbuf_mtod(packet, const uint8_t*), packet->data_len);
  bool own = false;
  if (asks_whose(reason)) {
    const Layer2 l2 = layer2(frame);
    lookup::GroupId group = lookup::kNoRoute;
    if (l2.bytes != 0 && l2.type == kEtherIpv4 && frame.size() >= l2.bytes + kIpv4Bytes) {
      const uint32_t destination = load32_be(frame.data() + l2.bytes + 16);
      lookup_batch(tables.fib4, &destination, &group, 1);
    } else if (l2.bytes != 0 && l2.type == kEtherIpv6 && frame.size() >= l2.bytes + kIpv6Bytes) {
      lookup::Ipv6Address destination;
      std::memcpy(&destination, frame.data() + l2.bytes + 24, sizeof destination);
      lookup_batch(tables.fib6, &destination, &group, 1);
    }
    own = tables.next_hops.record(group).own != 0;
  }
  return punt_class(frame, reason, own, sessions);
}

}  // namespace hecto::router
