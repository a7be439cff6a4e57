#include "router/dataplane/stages/diagnose.hpp"

#include <algorithm>

#include "router/dataplane/stages/classify.hpp"

namespace hecto::router {
namespace {

bool group_address(const uint8_t* mac) {
  return mac[0] & 1;
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

}  // namespace

// The checks in the order of RFC 1812 §5.2.2; `available` is what follows the L2 header.
Reason check_ipv4(const uint8_t* ip, uint32_t contiguous, uint32_t available,
                  uint32_t* total_out) noexcept {
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

// RFC 8200 §3, RFC 4291 §2
Reason check_ipv6(const uint8_t* ip, uint32_t contiguous, uint32_t available,
                  uint32_t* total_out) noexcept {
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

namespace {

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

// What a frame says before its IP header, as far as its bytes are there.
struct L2 {
  uint16_t ether_type = 0;  // behind the tags
  VlanTags tags;
};

Reason is_there(const rte_mbuf* packet, uint32_t bytes) {
  if (packet->pkt_len < bytes) return Reason::kTruncated;
  return packet->data_len < bytes ? Reason::kSplitHeader : Reason::kNone;
}

// The tags, and by them the interface. A second one is looked at where interfaces have it, else it is
// what the VLAN carries, for Linux to know.
Reason read_tags(const rte_mbuf* packet, const PortView& port, L2& l2, Diagnosis& d) {
  const uint8_t* const frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const auto take = [&](uint16_t& vlan) {
    const Reason reason = is_there(packet, d.l2_length + kVlanTagBytes);
    if (reason != Reason::kNone) return reason;
    vlan = load16_be(frame + d.l2_length) & 0xfff;
    l2.ether_type = load16_native(frame + d.l2_length + 2);
    d.l2_length += kVlanTagBytes;
    return Reason::kNone;
  };
  VlanTags tags;
  tags.service = l2.ether_type == kEtherServiceVlan;
  if (const Reason reason = take(tags.vlan); reason != Reason::kNone) return reason;
  if (l2.ether_type == kEtherVlan && port.has_within(tags)) {
    uint16_t inner = 0;
    if (const Reason reason = take(inner); reason != Reason::kNone) return reason;
    if (inner != 0) tags = {inner, tags.vlan, tags.service};
  }
  // A priority tag (VLAN 0) means the interface without it (IEEE 802.1Q §6.9).
  if (tags.vlan == 0) return Reason::kNone;
  l2.tags = tags;
  d.interface = port.tagged.find(tags);
  if (d.interface == kNoInterface) d.interface = port.down.find(tags);
  return d.interface == kNoInterface ? Reason::kUnknownVlan : Reason::kNone;
}

}  // namespace

Diagnosis diagnose(rte_mbuf* packet, const PortView& port, const Snapshot& snapshot) noexcept {
  Diagnosis d;
  d.interface = port.untagged;
  const auto with = [&d](Reason reason) {
    d.reason = reason;
    return d;
  };
  if (const Reason reason = is_there(packet, kEthernetBytes); reason != Reason::kNone)
    return with(reason);
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  L2 l2{load16_native(frame + 12), {}};
  if (l2.ether_type == kEtherVlan || (l2.ether_type == kEtherServiceVlan && port.has_stacked()))
    if (const Reason reason = read_tags(packet, port, l2, d); reason != Reason::kNone)
      return with(reason);
  if (d.interface == kNoInterface) d.interface = port.down_untagged();
  if (d.interface == kNoInterface || !snapshot.interfaces[d.interface].up)
    return with(Reason::kInterfaceDown);

  const bool to_group = group_address(frame);
  const uint64_t to = load64_native(frame) & kMacMask;
  if (!to_group && to != port.mac) {
    const StationView* const station = port.station(to);
    const InterfaceId interface = station == nullptr ? kNoInterface : station->interface(l2.tags);
    if (interface == kNoInterface) return with(Reason::kNotForUs);
    d.interface = interface;
  }
  if ((load64_native(frame + 6) & kMacMask) == port.mac) return with(Reason::kLooped);
  if (l2.ether_type == kEtherArp) return with(Reason::kArp);
  if (l2.ether_type != kEtherIpv4 && l2.ether_type != kEtherIpv6)
    return with(Reason::kOtherProtocol);

  const uint8_t* ip = frame + d.l2_length;
  const uint32_t contiguous = packet->data_len - d.l2_length;
  const uint32_t available = packet->pkt_len - d.l2_length;
  uint32_t total = 0;
  if (l2.ether_type == kEtherIpv4) {
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
