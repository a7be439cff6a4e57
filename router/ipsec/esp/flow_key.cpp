#include "router/ipsec/esp/flow_key.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "router/ipsec/esp/headers.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

constexpr uint32_t kIpv4Header = 20, kIpv6Header = 40;

// `payload`: what follows the IP header and its extensions, at least `bytes` long.
void read_ports(const uint8_t* payload, uint32_t bytes, FlowKey& key) {
  key.unseen = Unseen::kPorts;
  switch (key.protocol) {
    case kProtocolTcp:
    case kProtocolUdp:
    case kProtocolDccp:
    case kProtocolSctp:
    case kProtocolUdpLite:
      if (bytes < 4) return;
      key.source_port = load16_be(payload);
      key.destination_port = load16_be(payload + 2);
      break;
    case kProtocolIcmp:
    case kProtocolIcmpV6:
      if (bytes < 2) return;
      key.source_port = payload[0];       // type
      key.destination_port = payload[1];  // code
      break;
    case kProtocolMobility:
      if (bytes < 3) return;
      key.source_port = payload[2];  // type
      break;
    default:
      break;
  }
  key.unseen = Unseen::kNothing;
}

bool is_extension(uint8_t protocol) {
  return protocol == kProtocolHopByHop || protocol == kProtocolRouting ||
         protocol == kProtocolDestinationOptions || protocol == kProtocolFragment;
}

void read_ipv4(const uint8_t* ip, uint32_t bytes, FlowKey& key) {
  key.unseen = Unseen::kProtocol;
  if (bytes < kIpv4Header) return;
  std::memcpy(key.source.bytes.data(), ip + 12, 4);
  std::memcpy(key.destination.bytes.data(), ip + 16, 4);
  key.protocol = ip[9];
  const uint32_t header = (ip[0] & 0xf) * 4u;
  constexpr uint16_t kMoreOrOffset = 0x3fff;
  key.unseen = Unseen::kPorts;
  if ((load16_be(ip + 6) & kMoreOrOffset) != 0 || header < kIpv4Header || header > bytes) return;
  read_ports(ip + header, bytes - header, key);
}

void read_ipv6(const uint8_t* ip, uint32_t bytes, FlowKey& key) {
  key.unseen = Unseen::kProtocol;
  if (bytes < kIpv6Header) return;
  std::memcpy(key.source.bytes.data(), ip + 8, 16);
  std::memcpy(key.destination.bytes.data(), ip + 24, 16);
  key.protocol = ip[6];
  uint32_t at = kIpv6Header;
  for (unsigned extensions = 0; extensions < kMaxExtensions; ++extensions) {
    if (!is_extension(key.protocol)) {
      read_ports(ip + at, bytes - at, key);
      return;
    }
    if (bytes - at < 8) return;
    const bool fragment = key.protocol == kProtocolFragment;
    const uint32_t length = (ip[at + 1] + 1u) * 8;
    key.protocol = ip[at];
    if (fragment) {
      // The first one's word alone counts of what follows (RFC 8200 §4.5).
      const bool first = (load16_be(ip + at + 2) & 0xfff8) == 0;
      if (first && !is_extension(key.protocol)) key.unseen = Unseen::kPorts;
      return;
    }
    if (length > bytes - at) return;
    at += length;
  }
}

}  // namespace

FlowKey flow_key(Family family, const uint8_t* ip, uint32_t bytes) noexcept {
  FlowKey key{family, 0, 0, 0, {}, {}};
  if (family == Family::kIpv4)
    read_ipv4(ip, bytes, key);
  else
    read_ipv6(ip, bytes, key);
  return key;
}

}  // namespace hecto::router::esp
