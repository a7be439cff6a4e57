// What a router is to do with a packet, found without its code: the next hop by binary search over
// the bed's table, and the frame as RFC 1812 and RFC 8200 want it forwarded.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/lib/reference.hpp"
#include "config/file/config.hpp"
#include "router/rib/route_table.hpp"

namespace hecto::bench {

struct ExpectedHop {
  unsigned side = 0;  // of the egress ports
  MacAddress mac{};
};

class ExpectedHops {
 public:
  // Neighbors lie behind ports that are named outN.
  ExpectedHops(const router::RouteTable& table,
               const std::vector<config::NeighborConfig>& neighbors);
  ExpectedHops(const ExpectedHops&) = delete;
  ExpectedHops& operator=(const ExpectedHops&) = delete;
  // Of an Ethernet frame that carries IP. None: the table has no route for it.
  std::optional<ExpectedHop> find(std::span<const uint8_t> frame) const;

 private:
  std::vector<ExpectedHop> hops_;  // by group - 1
  std::vector<Route<Ipv4>> routes4_;
  std::vector<Route<Ipv6>> routes6_;
  std::optional<Reference<Ipv4>> reference4_;
  std::optional<Reference<Ipv6>> reference6_;
};

// What comes of `frame`: MAC addresses, TTL or hop limit one less, checksum of the whole header.
std::vector<uint8_t> forwarded(std::span<const uint8_t> frame, const MacAddress& to,
                               const MacAddress& from);

// How `got` differs from `right`, in words of its fields; none where it does not.
std::optional<std::string> difference(std::span<const uint8_t> got, std::span<const uint8_t> right);

// A header's checksum by its definition (RFC 1071), over the words as they stand; 0 where the
// header has a right one.
uint16_t checksum_by_definition(std::span<const uint8_t> header);

}  // namespace hecto::bench
