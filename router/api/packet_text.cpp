#include "router/api/packet_text.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "base/frame_tags.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kIcmp = 1, kTcp = 6, kUdp = 17, kIcmpV6 = 58;

std::string protocol_name(uint8_t protocol) {
  switch (protocol) {
    case kIcmp:
      return "ICMP";
    case 2:
      return "IGMP";
    case kTcp:
      return "TCP";
    case kUdp:
      return "UDP";
    case 50:
      return "ESP";
    case kIcmpV6:
      return "ICMPv6";
    case 89:
      return "OSPF";
    case 132:
      return "SCTP";
    default:
      return fmt::format("protocol {}", protocol);
  }
}

std::string transport_text(std::span<const uint8_t> payload, uint8_t protocol) {
  const bool ports =
      protocol == kTcp || protocol == kUdp || protocol == 33 || protocol == 132 || protocol == 136;
  if (ports && payload.size() >= 4)
    return fmt::format(" {} > {}", load16_be(&payload[0]), load16_be(&payload[2]));
  if (payload.empty() || (protocol != kIcmp && protocol != kIcmpV6)) return {};
  const bool v4 = protocol == kIcmp;
  if (payload[0] == (v4 ? 8 : 128)) return " echo request";
  if (payload[0] == (v4 ? 0 : 129)) return " echo reply";
  return fmt::format(" type {}", payload[0]);
}

std::span<const uint8_t> behind(std::span<const uint8_t> ip, size_t header) {
  return ip.subspan(std::min(header, ip.size()));
}

PacketText text_of_ipv4(std::span<const uint8_t> ip) {
  const bool later = (load16_be(&ip[6]) & 0x1fff) != 0;  // a fragment without ports
  return {fmt::format("IPv4 {} > {} {}{}, {} bytes, TTL {}",
                      lookup::Ipv4Address{load32_be(&ip[12])}.to_string(),
                      lookup::Ipv4Address{load32_be(&ip[16])}.to_string(), protocol_name(ip[9]),
                      later ? std::string(" fragment")
                            : transport_text(behind(ip, (ip[0] & 0xf) * 4u), ip[9]),
                      load16_be(&ip[2]), ip[8]),
          ip[8]};
}

PacketText text_of_ipv6(std::span<const uint8_t> ip) {
  lookup::Ipv6Address source, destination;
  std::memcpy(source.bytes.data(), &ip[8], 16);
  std::memcpy(destination.bytes.data(), &ip[24], 16);
  return {fmt::format("IPv6 {} > {} {}{}, {} bytes, hop limit {}", source.to_string(),
                      destination.to_string(), protocol_name(ip[6]),
                      transport_text(behind(ip, kIpv6Bytes), ip[6]), load16_be(&ip[4]) + kIpv6Bytes,
                      ip[7]),
          ip[7]};
}

}  // namespace

PacketText text_of_ip(std::span<const uint8_t> ip, uint32_t length) {
  if (ip.size() >= kIpv4Bytes && ip[0] >> 4 == 4) return text_of_ipv4(ip);
  if (ip.size() >= kIpv6Bytes && ip[0] >> 4 == 6) return text_of_ipv6(ip);
  return {fmt::format("no IP header, {} bytes", length)};
}

PacketText text_of_frame(std::span<const uint8_t> frame, uint32_t length) {
  if (frame.size() < kEthernetBytes)
    return {fmt::format("{} bytes, too short for Ethernet", length)};
  const auto [at, ether_type, tags] =
      read_frame_tags(frame.data(), static_cast<uint32_t>(frame.size()));
  const std::string tag =
      at == kEthernetBytes ? std::string() : fmt::format("VLAN {} ", to_string(tags));
  const std::span<const uint8_t> ip = frame.subspan(at);
  const bool ip_seen = (ether_type == kEtherIpv4 && ip.size() >= kIpv4Bytes) ||
                       (ether_type == kEtherIpv6 && ip.size() >= kIpv6Bytes);
  if (ether_type == kEtherArp) return {tag + fmt::format("ARP, {} bytes", length)};
  if (!ip_seen)
    return {
        fmt::format("{}EtherType {:#06x}, {} bytes", tag, __builtin_bswap16(ether_type), length)};
  PacketText inside = ether_type == kEtherIpv4 ? text_of_ipv4(ip) : text_of_ipv6(ip);
  inside.text = tag + inside.text;
  return inside;
}

}  // namespace hecto::router
