#include "router/dataplane/observe/packet_match.hpp"

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "router/ipsec/esp/flow_key.hpp"

namespace hecto::router {
namespace {

bool has_ports(uint8_t protocol) {  // TCP, UDP, DCCP, SCTP, UDP-Lite
  return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

bool inside(const std::optional<IpPrefix>& prefix, const std::optional<IpAddress>& address) {
  return !prefix || (address && prefix->contains(*address));
}

}  // namespace

bool PacketMatch::fits_ip(const uint8_t* ip, uint32_t bytes) const noexcept {
  if (!asks_ip()) return true;
  std::optional<IpAddress> source, destination;
  const unsigned version = bytes > 0 ? ip[0] >> 4 : 0;
  if (version == 4 && bytes >= kIpv4Bytes) {
    source = IpAddress::from(lookup::Ipv4Address{load32_be(ip + 12)});
    destination = IpAddress::from(lookup::Ipv4Address{load32_be(ip + 16)});
  } else if (version == 6 && bytes >= kIpv6Bytes) {
    lookup::Ipv6Address a, b;
    std::memcpy(a.bytes.data(), ip + 8, 16);
    std::memcpy(b.bytes.data(), ip + 24, 16);
    source = IpAddress::from(a);
    destination = IpAddress::from(b);
  }
  if (!inside(from, source) || !inside(to, destination)) return false;
  if (!protocol && !transport_port) return true;
  if (!source) return false;
  const esp::FlowKey key =
      esp::flow_key(version == 4 ? lookup::Family::kIpv4 : lookup::Family::kIpv6, ip, bytes);
  if (key.unseen == esp::Unseen::kProtocol || (protocol && key.protocol != *protocol)) return false;
  return !transport_port ||
         (key.unseen == esp::Unseen::kNothing && has_ports(key.protocol) &&
          (key.source_port == *transport_port || key.destination_port == *transport_port));
}

bool PacketMatch::fits_frame(const rte_mbuf* packet, PortId at_port) const noexcept {
  if (port && *port != at_port) return false;
  if (!asks_ip() && !tags) return true;
  const uint8_t* frame = rte_pktmbuf_mtod(packet, const uint8_t*);
  const uint32_t bytes = packet->data_len;
  if (bytes < kEthernetBytes) return false;
  FrameTags l2 = read_frame_tags(frame, bytes);
  if (tags && any_tag_protocol) l2.tags.service = tags->service;
  if (l2.tags.vlan == 0) l2.tags = {};  // a priority tag
  if (tags && l2.tags != *tags) return false;
  if (!asks_ip()) return true;
  return (l2.ether_type == kEtherIpv4 || l2.ether_type == kEtherIpv6) &&
         fits_ip(frame + l2.l2_bytes, bytes - l2.l2_bytes);
}

}  // namespace hecto::router
