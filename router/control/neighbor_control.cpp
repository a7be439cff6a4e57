#include "router/control/neighbor_control.hpp"

#include <fmt/format.h>

#include "router/control/linux_side.hpp"
#include "router/control/notes.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

using lookup::Family;

constexpr uint16_t kNudStale = 0x04;

}  // namespace

NeighborControl::NeighborControl(LinuxSide& linux_side, const Routing& routing, Notes& notes)
    : linux_side_(linux_side), routing_(routing), notes_(notes) {}

void NeighborControl::raise_limits() {
  for (const std::string& line : limits_.raise()) notes_.add("neighbors: " + line);
}

// A host that changed its MAC without a word is noticed, and one that only the fast path talks to
// does not look idle to the kernel's garbage collector.
void NeighborControl::find_stale() {
  if (!stale_.empty()) return;
  for (const NeighborView& neighbor : routing_.neighbors())
    if (!neighbor.configured && neighbor.state == kNudStale && neighbor.ifindex != 0)
      stale_.emplace_back(neighbor.ifindex, neighbor.address);
}

void NeighborControl::probe_some() {
  for (size_t i = 0; i < kProbesATurn && !stale_.empty(); ++i) {
    const auto [ifindex, address] = stale_.front();
    stale_.pop_front();
    (void)linux_side_.probe_neighbor(ifindex, address);
  }
}

void NeighborControl::watch() {
  for (const Family family : {Family::kIpv4, Family::kIpv6})
    if (const auto use = limits_.use(family)) judge(family, *use);
}

void NeighborControl::judge(Family family, const NeighborLimits::Use& use) {
  const unsigned version = family == Family::kIpv4 ? 4 : 6;
  Told& told = told_[version == 6];
  const bool refused = told.seen && use.refused > told.refused;
  const bool full = use.limit > 0 && use.entries * 10 >= use.limit * 9;
  if (!told.nearly_full && (full || refused)) {
    told.nearly_full = true;
    notes_.add(
        fmt::format("neighbors: Linux's IPv{0} table has {1} of {2} entries{3}: hosts will "
                    "not be reached; raise net.ipv{0}.neigh.default.gc_thresh3",
                    version, use.entries, use.limit, refused ? " and has refused new ones" : ""));
  } else if (!full && !refused && use.entries * 4 < use.limit * 3) {
    told.nearly_full = false;
  }
  told.seen = true;
  told.refused = use.refused;
}

}  // namespace hecto::router
