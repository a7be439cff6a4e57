// Linux's neighbors, kept: room for as many as a large LAN has, those that the fast path uses
// confirmed, and a word when the table is nearly full. Control only.
#pragma once

#include <array>
#include <deque>
#include <utility>

#include "lookup/prefix.hpp"
#include "router/linux/neighbor_limits.hpp"

namespace hecto::router {

class LinuxSide;
class Notes;
class Routing;

class NeighborControl {
 public:
  // So many are asked for at once, and so often; the fast path does not tell Linux which it uses.
  static constexpr size_t kProbesATurn = 64;

  // All three outlive it.
  NeighborControl(LinuxSide& linux_side, const Routing& routing, Notes& notes);

  void raise_limits();  // Linux's; what it could not is said
  // Notes those that Linux thinks idle; they are asked for in the turns that follow, none twice.
  void find_stale();
  void probe_some();
  void watch();  // every few seconds
  // Says it once, and again only after there was room.
  void judge(lookup::Family family, const NeighborLimits::Use& use);
  size_t waiting() const { return stale_.size(); }

 private:
  struct Told {
    bool nearly_full = false;
    uint64_t refused = 0;
    bool seen = false;
  };

  LinuxSide& linux_side_;
  const Routing& routing_;
  Notes& notes_;
  NeighborLimits limits_;
  std::deque<std::pair<int, lookup::IpAddress>> stale_;
  std::array<Told, 2> told_;
};

}  // namespace hecto::router
