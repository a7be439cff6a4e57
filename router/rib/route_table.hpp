// A list of routes as a file or the API brings it, a million at a time: next hops are kept once.
#pragma once

#include <cstdint>
#include <vector>

#include "router/rib/route.hpp"

namespace hecto::router {

struct RouteTable {
  struct Entry {
    IpPrefix prefix;            // host bits zero
    uint32_t next_hop_set = 0;  // index into `next_hop_sets`
    bool operator==(const Entry&) const = default;
  };
  std::vector<std::vector<NextHop>> next_hop_sets;
  std::vector<Entry> entries;  // in the order of the source; a prefix may stand there twice
};

}  // namespace hecto::router
