#include "router/dataplane/stages/icmp_error.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"

namespace hecto::router {

namespace {

constexpr uint8_t kIcmp = 1, kIcmpv6 = 58;
constexpr unsigned kIcmpBytes = 8;
constexpr uint8_t kHopLimit = 65;  // rewrite takes one
constexpr uint32_t kMost4 = 576,
                   kMost6 = 1280;  // bytes of an answer (RFC 1812 §4.3.2.3, RFC 4443 §2.4)

// Of data whose field is zero, and what else is summed.
uint16_t checksum(const uint8_t* data, uint32_t bytes, uint64_t more = 0) noexcept {
  return static_cast<uint16_t>(~fold_sum(more + sum_data(data, bytes)));
}

bool icmp4_error(const uint8_t* icmp) noexcept {
  const uint8_t type = icmp[0];
  return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

// Room for `more` bytes before the packet's IP header, which keeps at most `kept` bytes. Null:
// none.
uint8_t* grow(rte_mbuf* packet, unsigned l2_length, unsigned more, uint32_t kept) noexcept {
  if (packet->nb_segs != 1 || packet->data_off < more) return nullptr;
  const uint32_t bytes = std::min(packet->data_len - l2_length, kept);
  packet->data_off = static_cast<uint16_t>(packet->data_off - more);
  packet->data_len = static_cast<uint16_t>(l2_length + more + bytes);
  packet->pkt_len = packet->data_len;
  packet->ol_flags &= ~uint64_t{RTE_MBUF_F_RX_RSS_HASH};
  return rte_pktmbuf_mtod(packet, uint8_t*) + l2_length;
}

struct Message {
  uint8_t type, code;
  uint16_t mtu;
};

bool make_error4(rte_mbuf* packet, unsigned l2_length, const Message& message,
                 const InterfaceView& interface) noexcept {
  const uint8_t* old = rte_pktmbuf_mtod(packet, const uint8_t*) + l2_length;
  const uint32_t header = (old[0] & 0xf) * 4u;
  const uint32_t there = packet->data_len - l2_length;
  if (interface.address4 == 0 || (load16_be(old + 6) & 0x1fff) != 0) return false;
  if (old[9] == kIcmp && (there < header + 1 || icmp4_error(old + header))) return false;
  uint32_t to;
  std::memcpy(&to, old + 12, sizeof to);
  uint8_t* ip = grow(packet, l2_length, kIpv4Bytes + kIcmpBytes, kMost4 - kIpv4Bytes - kIcmpBytes);
  if (ip == nullptr) return false;
  const uint32_t total = packet->data_len - l2_length;
  std::memset(ip, 0, kIpv4Bytes + kIcmpBytes);
  ip[0] = 0x45;
  ip[1] = 0xc0 | (old[1] & 0x1e);  // internetwork control (RFC 1812 §4.3.2.5), and as Linux does
  store16_be(ip + 2, total);
  ip[8] = kHopLimit;
  ip[9] = kIcmp;
  const uint32_t from = __builtin_bswap32(interface.address4);
  std::memcpy(ip + 12, &from, sizeof from);
  std::memcpy(ip + 16, &to, sizeof to);
  store16_be(ip + 10, checksum(ip, kIpv4Bytes));
  uint8_t* icmp = ip + kIpv4Bytes;
  icmp[0] = message.type;
  icmp[1] = message.code;
  store16_be(icmp + 6, message.mtu);
  store16_be(icmp + 2, checksum(icmp, total - kIpv4Bytes));
  return true;
}

bool make_error6(rte_mbuf* packet, unsigned l2_length, const Message& message,
                 const InterfaceView& interface) noexcept {
  const uint8_t* old = rte_pktmbuf_mtod(packet, const uint8_t*) + l2_length;
  const uint32_t there = packet->data_len - l2_length;
  if (interface.address6 == lookup::Ipv6Address{}) return false;
  if (old[6] == kIcmpv6 && (there < kIpv6Bytes + 1 || old[kIpv6Bytes] < 128)) return false;
  std::array<uint8_t, 16> to;
  std::memcpy(to.data(), old + 8, to.size());
  uint8_t* ip = grow(packet, l2_length, kIpv6Bytes + kIcmpBytes, kMost6 - kIpv6Bytes - kIcmpBytes);
  if (ip == nullptr) return false;
  const uint32_t payload = packet->data_len - l2_length - kIpv6Bytes;
  std::memset(ip, 0, kIpv6Bytes + kIcmpBytes);
  ip[0] = 0x60;
  store16_be(ip + 4, payload);
  ip[6] = kIcmpv6;
  ip[7] = kHopLimit;
  std::memcpy(ip + 8, interface.address6.bytes.data(), 16);
  std::memcpy(ip + 24, to.data(), 16);
  uint8_t* icmp = ip + kIpv6Bytes;
  icmp[0] = message.type;
  icmp[1] = message.code;
  store16_be(icmp + 6, message.mtu);
  // The pseudo header (RFC 8200 §8.1): addresses, length, next header.
  const uint64_t pseudo = uint64_t{sum_data(ip + 8, 32)} + payload + kIcmpv6;
  store16_be(icmp + 2, checksum(icmp, payload, pseudo));
  return true;
}

}  // namespace

bool make_too_big4(rte_mbuf* packet, unsigned l2_length, uint16_t mtu,
                   const InterfaceView& interface) noexcept {
  return make_error4(packet, l2_length, {3, 4, mtu}, interface);
}
bool make_too_big6(rte_mbuf* packet, unsigned l2_length, uint16_t mtu,
                   const InterfaceView& interface) noexcept {
  return make_error6(packet, l2_length, {2, 0, mtu}, interface);
}
bool make_prohibited4(rte_mbuf* packet, unsigned l2_length,
                      const InterfaceView& interface) noexcept {
  return make_error4(packet, l2_length, {3, 13, 0}, interface);
}
bool make_prohibited6(rte_mbuf* packet, unsigned l2_length,
                      const InterfaceView& interface) noexcept {
  return make_error6(packet, l2_length, {1, 1, 0}, interface);
}

}  // namespace hecto::router
