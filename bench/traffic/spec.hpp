// What traffic is to be sent: ports, and streams of frames between them. A plain value: read from a
// YAML file, made from a capture, or put together by a program. docs/measuring.md is the reference
// of the file's keys.
//
// Frame sizes count the FCS, as RFC 2544 does: 64 bytes are 60 in an mbuf.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "bench/lib/destinations.hpp"
#include "config/file/config.hpp"
#include "lookup/prefix.hpp"

namespace hecto::bench {

inline constexpr uint16_t kMinFrame_bytes = 64;
inline constexpr uint16_t kMaxFrame_bytes = 9022;  // MTU 9000, Ethernet header, VLAN tag, FCS
inline constexpr unsigned kFcs_bytes = 4;
inline constexpr unsigned kWireOverhead_bytes = 20;  // preamble, start of frame, gap between frames
inline constexpr size_t kMaxStreams = 64;

struct TrafficPort {
  config::PortConfig port;  // name, device, kind, mtu, addresses, mac, descriptors
  // Asked for their MAC address by ARP or neighbor discovery, where streams do not give it.
  std::vector<lookup::IpAddress> gateways;
  uint64_t line_bps = 0;  // the link's speed; 0: what the driver says, if it says something
};

struct FrameSize {
  uint16_t bytes = kMinFrame_bytes;
  uint32_t weight = 1;
  bool operator==(const FrameSize&) const = default;
};

// Where the packets of a stream go: `count` addresses, each in turn. Prefixes that all are hosts
// are taken as they are, in their order, except with kZipf.
struct TrafficDestinations {
  Destinations kind = Destinations::kInTable;
  std::vector<lookup::IpPrefix> prefixes;  // of the stream's family; unused with kUniform
  uint32_t count = 1024;
};

using NextHopMac = std::function<std::optional<MacAddress>(const lookup::IpAddress&)>;

// What a device must have done to a stream's packets. What comes back otherwise is wrong, and lost.
struct Expectation {
  bool wire = false;  // nothing: they come as they were sent
  uint8_t hops = 1;   // counted TTL or hop limit down by so many
  // Sent them to this one. Default: to the port `to`, where that has an address to be asked for,
  // else it is not checked.
  std::optional<MacAddress> destination_mac;
  std::optional<uint16_t> vlan;  // put them there, 0: into none; default: the stream's
  // By destination, before `destination_mac`: of a device whose routes are known; none: not checked.
  NextHopMac next_hop_mac;
};
inline constexpr uint8_t kMostHops = 63;  // frames are sent with 64

struct StreamSpec {
  std::string name;
  std::string from, to;  // names of ports; they may be the same one
  lookup::Family family = lookup::Family::kIpv4;
  // In a fixed order that repeats and spreads them evenly; with `sizes_in_order` as they stand.
  std::vector<FrameSize> sizes = {{}};
  bool sizes_in_order = false;
  uint32_t weight = 1;  // the stream's part of all packets
  std::optional<uint16_t> vlan;
  uint32_t flows = 1;  // sources: address and UDP port
  // The first flow's; IPv6 uses the first 64 bits and fills in the others. Default: 198.18.0.1,
  // 2001:2:0:1:: (RFC 2544, RFC 5180), or the first address of the port that sends.
  std::optional<lookup::IpAddress> source;
  TrafficDestinations destinations;
  std::optional<MacAddress> destination_mac;  // default: learned from the port's gateways
  Expectation expect;
  // Frames of this capture as they are, in place of all above from `sizes` on, except the MAC
  // addresses. They are counted, but carry neither sequence numbers nor time stamps.
  std::string replay;
};

// One of the three counts: packets, bits of frames with FCS, or part of the line with the gaps.
struct TrafficRate {
  enum class Unit : uint8_t { kMost, kPps, kBps, kLinePart } unit = Unit::kMost;
  double value = 0;  // 1/s, bit/s, 0 to 1
  bool operator==(const TrafficRate&) const = default;
};

struct TrafficSpec {
  std::string file;  // where it was read from, for errors; may be empty
  std::vector<TrafficPort> ports;
  std::vector<StreamSpec> streams;
  TrafficRate rate;
  double seconds = 10;
  bool timestamps = true;
};

using SpecProblems = std::vector<std::string>;  // one line each: "file:line: key: what"

// "10Mpps", "5Gbps", "40%", "max".
std::optional<TrafficRate> parse_rate(std::string_view text);
std::string to_string(const TrafficRate& rate);

// "64", "imix" (7:4:1 of 64, 594 and 1518): what an option or an experiment names.
std::optional<std::vector<FrameSize>> parse_sizes(std::string_view text);
double mean_bytes(const std::vector<FrameSize>& sizes);

// One stream of frames of one size from a device to another (or the same), as a starting point:
// ports "a" and "b", stream "a-b". Devices are named as in the configuration of a router.
TrafficSpec make_spec(const std::string& from_device, const std::string& to_device,
                      uint16_t frame_bytes = kMinFrame_bytes,
                      lookup::Family family = lookup::Family::kIpv4);

}  // namespace hecto::bench
