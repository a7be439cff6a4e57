#include "bench/lib/reference.hpp"

#include <algorithm>

namespace hecto::bench {

using lookup::GroupId;

template <typename Family>
uint32_t extension_nodes(const std::vector<Route<Family>>& routes) {
  uint32_t nodes = 0;
  // Ascending prefixes: a node's prefixes stand together, so the last node of each depth is enough.
  typename Family::Prefix last[17]{};
  bool seen[17]{};
  for (const Route<Family>& route : routes)
    for (unsigned depth = 24; depth < route.prefix.length; depth += 8) {
      const auto node = Family::Prefix::make(route.prefix.address, static_cast<uint8_t>(depth));
      if (seen[depth / 8] && last[depth / 8] == node) continue;
      seen[depth / 8] = true;
      last[depth / 8] = node;
      ++nodes;
    }
  return nodes;
}

template <typename Family>
std::vector<uint32_t> enclosing_routes(const std::vector<Route<Family>>& routes) {
  std::vector<uint32_t> enclosing(routes.size(), kNoneAround);
  for (uint32_t i = 1; i < routes.size(); ++i) {
    uint32_t around = i - 1;
    while (around != kNoneAround && !routes[around].prefix.contains(routes[i].prefix))
      around = enclosing[around];
    enclosing[i] = around;
  }
  return enclosing;
}

template <typename Family>
uint32_t reserved_nodes(const std::vector<Route<Family>>& routes) {
  const auto steps = [](unsigned length) { return (std::max(length, 24u) + 7) / 8; };
  const std::vector<uint32_t> enclosing = enclosing_routes(routes);
  uint32_t nodes = 0;
  for (size_t i = 0; i < routes.size(); ++i) {
    const unsigned around = enclosing[i] == kNoneAround ? 0u : routes[enclosing[i]].prefix.length;
    nodes += steps(routes[i].prefix.length) - steps(around);
  }
  return nodes;
}

template <typename Family>
Reference<Family>::Reference(const std::vector<Route<Family>>& routes)
    : routes_(routes), enclosing_(enclosing_routes(routes)) {}

template <typename Family>
GroupId Reference<Family>::find(const typename Family::Destination& destination) const {
  const typename Family::Address address = Family::address(destination);
  const auto behind = std::upper_bound(
      routes_.begin(), routes_.end(), address,
      [](const auto& a, const Route<Family>& route) { return a < route.prefix.address; });
  uint32_t match =
      behind == routes_.begin() ? kNoneAround : static_cast<uint32_t>(behind - routes_.begin() - 1);
  while (match != kNoneAround && !routes_[match].prefix.contains(address))
    match = enclosing_[match];
  return match == kNoneAround ? lookup::kNoRoute : routes_[match].group;
}

template uint32_t extension_nodes<Ipv4>(const std::vector<Route<Ipv4>>&);
template uint32_t extension_nodes<Ipv6>(const std::vector<Route<Ipv6>>&);
template std::vector<uint32_t> enclosing_routes(const std::vector<Route<Ipv4>>&);
template std::vector<uint32_t> enclosing_routes(const std::vector<Route<Ipv6>>&);
template uint32_t reserved_nodes(const std::vector<Route<Ipv4>>&);
template uint32_t reserved_nodes(const std::vector<Route<Ipv6>>&);
template class Reference<Ipv4>;
template class Reference<Ipv6>;

}  // namespace hecto::bench
