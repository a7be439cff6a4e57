// Prefixes with next-hop groups: the table that look-ups are measured in.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/lib/family.hpp"

namespace hecto::bench {

struct RouteList {
  std::string name;  // of the file, or "synthetic"
  std::vector<Route<Ipv4>> v4;
  std::vector<Route<Ipv6>> v6;  // ascending, no prefix twice, as v4
  template <typename Family>
  const std::vector<Route<Family>>& routes() const {
    if constexpr (Family::kNumber == 4)
      return v4;
    else
      return v6;
  }
};

// `path`: a route file; empty: the real table where it is found from `root`, else the synthetic
// one. Whatever next hops a file names, a prefix has group 1 + fnv1a32(its text) mod `next_hops`.
Result<RouteList> read_route_list(const std::string& path, const std::string& root,
                                  unsigned next_hops);

}  // namespace hecto::bench
