// The plain twin that all engines are held against, and what a table takes of the tries of DPDK.
#pragma once

#include <vector>

#include "bench/lib/family.hpp"

namespace hecto::bench {

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
