#include "router/dataplane/flow/flow_rewrite.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "base/checksum_change.hpp"
#include "base/ether.hpp"
#include "router/dataplane/filter/read_key.hpp"

namespace hecto::router {
namespace {

constexpr uint8_t kTcpProtocol = 6, kUdpProtocol = 17, kDccpProtocol = 33, kIcmp6Protocol = 58,
                  kUdpLiteProtocol = 136;

struct Transport {
  uint8_t* at = nullptr;  // null: none that can be read
  uint32_t bytes = 0;
  uint8_t protocol = 0;
};

bool has_ports(uint8_t protocol) noexcept {
  return protocol == kTcpProtocol || protocol == kUdpProtocol || protocol == kDccpProtocol ||
         protocol == kUdpLiteProtocol;
}

// Where the checksum is; 0: there is none that changes with addresses.
uint32_t checksum_place(const Transport& transport, bool ipv6) noexcept {
  switch (transport.protocol) {
    case kTcpProtocol:
      return 16;
    case kUdpProtocol:
    case kDccpProtocol:
    case kUdpLiteProtocol:
      return 6;
    case kIcmp6Protocol:
      return ipv6 ? 2 : 0;
    default:
      return 0;
  }
}

// Ports, and the checksum for them and for `addresses`.
void rewrite_transport(const Transport& transport, ChecksumChange addresses, bool ipv6,
                       const FlowAction& action) noexcept {
  if (transport.at == nullptr) return;
  ChecksumChange change = addresses;
  if (has_ports(transport.protocol) && transport.bytes >= 4) {
    if ((action.does & FlowAction::kSport) != 0) change.replace(transport.at, action.sport, 2);
    if ((action.does & FlowAction::kDport) != 0) change.replace(transport.at + 2, action.dport, 2);
  }
  const uint32_t place = checksum_place(transport, ipv6);
  if (place == 0 || transport.bytes < place + 2) return;
  uint8_t* const checksum = transport.at + place;
  if (transport.protocol == kUdpProtocol)
    change_udp_checksum(checksum, change.delta());
  else
    change_checksum(checksum, change.delta());
}

}  // namespace

void rewrite_ipv4(uint8_t* ip, uint32_t bytes, const FlowAction& action) noexcept {
  ChecksumChange addresses, header;
  if ((action.does & FlowAction::kFrom) != 0) addresses.replace(ip + 12, action.from, 4);
  if ((action.does & FlowAction::kTo) != 0) addresses.replace(ip + 16, action.to, 4);
  header.add(addresses);
  if ((action.does & FlowAction::kDscp) != 0) {
    const uint8_t first[2] = {ip[0], static_cast<uint8_t>(action.dscp << 2 | (ip[1] & 3))};
    header.replace(ip, first, 2);
  }
  if (!header.none()) change_checksum(ip + 10, header.delta());
  const uint32_t total = load16_be(ip + 2);
  const uint32_t end = bytes < total ? bytes : total;
  const uint32_t at = (ip[0] & 0xf) * 4u;
  if ((load16_be(ip + 6) & 0x1fff) != 0 || end <= at) return;
  rewrite_transport({ip + at, end - at, ip[9]}, addresses, false, action);
}

void rewrite_ipv6(uint8_t* ip, uint32_t bytes, const FlowAction& action) noexcept {
  ChecksumChange addresses;
  if ((action.does & FlowAction::kFrom) != 0) addresses.replace(ip + 8, action.from, 16);
  if ((action.does & FlowAction::kTo) != 0) addresses.replace(ip + 24, action.to, 16);
  if ((action.does & FlowAction::kDscp) != 0) {
    const unsigned word = load16_be(ip);
    store16_be(ip, static_cast<uint16_t>((word & 0xf03f) | unsigned{action.dscp} << 6));
  }
  const uint32_t total = load16_be(ip + 4) + kIpv6Bytes;
  const uint32_t end = bytes < total ? bytes : total;
  FilterKey6 key;
  std::memset(static_cast<void*>(&key), 0, sizeof key);
  key.protocol = ip[6];
  const uint8_t* at = ip + kIpv6Bytes;
  if (!has_ports(key.protocol) && key.protocol != kIcmp6Protocol)
    at = filter_detail::pass_extensions(ip, end, key);
  if (at == nullptr || at >= ip + end) return;
  rewrite_transport({ip + (at - ip), static_cast<uint32_t>(ip + end - at), key.protocol}, addresses,
                    true, action);
}

}  // namespace hecto::router
