// A flow as IPFIX tells it: which packets, how many, from when to when. Values only.
#pragma once

#include <array>
#include <cstdint>

namespace hecto::router {

// Which flow. Bytes of addresses in network order, IPv4 in the first four; numbers in host order.
struct IpfixFlow {
  std::array<uint8_t, 16> source{}, destination{};
  uint32_t ingress = 0, egress = 0;  // ifIndexes; 0: none, or not known
  uint32_t sampling = 1;             // one packet in so many: the number of its selector, too
  uint16_t source_port = 0, destination_port = 0;
  uint16_t icmp = 0;  // type and code
  uint16_t vlan = 0;
  uint8_t protocol = 0;
  uint8_t forwarding = 0;  // forwardingStatus (RFC 7270 §4.12)
  bool ipv6 = false;
  bool operator==(const IpfixFlow&) const = default;
};

// flowEndReason (RFC 5102 §5.11.3).
enum class FlowEnd : uint8_t {
  kIdle = 1,
  kActive = 2,  // it goes on
  kEnd = 3,     // an entry of the flow table went
  kForced = 4,  // the exporter ends
  kNoRoom = 5,  // others needed its place
};

struct IpfixRecord {
  IpfixFlow flow;
  uint64_t packets = 0, bytes = 0;     // of IP, without what is in front of it
  uint64_t first_ms = 0, last_ms = 0;  // since 1970
  FlowEnd end = FlowEnd::kIdle;
  uint8_t traffic_class = 0;  // of the first packet
  uint8_t tcp_flags = 0;      // of all of them
  // Of an entry of the flow table: its number, and how much of the addresses it asks for.
  uint64_t entry = 0;
  uint8_t source_length = 0, destination_length = 0;
};

}  // namespace hecto::router
