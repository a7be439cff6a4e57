#include "bench/traffic/neighbors.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"

namespace hecto::bench {
namespace {

using lookup::Family;
using lookup::IpAddress;

constexpr size_t kArp_bytes = 28;
constexpr size_t kNeighbor_bytes = 24;  // solicitation or advertisement without options
constexpr size_t kOption_bytes = 8;     // a link-layer address
constexpr size_t kShortest_bytes = 60;
constexpr uint8_t kIcmpv6 = 58, kSolicitation = 135, kAdvertisement = 136;
constexpr uint8_t kSourceOption = 1, kTargetOption = 2;
constexpr uint8_t kSolicited = 0x40, kOverride = 0x20;

struct Payload {
  uint16_t type = 0;  // EtherType as base/ether.hpp has it
  size_t at = kEthernetBytes;
};
Payload payload_of(std::span<const uint8_t> frame) {
  if (frame.size() < 18) return {};
  const uint16_t type = load16_native(&frame[12]);
  if (type != kEtherVlan) return {type, kEthernetBytes};
  return {load16_native(&frame[16]), kEthernetBytes + kVlanTagBytes};
}

IpAddress address_at(const uint8_t* at, Family family) {
  IpAddress address;
  address.family = family;
  std::memcpy(address.bytes.data(), at, address.size());
  return address;
}

bool is_arp(std::span<const uint8_t> frame, const Payload& payload, uint16_t& operation) {
  if (payload.type != kEtherArp || frame.size() < payload.at + kArp_bytes) return false;
  const uint8_t* arp = &frame[payload.at];
  operation = load16_be(arp + 6);
  return load16_be(arp) == 1 && load16_native(arp + 2) == kEtherIpv4 && arp[4] == 6 && arp[5] == 4;
}

bool is_discovery(std::span<const uint8_t> frame, const Payload& payload, uint8_t type) {
  if (payload.type != kEtherIpv6 || frame.size() < payload.at + kIpv6Bytes + kNeighbor_bytes)
    return false;
  const uint8_t* ip = &frame[payload.at];
  // Hop limit 255: it was not forwarded (RFC 4861 §7.1).
  return ip[6] == kIcmpv6 && ip[7] == 255 && ip[kIpv6Bytes] == type &&
         load16_be(ip + 4) >= kNeighbor_bytes;
}

// Over the addresses, which end the header, and the message (RFC 4443 §2.3).
uint16_t icmp_checksum(const uint8_t* ip, uint32_t bytes) {
  const uint32_t sum = kIcmpv6 + bytes + sum_words(ip + 8, kIpv6Bytes - 8 + bytes);
  return static_cast<uint16_t>(~fold_sum(sum));
}

// The ICMPv6 message of one option that `frame` holds from `at` on, completed.
void finish_discovery(uint8_t* ip, uint8_t option, const MacAddress& mac) {
  constexpr uint32_t kMessage_bytes = kNeighbor_bytes + kOption_bytes;
  ip[0] = 0x60;
  ip[1] = ip[2] = ip[3] = 0;
  store16_be(ip + 4, kMessage_bytes);
  ip[6] = kIcmpv6;
  ip[7] = 255;
  uint8_t* message = ip + kIpv6Bytes;
  message[kNeighbor_bytes] = option;
  message[kNeighbor_bytes + 1] = 1;  // in units of 8 bytes
  std::memcpy(message + kNeighbor_bytes + 2, mac.data(), 6);
  store16_be(message + 2, 0);
  store16_be(message + 2, icmp_checksum(ip, kMessage_bytes));
}

bool is_own(const PortAddresses& own, const IpAddress& address) {
  return std::find(own.addresses.begin(), own.addresses.end(), address) != own.addresses.end();
}

}  // namespace

size_t answer_neighbor(std::span<uint8_t> frame, const PortAddresses& own) {
  const Payload payload = payload_of(frame);
  uint16_t operation = 0;
  if (is_arp(frame, payload, operation)) {
    uint8_t* arp = &frame[payload.at];
    if (operation != 1 || !is_own(own, address_at(arp + 24, Family::kIpv4))) return 0;
    uint8_t asked[4];
    std::memcpy(asked, arp + 24, 4);
    std::memcpy(arp + 18, arp + 8, 10);
    std::memcpy(arp + 8, own.mac.data(), 6);
    std::memcpy(arp + 14, asked, 4);
    store16_be(arp + 6, 2);
    std::memcpy(&frame[0], arp + 18, 6);
    std::memcpy(&frame[6], own.mac.data(), 6);
    return frame.size();
  }
  if (!is_discovery(frame, payload, kSolicitation)) return 0;
  const size_t whole = payload.at + kIpv6Bytes + kNeighbor_bytes + kOption_bytes;
  uint8_t* ip = &frame[payload.at];
  const IpAddress target = address_at(ip + kIpv6Bytes + 8, Family::kIpv6);
  // Without the option, and from nobody (a search for duplicates), there is no place for an answer.
  const IpAddress nobody{Family::kIpv6, {}};
  if (frame.size() < whole || !is_own(own, target) || address_at(ip + 8, Family::kIpv6) == nobody)
    return 0;
  std::memcpy(&frame[0], &frame[6], 6);
  std::memcpy(&frame[6], own.mac.data(), 6);
  std::memcpy(ip + 24, ip + 8, 16);
  std::memcpy(ip + 8, target.bytes.data(), 16);
  uint8_t* message = ip + kIpv6Bytes;
  message[0] = kAdvertisement;
  message[1] = 0;
  std::memset(message + 4, 0, 4);
  message[4] = kSolicited | kOverride;
  finish_discovery(ip, kTargetOption, own.mac);
  return whole;
}

std::vector<uint8_t> ask_neighbor(const MacAddress& mac, const IpAddress& from,
                                  const IpAddress& target, std::optional<uint16_t> vlan) {
  const bool v4 = from.family == Family::kIpv4;
  const size_t at = kEthernetBytes + (vlan ? kVlanTagBytes : 0);
  const size_t bytes = at + (v4 ? kArp_bytes : kIpv6Bytes + kNeighbor_bytes + kOption_bytes);
  std::vector<uint8_t> frame(std::max(bytes, kShortest_bytes));
  std::fill_n(frame.begin(), 6, uint8_t{0xff});
  std::memcpy(&frame[6], mac.data(), 6);
  if (vlan) {
    std::memcpy(&frame[12], &kEtherVlan, 2);
    store16_be(&frame[14], *vlan);
  }
  std::memcpy(&frame[at - 2], v4 ? &kEtherArp : &kEtherIpv6, 2);
  uint8_t* packet = &frame[at];
  if (v4) {
    const uint8_t head[] = {0, 1, 8, 0, 6, 4, 0, 1};
    std::memcpy(packet, head, sizeof head);
    std::memcpy(packet + 8, mac.data(), 6);
    std::memcpy(packet + 14, from.bytes.data(), 4);
    std::memcpy(packet + 24, target.bytes.data(), 4);
    return frame;
  }
  // The solicited-node address (RFC 4291 §2.7.1) and the MAC address that belongs to it.
  const uint8_t group[13] = {0xff, 0x02, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0xff};
  std::memcpy(packet + 8, from.bytes.data(), 16);
  std::memcpy(packet + 24, group, 13);
  std::memcpy(packet + 37, &target.bytes[13], 3);
  frame[0] = frame[1] = 0x33;
  std::memcpy(&frame[2], packet + 36, 4);
  packet[kIpv6Bytes] = kSolicitation;
  std::memcpy(packet + kIpv6Bytes + 8, target.bytes.data(), 16);
  finish_discovery(packet, kSourceOption, mac);
  return frame;
}

std::optional<MacAddress> told_mac(std::span<const uint8_t> frame, const IpAddress& target) {
  const Payload payload = payload_of(frame);
  MacAddress mac;
  uint16_t operation = 0;
  if (is_arp(frame, payload, operation)) {
    const uint8_t* arp = &frame[payload.at];
    if (address_at(arp + 14, Family::kIpv4) != target) return std::nullopt;
    std::memcpy(mac.data(), arp + 8, 6);
    return mac;
  }
  if (!is_discovery(frame, payload, kAdvertisement)) return std::nullopt;
  const uint8_t* message = &frame[payload.at + kIpv6Bytes];
  if (address_at(message + 8, Family::kIpv6) != target) return std::nullopt;
  const size_t at = payload.at + kIpv6Bytes + kNeighbor_bytes;
  // The sender is asked for its own address, so that the frame's source is as good as the option.
  const bool has_option = frame.size() >= at + kOption_bytes && frame[at] == kTargetOption;
  std::memcpy(mac.data(), has_option ? &frame[at + 2] : &frame[6], 6);
  return mac;
}

}  // namespace hecto::bench
