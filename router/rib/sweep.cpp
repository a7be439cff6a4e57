#include "router/rib/sweep.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

bool Sweep::step(size_t work) {
  while (!tables_.empty() && work > 0) {
    if (from4_) work = step_in<Ipv4Address>(from4_, work);
    if (!from4_ && from6_ && work > 0) work = step_in<Ipv6Address>(from6_, work);
    if (from4_ || from6_) break;
    tables_.pop_back();
    from4_.emplace();
    from6_.emplace();
  }
  return !tables_.empty();
}

void Sweep::finish() {
  while (step(std::numeric_limits<size_t>::max())) {
  }
}

// The work that is left.
template <typename Address>
size_t Sweep::step_in(std::optional<Prefix<Address>>& from, size_t work) {
  RoutingTable& table = *tables_.back();
  const Rib<Address>& rib = table.rib<Address>();
  std::vector<Prefix<Address>> found;
  std::optional<Prefix<Address>> next;
  rib.walk(*from, [&](const Prefix<Address>& prefix, const RibEntry<Address>& entry) {
    if (work == 0) {
      next = prefix;
      return false;
    }
    const bool wanted = rib.find_route(&entry, wanted_) != kNoRouteId;
    if (wanted) found.push_back(prefix);
    work -= std::min(work, wanted ? kErase : 1);
    return true;
  });
  // The tree must not change while it is walked. Erasing one may take a neighbor's candidate with
  // it.
  for (const Prefix<Address>& prefix : found) {
    for (RouteId id; (id = rib.find_route(rib.find(prefix), wanted_)) != kNoRouteId; ++erased_)
      store_.erase(table, prefix, id);
  }
  from = next;
  return work;
}

}  // namespace hecto::router
