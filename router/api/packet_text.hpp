// A packet in one line: "IPv4 192.0.2.9 > 203.0.113.9 UDP 5000 > 53, 60 bytes, TTL 64". Read with
// bounds: what was captured may be shorter than its headers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hecto::router {

struct PacketText {
  std::string text;
  int ttl = -1;  // none seen
};

// `length`: of the whole packet.
PacketText text_of_frame(std::span<const uint8_t> frame, uint32_t length);
PacketText text_of_ip(std::span<const uint8_t> ip, uint32_t length);

}  // namespace hecto::router
