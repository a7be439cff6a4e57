#include "router/dataplane/nat/ipv4_packet.hpp"

namespace hecto::router::nat {
namespace {

constexpr uint8_t kEchoReply = 0, kUnreachable = 3, kQuench = 4, kEcho = 8, kTimeExceeded = 11,
                  kParameterProblem = 12, kTimestamp = 13, kTimestampReply = 14;

Kind icmp_kind(uint8_t type) noexcept {
  switch (type) {
    case kEchoReply:
    case kEcho:
    case kTimestamp:
    case kTimestampReply:
      return Kind::kQuery;
    case kUnreachable:
    case kQuench:
    case kTimeExceeded:
    case kParameterProblem:
      return Kind::kError;
    default:
      return Kind::kOther;
  }
}

}  // namespace

Ipv4Packet read_any_packet(const uint8_t* ip, uint32_t bytes) noexcept {
  Ipv4Packet packet;
  if (ip[0] != 0x45) return packet;
  const uint16_t fragment = load16_be(ip + 6);
  if ((fragment & 0x1fff) != 0) {
    packet.kind = Kind::kLater;
    return packet;
  }
  packet.first_fragment = (fragment & 0x2000) != 0;
  const uint8_t* const upper = ip + kHeaderBytes;
  const uint32_t rest = bytes - kHeaderBytes;
  switch (ip[9]) {
    case kTcp:
      if (rest < 20) return packet;
      packet.kind = Kind::kTcp;
      break;
    case kUdp:
      if (rest < 8) return packet;
      packet.kind = Kind::kUdp;
      break;
    case kIcmp:
      if (rest < 8) return packet;
      packet.kind = icmp_kind(upper[0]);
      packet.source = packet.destination = load16_native(upper + 4);
      return packet;
    default:
      packet.kind = Kind::kOther;
      return packet;
  }
  packet.source = load16_native(upper);
  packet.destination = load16_native(upper + 2);
  return packet;
}

void rewrite_upper_sum(uint8_t* ip, uint32_t bytes, uint16_t address_delta) noexcept {
  const uint32_t header = (ip[0] & 0xf) * 4u;
  if (header < kHeaderBytes || (load16_be(ip + 6) & 0x1fff) != 0) return;
  uint8_t* const upper = ip + header;
  switch (ip[9]) {
    case kTcp:
      if (bytes >= header + 18) change_checksum(upper + 16, address_delta);
      break;
    case kUdp:
      if (bytes >= header + 8) change_udp_checksum(upper + 6, address_delta);
      break;
    case kUdpLite:  // RFC 3828: its checksum is never 0
    case kDccp:     // RFC 4340 §9.1
      if (bytes >= header + 8) change_checksum(upper + 6, address_delta);
      break;
    default:
      break;
  }
}

}  // namespace hecto::router::nat
