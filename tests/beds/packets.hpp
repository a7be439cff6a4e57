// Packets for the tests of the stages: real mbufs from a small pool, frames made by hand.
#pragma once

#include <cstring>
#include <memory>
#include <vector>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "lookup/prefix.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"

namespace hecto::router::test {

// DPDK without hugepages, devices or files; once per process.
rte_mempool* pool();
unsigned mbufs_in_use();

using Frame = std::vector<uint8_t>;
inline constexpr unsigned kIp = kEthernetBytes;  // where the IP header begins
inline constexpr MacAddress kPortMac = {0x02, 0, 0, 0, 0, 0x01};
inline constexpr MacAddress kHostMac = {0x02, 0, 0, 0, 0, 0x02};

struct FrameOptions {
  MacAddress to = kPortMac;
  MacAddress from = kHostMac;
  const char* source = "198.51.100.2";
  const char* destination = "203.0.113.9";
  uint8_t ttl = 64;
  uint16_t payload_bytes = 26;
  uint16_t vlan = 0;
  uint16_t outer_vlan = 0;  // of a tag before that one
  bool service = false;     // the first is of 802.1ad
  uint8_t protocol = 17;
  uint16_t flags_and_offset = 0;  // of IPv4, as the header has them
};
inline constexpr uint16_t kDontFragment = 0x4000, kMoreFragments = 0x2000;
Frame ipv4_frame(const FrameOptions& options = {});
Frame ipv6_frame(FrameOptions options = {});
void fix_checksum(Frame& frame, unsigned l2_length = kEthernetBytes);
uint16_t full_checksum(const uint8_t* header, unsigned bytes);

// Owned; segments are cut at the given offsets.
rte_mbuf* packet(const Frame& frame, const std::vector<size_t>& cuts = {});
Frame bytes_of(const rte_mbuf* packet);

// A port with MAC kPortMac, interface 0 untagged, interface 1 on VLAN 100.
struct Bed {
  Bed();
  // And interface 2 within that VLAN on 10, 3 on VLAN 100 of 802.1ad, 4 within that on 10; 5 on VLAN 20
  // within the same is down.
  static Bed with_two_tags();
  Snapshot snapshot;
  PortView& port() { return snapshot.ports[0]; }
};

}  // namespace hecto::router::test
