#include <algorithm>

#include "router/dataplane/stages/classify.hpp"

namespace hecto::router {
namespace {

bool group_address(const uint8_t* mac) {
  return mac[0] & 1;
}

// The checks in the order of RFC 1812 §5.2.2; `available` is what follows the L2 header.
Reason check_ipv4(const uint8_t* ip, uint32_t contiguous, uint32_t available, uint32_t* total_out) {
  if (available < kIpv4Bytes) return Reason::kTruncated;
  if (contiguous < kIpv4Bytes) return Reason::kSplitHeader;
  if (ip[0] >> 4 != 4) return Reason::kBadVersion;
  const uint32_t header = (ip[0] & 0xf) * 4u;
  if (header < kIpv4Bytes) return Reason::kBadHeaderLength;
  if (header > available) return Reason::kTruncated;
  if (header > contiguous) return Reason::kSplitHeader;
  const uint32_t total = load16_be(ip + 2);
  if (total < header || total > available) return Reason::kBadTotalLength;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < header; i += 2) sum += load16_native(ip + i);
  sum = (sum >> 16) + (sum & 0xffff);
  sum = (sum >> 16) + (sum & 0xffff);
  if (sum != 0xffff) return Reason::kBadChecksum;
  *total_out = total;

  const uint32_t source = load32_be(ip + 12);
  const uint32_t destination = load32_be(ip + 16);
  const bool to_all = destination == 0xffffffff;
  const bool from_nobody = source == 0;  // DHCP (RFC 2131): only to everybody
  // RFC 1812 §5.3.7, RFC 6890
  if ((source >> 24 == 0 && !(from_nobody && to_all)) || source >> 24 == 127 || source >> 28 >= 0xe)
    return Reason::kMartianSource;
  if (to_all) return Reason::kBroadcast;
  if (destination >> 28 == 0xe) return Reason::kMulticast;
  if (destination >> 24 == 0 || destination >> 24 == 127 || destination >> 28 == 0xf)
    return Reason::kMartianDestination;
  if (source == destination) return Reason::kLooped;
  if (source >> 16 == 0xa9fe || destination >> 16 == 0xa9fe) return Reason::kLinkLocal;
  if (header > kIpv4Bytes) return Reason::kOptions;
  return Reason::kNone;
}

bool starts_with_zeros(const uint8_t* address, unsigned count) {
  for (unsigned i = 0; i < count; ++i)
    if (address[i] != 0) return false;
  return true;
}
bool unspecified(const uint8_t* a) {
  return starts_with_zeros(a, 16);
}
// ::1, and ::ffff:0:0/96, which must not appear on the wire (RFC 4291 §2.5.3, RFC 6890).
bool never_on_wire(const uint8_t* a) {
  return (starts_with_zeros(a, 15) && a[15] == 1) ||
         (starts_with_zeros(a, 10) && a[10] == 0xff && a[11] == 0xff);
}
bool link_local(const uint8_t* a) {
  return a[0] == 0xfe && (a[1] & 0xc0) == 0x80;
}

// RFC 8200 §3, RFC 4291 §2
Reason check_ipv6(const uint8_t* ip, uint32_t contiguous, uint32_t available, uint32_t* total_out) {
  if (available < kIpv6Bytes) return Reason::kTruncated;
  if (contiguous < kIpv6Bytes) return Reason::kSplitHeader;
  if (ip[0] >> 4 != 6) return Reason::kBadVersion;
  const uint32_t total = load16_be(ip + 4) + kIpv6Bytes;
  if (total > available) return Reason::kBadTotalLength;
  *total_out = total;

  const uint8_t* source = ip + 8;
  const uint8_t* destination = ip + 24;
  const bool to_group = destination[0] == 0xff;
  if (source[0] == 0xff || never_on_wire(source) || (unspecified(source) && !to_group))
    return Reason::kMartianSource;
  if (to_group) return Reason::kMulticast;
  if (unspecified(destination) || never_on_wire(destination)) return Reason::kMartianDestination;
  if (std::memcmp(source, destination, 16) == 0) return Reason::kLooped;
  if (link_local(source) || link_local(destination)) return Reason::kLinkLocal;
  if (ip[6] == 0) return Reason::kOptions;  // hop-by-hop
  return Reason::kNone;
}

// Removes `surplus` bytes from the end, whatever the number of segments.
void trim_tail(rte_mbuf* packet, uint32_t surplus) {
  while (surplus > 0) {
    rte_mbuf* last = rte_pktmbuf_lastseg(packet);
    const auto cut = static_cast<uint16_t>(std::min<uint32_t>(surplus, last->data_len));
    last->data_len = static_cast<uint16_t>(last->data_len - cut);
    packet->pkt_len -= cut;
    surplus -= cut;
    if (last->data_len == 0 && last != packet) {
      rte_mbuf* before = packet;
      while (before->next != last) before = before->next;
      before->next = nullptr;
      --packet->nb_segs;
      rte_pktmbuf_free_seg(last);
    } else if (cut == 0) {
      return;
    }
  }
}

}  // namespace

