// The table that every engine holds, and the plain twin that all of them are held against.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "bench/lookup/family.hpp"

namespace hecto::bench {

struct Table {
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
Result<Table> read_table(const std::string& path, const std::string& root, unsigned next_hops);

// Nodes of 256 entries that a table needs behind a root of 24 bits, 8 bits a step: one for each
// head of 24, 32, 40... bits that a longer prefix has. `routes` ascending.
template <typename Family>
uint32_t extension_nodes(const std::vector<Route<Family>>& routes);

// For each route the longest one around it; kNoneAround where there is none. `routes` ascending.
inline constexpr uint32_t kNoneAround = ~0u;
template <typename Family>
std::vector<uint32_t> enclosing_routes(const std::vector<Route<Family>>& routes);

// Nodes that rte_fib6 has to be given before it takes the table. It sets nodes aside for a route's
// steps below the route around it, and counts those that neighbors share for each of them.
template <typename Family>
uint32_t reserved_nodes(const std::vector<Route<Family>>& routes);

// Longest match by binary search: the last prefix that starts at or before the destination, or what
// encloses that one.
template <typename Family>
class Reference {
 public:
  explicit Reference(const std::vector<Route<Family>>& routes);  // ascending; must outlive this
  lookup::GroupId find(const typename Family::Destination& destination) const;

 private:
  const std::vector<Route<Family>>& routes_;
  std::vector<uint32_t> enclosing_;
};

}  // namespace hecto::bench
