#include "bench/traffic/frames.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "bench/traffic/spec_problems.hpp"

namespace hecto::bench {
namespace {

constexpr unsigned kUdp_bytes = 8;
constexpr uint64_t kSeed = 20100830;

// Of an even number of bytes, in the machine's order, as all sums here.
uint16_t sum_of(const uint8_t* bytes, uint32_t count) {
  return __builtin_bswap16(fold_sum(sum_words(bytes, count)));
}

bool all_hosts(const std::vector<lookup::IpPrefix>& prefixes) {
  return std::all_of(prefixes.begin(), prefixes.end(), [](const lookup::IpPrefix& prefix) {
    return prefix.length == prefix.address.size() * 8;
  });
}

bool forwardable(uint32_t address) {
  const uint32_t first = address >> 24;
  return first != 0 && first != 10 && first != 127 && first < 224;
}
bool forwardable(const lookup::Ipv6Address& address) {
  return address.bytes[0] >> 5 == 1;  // 2000::/3, global unicast
}

// In an address's host order or wire bytes, as make_destinations gives them.
template <typename Address, typename Prefix, typename Narrow, typename Host>
std::vector<Address> choose(const TrafficDestinations& wanted, const char* by_default,
                            Narrow narrow, Host host) {
  std::vector<lookup::IpPrefix> from = wanted.prefixes;
  if (from.empty()) from.push_back(*lookup::IpPrefix::parse(by_default));
  std::vector<Address> chosen;
  if (wanted.kind == Destinations::kInTable && all_hosts(from)) {
    for (const lookup::IpPrefix& prefix : from) chosen.push_back(host(prefix.address));
    return chosen;
  }
  std::vector<Prefix> prefixes;
  for (const lookup::IpPrefix& prefix : from) prefixes.push_back(narrow(prefix));
  if (wanted.kind != Destinations::kUniform)
    return make_destinations(wanted.kind, std::span<const Prefix>(prefixes), wanted.count, kSeed);
  for (uint64_t round = 0; chosen.size() < wanted.count; ++round)
    for (const Address& address : make_destinations(wanted.kind, std::span<const Prefix>(prefixes),
                                                    2 * wanted.count, kSeed + round))
      if (forwardable(address) && chosen.size() < wanted.count) chosen.push_back(address);
  return chosen;
}

uint32_t ports_of(uint32_t flow) {
  uint8_t bytes[4];
  store16_be(bytes, static_cast<uint16_t>(kUdpPort + flow % (65536 - kUdpPort)));
  store16_be(bytes + 2, kDiscardPort);
  uint32_t ports = 0;
  std::memcpy(&ports, bytes, 4);
  return ports;
}

void set_macs(uint8_t* frame, const MacPair& macs) {
  std::memcpy(frame, macs.destination.data(), 6);
  std::memcpy(frame + 6, macs.source.data(), 6);
}

}  // namespace

std::vector<uint16_t> spread(const std::vector<uint32_t>& weights) {
  const uint64_t total = std::accumulate(weights.begin(), weights.end(), uint64_t{0});
  std::vector<int64_t> credit(weights.size());
  std::vector<uint16_t> pattern;
  pattern.reserve(total);
  for (uint64_t n = 0; n < total; ++n) {
    for (size_t i = 0; i < weights.size(); ++i) credit[i] += weights[i];
    const auto best = std::max_element(credit.begin(), credit.end());
    *best -= static_cast<int64_t>(total);
    pattern.push_back(static_cast<uint16_t>(best - credit.begin()));
  }
  return pattern;
}

FrameLayout::FrameLayout(lookup::Family family, bool vlan, bool short_tag)
    : l3(static_cast<uint8_t>(kEthernetBytes + (vlan ? kVlanTagBytes : 0))) {
  const unsigned ip = family == lookup::Family::kIpv4 ? kIpv4Bytes : kIpv6Bytes;
  tag = static_cast<uint8_t>(l3 + ip + (short_tag ? 0 : kUdp_bytes));
}

bool FrameLayout::needs_short_tag(const StreamSpec& stream, uint16_t frame_bytes) {
  const FrameLayout whole(stream.family, stream.vlan.has_value(), false);
  return whole.tag + kTag_bytes + kFcs_bytes > frame_bytes;
}

StreamFrames::StreamFrames(const StreamSpec& spec, uint16_t its_number,
                           const lookup::IpAddress& source, const MacPair& macs)
    : number(its_number), ipv6(spec.family == lookup::Family::kIpv6), l3(spec.vlan ? 18 : 14) {
  std::map<uint16_t, uint16_t> places;
  std::vector<uint32_t> weights;
  for (const FrameSize& size : spec.sizes) {
    const auto [place, fresh] = places.emplace(size.bytes, static_cast<uint16_t>(templates.size()));
    if (fresh) {
      add_template(spec, size.bytes, source, macs);
      weights.push_back(0);
    }
    weights[place->second] += size.weight;
    if (spec.sizes_in_order) pattern.push_back(place->second);
  }
  if (!spec.sizes_in_order) {
    uint32_t divisor = 0;
    for (const uint32_t weight : weights) divisor = std::gcd(divisor, weight);
    for (uint32_t& weight : weights) weight /= divisor;
    pattern = spread(weights);
  }
  add_records(spec, source);
}

void StreamFrames::add_template(const StreamSpec& spec, uint16_t frame_bytes,
                                const lookup::IpAddress& source, const MacPair& macs) {
  FrameTemplate& to = templates.emplace_back();
  to.frame_bytes = frame_bytes;
  to.length = static_cast<uint16_t>(frame_bytes - kFcs_bytes);
  to.short_tag = FrameLayout::needs_short_tag(spec, frame_bytes);
  const FrameLayout layout(spec.family, spec.vlan.has_value(), to.short_tag);
  to.tag = layout.tag;
  to.copied = to.length > 64 ? 128 : 64;
  uint8_t* frame = to.bytes.data();
  set_macs(frame, macs);
  if (spec.vlan) {
    std::memcpy(frame + 12, &kEtherVlan, 2);
    store16_be(frame + 14, *spec.vlan);
  }
  std::memcpy(frame + layout.l3 - 2, ipv6 ? &kEtherIpv6 : &kEtherIpv4, 2);
  uint8_t* ip = frame + layout.l3;
  const auto packet_bytes = static_cast<uint16_t>(to.length - layout.l3);
  const auto udp_bytes = static_cast<uint16_t>(packet_bytes - (ipv6 ? kIpv6Bytes : kIpv4Bytes));
  const uint8_t protocol = to.short_tag ? kNoNextHeader : kUdp;
  if (ipv6) {
    ip[0] = 0x60;
    store16_be(ip + 4, udp_bytes);
    ip[6] = protocol;
    ip[7] = kHopLimit;
    std::memcpy(ip + 8, source.bytes.data(), 8);
    write_magic(ip + 16, number);
  } else {
    ip[0] = 0x45;
    store16_be(ip + 2, packet_bytes);
    ip[8] = kHopLimit;
    ip[9] = protocol;
    to.ipv4_sum = sum_of(ip, kIpv4Bytes);
  }
  if (to.short_tag) return;
  uint8_t* udp = frame + layout.tag - kUdp_bytes;
  store16_be(udp + 4, udp_bytes);
  write_magic(udp + kUdp_bytes, number);
  // All that does not vary: pseudo header (RFC 768, RFC 8200 §8.1), length, magic and stream.
  uint8_t pseudo[4] = {0, protocol, 0, 0};
  store16_be(pseudo + 2, udp_bytes);
  const uint64_t constant = uint64_t{sum_of(pseudo, 4)} + sum_of(udp + 4, 2) +
                            sum_of(udp + kUdp_bytes, 4) + (ipv6 ? sum_of(ip + 8, 12) : 0);
  const auto checksum = static_cast<uint16_t>(~fold(constant));
  std::memcpy(udp + 6, &checksum, 2);
}

void StreamFrames::add_records(const StreamSpec& spec, const lookup::IpAddress& source) {
  const auto sum = [](const auto& value) {
    return sum_of(reinterpret_cast<const uint8_t*>(&value), sizeof value);
  };
  if (ipv6) {
    const auto to = choose<lookup::Ipv6Address, lookup::Prefix6>(
        spec.destinations, "2001:2:0:2::/64", [](const auto& p) { return p.v6(); },
        [](const auto& a) { return a.v6(); });
    records = std::max<size_t>(spec.flows, to.size());
    for (size_t i = 0; i < records; ++i) {
      const auto flow = static_cast<uint32_t>(i % spec.flows);
      Ipv6Record record{};
      std::memcpy(record.destination, to[i % to.size()].bytes.data(), 16);
      record.source_low = __builtin_bswap32(flow + 1);
      record.ports = ports_of(flow);
      record.varying =
          fold(uint64_t{sum(record.destination)} + sum(record.source_low) + sum(record.ports));
      records6.push_back(record);
    }
    return;
  }
  const auto to = choose<uint32_t, lookup::Prefix4>(
      spec.destinations, "198.19.0.0/16", [](const auto& p) { return p.v4(); },
      [](const auto& a) { return a.v4().value; });
  records = std::max<size_t>(spec.flows, to.size());
  for (size_t i = 0; i < records; ++i) {
    const auto flow = static_cast<uint32_t>(i % spec.flows);
    Ipv4Record record{};
    record.source = __builtin_bswap32(source.v4().value + flow);
    record.destination = __builtin_bswap32(to[i % to.size()]);
    record.ports = ports_of(flow);
    record.header_sum = fold(uint64_t{sum(record.source)} + sum(record.destination));
    record.varying = fold(uint64_t{record.header_sum} + sum(record.ports));
    records4.push_back(record);
  }
}

StreamFrames::StreamFrames(const StreamSpec& spec, uint16_t its_number, Capture frames,
                           const MacPair& macs)
    : number(its_number), capture(std::move(frames)) {
  for (const Capture::Frame& frame : capture.frames) {
    uint8_t* bytes = capture.bytes.data() + frame.offset;
    std::memcpy(bytes + 6, macs.source.data(), 6);
    // Multicast stays what it is.
    if (spec.destination_mac || (bytes[0] & 1) == 0) std::memcpy(bytes, macs.destination.data(), 6);
  }
}

double StreamFrames::mean_frame_bytes() const {
  double bytes = 0;
  if (replayed()) {
    for (const Capture::Frame& frame : capture.frames)
      bytes += std::max<double>(frame.length + kFcs_bytes, kMinFrame_bytes);
    return bytes / static_cast<double>(capture.frames.size());
  }
  for (const uint16_t place : pattern) bytes += templates[place].frame_bytes;
  return bytes / static_cast<double>(pattern.size());
}

uint16_t StreamFrames::longest_frame_bytes() const {
  uint32_t bytes = kMinFrame_bytes;
  for (const FrameTemplate& t : templates) bytes = std::max<uint32_t>(bytes, t.frame_bytes);
  for (const Capture::Frame& frame : capture.frames)
    bytes = std::max<uint32_t>(bytes, frame.length + kFcs_bytes);
  return static_cast<uint16_t>(std::min<uint32_t>(bytes, UINT16_MAX));
}

}  // namespace hecto::bench
