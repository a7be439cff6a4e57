#include "router/control/reorder_watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "router/control/forwarding_plane.hpp"
#include "router/dataplane/sampler.hpp"

namespace hecto::router {
namespace {

// Its partner has a choice of members. Else the packets were out of order before.
bool comes_by_several(const ForwardingPlane& plane, const std::string& name) {
  const std::vector<BondStatus> bonds = plane.bonds();
  return std::any_of(bonds.begin(), bonds.end(), [&](const BondStatus& bond) {
    return bond.name == name && bond.active > 1 &&
           bond.config.mode != config::BondMode::kActiveBackup;
  });
}

}  // namespace

std::vector<std::string> ReorderWatch::sampled(const ForwardingPlane& plane, const Sampler& sampler,
                                               Clock::time_point now) {
  std::vector<std::string> lines;
  std::map<std::string, Seen> kept;
  for (const PortStatus& port : plane.ports()) {
    if (!port.config.bond) continue;
    Seen& seen = kept[port.name()] = std::move(bonds_[port.name()]);
    const TrafficTotals totals = sampler.port(sampler.now(), port.id);
    // Fewer than before: another port has its name.
    if (!seen.points.empty() && totals.rx_segments < seen.points.back().segments) seen = {};
    if (seen.points.empty()) seen.points.push_back({now});
    seen.points.push_back({now, totals.rx_segments, totals.rx_reordered});
    while (now - seen.points[1].time >= kSpan) seen.points.pop_front();
    const Point &first = seen.points.front(), &last = seen.points.back();
    seen.last = {last.segments - first.segments, last.reordered - first.reordered, ""};
    const double percent = seen.last.percent();
    if (seen.last.segments < kEnough || percent < kMuch_percent ||
        !comes_by_several(plane, port.name()))
      continue;
    seen.last.trouble = fmt::format(
        "{:.1f} % of the TCP segments that come in are out of order: the partner shares out the "
        "packets of a flow over members (round robin); choose a hash of flows there",
        percent);
    if (!std::exchange(seen.told, true))
      lines.push_back(fmt::format("port {}: {}", port.name(), seen.last.trouble));
  }
  bonds_ = std::move(kept);
  return lines;
}

Reorder ReorderWatch::of(const std::string& bond) const {
  const auto found = bonds_.find(bond);
  return found == bonds_.end() ? Reorder{} : found->second.last;
}

}  // namespace hecto::router