Diagnosis diagnose(rte_mbuf* packet, const PortView& port, const Snapshot& snapshot) noexcept {
  Diagnosis d;
  d.interface = port.untagged;
  unsigned vlan = 0;
  const auto with = [&d](Reason reason) {
    d.reason = reason;
    return d;
  };
  if (packet->pkt_len < kEthernetBytes) return with(Reason::kTruncated);
  if (packet->data_len < kEthernetBytes) return with(Reason::kSplitHeader);
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  uint16_t ether_type = load16_native(frame + 12);
  if (ether_type == kEtherVlan) {
    if (packet->pkt_len < kEthernetBytes + kVlanTagBytes) return with(Reason::kTruncated);
    if (packet->data_len < kEthernetBytes + kVlanTagBytes) return with(Reason::kSplitHeader);
    d.l2_length += kVlanTagBytes;
    ether_type = load16_native(frame + 16);
    vlan = load16_be(frame + 14) & 0xfff;
    // A priority tag (VLAN 0) means the untagged interface (IEEE 802.1Q §6.9).
    if (vlan != 0) {
      d.interface = port.vlans ? (*port.vlans)[vlan] : kNoInterface;
      if (d.interface == kNoInterface && port.down) d.interface = (*port.down)[vlan];
      if (d.interface == kNoInterface) return with(Reason::kUnknownVlan);
    }
  }
  if (d.interface == kNoInterface && port.down) d.interface = (*port.down)[0];
  if (d.interface == kNoInterface || !snapshot.interfaces[d.interface].up)
    return with(Reason::kInterfaceDown);

  const bool to_group = group_address(frame);
  const uint64_t to = load64_native(frame) & kMacMask;
  if (!to_group && to != port.mac) {
    const StationView* const station = port.station(to);
    const InterfaceId interface = station == nullptr ? kNoInterface : station->interface(vlan);
    if (interface == kNoInterface) return with(Reason::kNotForUs);
    d.interface = interface;
  }
  if ((load64_native(frame + 6) & kMacMask) == port.mac) return with(Reason::kLooped);
  if (ether_type == kEtherArp) return with(Reason::kArp);
  if (ether_type != kEtherIpv4 && ether_type != kEtherIpv6) return with(Reason::kOtherProtocol);

  const uint8_t* ip = frame + d.l2_length;
  const uint32_t contiguous = packet->data_len - d.l2_length;
  const uint32_t available = packet->pkt_len - d.l2_length;
  uint32_t total = 0;
  if (ether_type == kEtherIpv4) {
    d.reason = check_ipv4(ip, contiguous, available, &total);
  } else {
    d.family = lookup::Family::kIpv6;
    d.reason = check_ipv6(ip, contiguous, available, &total);
  }
  // Unicast IP in a link-layer broadcast is not forwarded (RFC 1812 §5.3.4); Linux decides.
  if (d.reason == Reason::kNone && to_group) d.reason = Reason::kBroadcast;
  if (d.reason == Reason::kNone && total < available) trim_tail(packet, available - total);
  return d;
}

}  // namespace hecto::router
