#include "router/dataplane/nat/icmp_error.hpp"

namespace hecto::router::nat {
namespace {

constexpr uint32_t kIcmpBytes = 8, kLeastBehind = 8;

// Writes words that lie under the message's checksum.
class Message {
 public:
  explicit Message(uint8_t* icmp) noexcept : icmp_(icmp) {}
  ~Message() { change_checksum(icmp_ + 2, fold_sum(sum_)); }
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  void put16(uint8_t* at, uint16_t value) noexcept {
    sum_ += delta16(load16_native(at), value);
    store16_native(at, value);
  }
  void put32(uint8_t* at, uint32_t value) noexcept {
    sum_ += delta32(load32_native(at), value);
    store32_native(at, value);
  }
  void change(uint8_t* checksum, uint16_t delta) noexcept {
    put16(checksum, changed_checksum(load16_native(checksum), delta));
  }
  void change_udp(uint8_t* checksum, uint16_t delta) noexcept {
    uint8_t changed[2];
    store16_native(changed, load16_native(checksum));
    change_udp_checksum(changed, delta);
    put16(checksum, load16_native(changed));
  }

 private:
  uint8_t* const icmp_;
  uint32_t sum_ = 0;
};

}  // namespace

std::optional<EmbeddedPacket> find_embedded(uint8_t* ip, uint32_t bytes) noexcept {
  constexpr uint32_t kBefore = kHeaderBytes + kIcmpBytes;
  if (bytes < kBefore + kHeaderBytes) return std::nullopt;
  EmbeddedPacket found;
  found.ip = ip + kBefore;
  found.bytes = bytes - kBefore;
  found.header = (found.ip[0] & 0xf) * 4u;
  if (found.ip[0] >> 4 != 4 || found.header < kHeaderBytes ||
      found.bytes < found.header + kLeastBehind || (load16_be(found.ip + 6) & 0x1fff) != 0)
    return std::nullopt;
  found.source = load32_native(found.ip + 12);
  found.destination = load32_native(found.ip + 16);
  const uint8_t* const upper = found.ip + found.header;
  switch (found.ip[9]) {
    case kTcp:
    case kUdp:
      found.kind = found.ip[9] == kTcp ? Kind::kTcp : Kind::kUdp;
      found.source_port = load16_native(upper);
      found.destination_port = load16_native(upper + 2);
      break;
    case kIcmp:
      // About errors there are none (RFC 1122 §3.2.2); other types have no identifier.
      if (upper[0] != 0 && upper[0] != 8 && upper[0] != 13 && upper[0] != 14) break;
      found.kind = Kind::kQuery;
      found.source_port = found.destination_port = load16_native(upper + 4);
      break;
    default:
      break;
  }
  return found;
}

void rewrite_embedded(uint8_t* ip, const EmbeddedPacket& embedded, End end, uint32_t address,
                      std::optional<uint16_t> port) noexcept {
  Message message(ip + kHeaderBytes);
  uint8_t* const inner = embedded.ip;
  uint8_t* const upper = inner + embedded.header;
  uint8_t* const place = inner + (end == End::kSource ? 12 : 16);
  const uint16_t address_delta = delta32(load32_native(place), address);
  message.put32(place, address);
  message.change(inner + 10, address_delta);
  uint16_t port_delta = 0;
  if (port) {
    const unsigned at = embedded.kind == Kind::kQuery ? 4 : end == End::kSource ? 0 : 2;
    port_delta = delta16(load16_native(upper + at), *port);
    message.put16(upper + at, *port);
  }
  const uint32_t behind = embedded.bytes - embedded.header;
  switch (inner[9]) {
    case kTcp:
      if (behind >= 18) message.change(upper + 16, join_deltas(address_delta, port_delta));
      break;
    case kUdp:
      message.change_udp(upper + 6, join_deltas(address_delta, port_delta));
      break;
    case kUdpLite:
    case kDccp:
      message.change(upper + 6, address_delta);
      break;
    case kIcmp:
      if (port) message.change(upper + 2, port_delta);
      break;
    default:
      break;
  }
}

}  // namespace hecto::router::nat
