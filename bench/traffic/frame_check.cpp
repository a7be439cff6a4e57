#include "bench/traffic/frame_check.hpp"

#include <map>

namespace hecto::bench {
namespace {

constexpr uint64_t kAllMac = 0xffffffffffff;
constexpr uint32_t kShortest = kMinFrame_bytes - kFcs_bytes;  // an Ethernet frame; drivers fill up

uint64_t bits_of(const MacAddress& mac) {
  uint64_t bits = 0;
  std::memcpy(&bits, mac.data(), mac.size());
  return bits;
}

lookup::IpAddress destination_of(const StreamFrames& frames, size_t record) {
  lookup::IpAddress address;
  if (frames.ipv6) {
    address.family = lookup::Family::kIpv6;
    std::memcpy(address.bytes.data(), frames.records6[record].destination, 16);
  } else {
    std::memcpy(address.bytes.data(), &frames.records4[record].destination, 4);
  }
  return address;
}

// Of a whole header, its checksum in it: 0xffff where that is right.
uint16_t header_sum(const uint8_t* ip) noexcept {
  const uint64_t a = load64_native(ip), b = load64_native(ip + 8);
  return fold((a & 0xffffffff) + (a >> 32) + (b & 0xffffffff) + (b >> 32) + load32_native(ip + 16));
}

}  // namespace

Arrival expected_arrival(const StreamSpec& stream, const MacPair& sent,
                         const std::optional<MacAddress>& station) {
  const Expectation& expect = stream.expect;
  Arrival arrival;
  arrival.vlan = expect.vlan.value_or(stream.vlan.value_or(0));
  arrival.hops = expect.wire ? 0 : expect.hops;
  arrival.mac = expect.wire              ? sent.destination
                : expect.destination_mac ? expect.destination_mac
                                         : station;
  if (!expect.wire) arrival.mac_of = expect.next_hop_mac;
  return arrival;
}

FrameCheck::FrameCheck(const StreamFrames& frames, const Arrival& expected)
    : pattern_(frames.pattern),
      records4_(frames.records4.data()),
      records6_(frames.records6.data()),
      records_(frames.records),
      where_(arrived_at(expected.to, expected.vlan)),
      from_(expected.from),
      hops_(expected.hops) {
  for (const FrameTemplate& sent : frames.templates) {
    const uint8_t* ip = sent.bytes.data() + frames.l3;
    uint8_t head[10];
    std::memcpy(head, ip, sizeof head);
    head[frames.ipv6 ? 7 : 8] = static_cast<uint8_t>(kHopLimit - hops_);
    Shape& shape = shapes_.emplace_back();
    shape.head = load64_native(head);
    shape.ttl_protocol = load16_native(head + 8);
    // TTL is the low byte of its word here: by what it is less, the sum is less.
    shape.ipv4_sum = fold(uint32_t{sent.ipv4_sum} + static_cast<uint16_t>(~uint16_t{hops_}));
    shape.ip_bytes = static_cast<uint16_t>(sent.length - frames.l3);
    shape.short_tag = sent.short_tag;
    shape.zeros = static_cast<uint16_t>(sent.length - sent.tag -
                                        (sent.short_tag ? kShortTag_bytes : kTag_bytes));
    shape.udp = load32_native(sent.bytes.data() + sent.tag - 4);
    if (!frames.ipv6) continue;
    source6_ = load64_native(ip + 8);
    source6_magic_ = load32_native(ip + 16);
  }
  const auto word = [](const std::optional<MacAddress>& mac) {
    return mac ? Mac{bits_of(*mac), kAllMac} : Mac{};
  };
  if (!expected.mac_of) {
    macs_ = {word(expected.mac)};
    return;
  }
  std::map<std::optional<MacAddress>, uint16_t> places;
  for (size_t i = 0; i < records_; ++i) {
    const auto mac = expected.mac_of(destination_of(frames, i));
    const auto [place, fresh] = places.emplace(mac, static_cast<uint16_t>(macs_.size()));
    if (fresh) macs_.push_back(word(mac));
    next_hops_.push_back(place->second);
  }
}

// In the order in which one thing makes the next meaningless: what is too short has no payload, and
// what came back from the port itself has not met a router.
template <bool kIpv6, bool kShort>
[[gnu::noinline]] Verdict FrameCheck::judge(const Arrived& arrived, size_t record,
                                            size_t place) const noexcept {
  const Shape& shape = shapes_[pattern_[place]];
  const uint8_t* ip = arrived.bytes + arrived.l3;
  const uint32_t told = kIpv6 ? load16_be(ip + 4) + kIpv6Bytes : load16_be(ip + 2);
  const uint32_t whole = arrived.l3 + uint32_t{shape.ip_bytes};
  if (!is_packet<kIpv6, kShort>(ip, record) || kShort != shape.short_tag)
    return Verdict::kCorrupted;
  if (told < shape.ip_bytes || arrived.length < whole) return Verdict::kTruncated;
  if (told > shape.ip_bytes || arrived.length > std::max(whole, kShortest)) return Verdict::kPadded;
  // Lengths and, further down, TTL are asked for by name.
  constexpr uint64_t kAside = kIpv6 ? 0xff00'ffff'0000'0000 : 0xffff'0000;
  const uint64_t head = (load64_native(ip) ^ shape.head) & (kIpv6 ? kHead6 : kHead4) & ~kAside;
  const bool same_protocol = kIpv6 || ip[9] == shape.ttl_protocol >> 8;
  const bool same_udp = kShort || load32_native(ip + tag_offset<kIpv6, kShort>() - 4) == shape.udp;
  constexpr unsigned kBehind =
      tag_offset<kIpv6, kShort>() + (kShort ? kShortTag_bytes : kTag_bytes);
  const size_t at_hand = std::min<size_t>(shape.zeros, arrived.at_hand - arrived.l3 - kBehind);
  if (head != 0 || !same_protocol || !same_udp || any_of(ip + kBehind, at_hand) != 0)
    return Verdict::kCorrupted;
  const auto port = static_cast<uint16_t>(arrived.where);
  if (port != static_cast<uint16_t>(where_))
    return port == from_ ? Verdict::kReflected : Verdict::kMisrouted;
  const unsigned hop_limit = ip[kIpv6 ? 7 : 8];
  if (hop_limit != kHopLimit - unsigned{hops_})
    return hop_limit == kHopLimit ? Verdict::kUnchanged : Verdict::kHopLimit;
  if (!kIpv6 && header_sum(ip) != 0xffff) return Verdict::kChecksum;
  if (other_mac(arrived.bytes, record) != 0) return Verdict::kDestinationMac;
  return arrived.where == where_ ? Verdict::kRight : Verdict::kVlan;
}

template Verdict FrameCheck::judge<false, false>(const Arrived&, size_t, size_t) const noexcept;
template Verdict FrameCheck::judge<true, false>(const Arrived&, size_t, size_t) const noexcept;
template Verdict FrameCheck::judge<true, true>(const Arrived&, size_t, size_t) const noexcept;

}  // namespace hecto::bench
