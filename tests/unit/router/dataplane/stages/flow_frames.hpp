// Frames of flows: what a receive queue is spread by.
#pragma once

#include "tests/beds/packets.hpp"

namespace hecto::router::test {

inline constexpr unsigned kPayload4 = kIp + kIpv4Bytes, kPayload6 = kIp + kIpv6Bytes;

inline Frame with_ports(Frame frame, uint16_t source, uint16_t destination) {
  const unsigned at = load16_native(&frame[12]) == kEtherIpv4 ? kPayload4 : kPayload6;
  store16_be(&frame[at], source);
  store16_be(&frame[at + 2], destination);
  return frame;
}
inline Frame flow4(const char* source, const char* destination, uint16_t sport, uint16_t dport,
                   uint16_t vlan = 0) {
  FrameOptions options;
  options.source = source;
  options.destination = destination;
  Frame frame = with_ports(ipv4_frame(options), sport, dport);
  if (vlan == 0) return frame;
  const uint8_t tag[] = {0x81, 0, 0, static_cast<uint8_t>(vlan)};
  frame.insert(frame.begin() + 12, tag, tag + sizeof tag);
  return frame;
}
inline Frame flow6(const char* source, const char* destination, uint16_t sport, uint16_t dport) {
  FrameOptions options;
  options.source = source;
  options.destination = destination;
  return with_ports(ipv6_frame(options), sport, dport);
}
inline const char kA[] = "198.51.100.2", kB[] = "203.0.113.9";
inline const char kA6[] = "2001:db8:1::2", kB6[] = "2001:db8:2::9";

}  // namespace hecto::router::test
