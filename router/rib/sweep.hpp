// Takes away every route of every table that passes a test, in steps, so that the control thread can
// do other things meanwhile: of a million routes the erasing alone takes a second. Routes may come
// and go between two steps; one that comes behind the place where the sweep stands stays. Control
// thread.
#pragma once

#include <optional>
#include <vector>

#include "router/rib/route_store.hpp"

namespace hecto::router {

class Sweep {
 public:
  // `store` outlives it.
  Sweep(RouteStore& store, RouteStore::CandidateTest wanted)
      : store_(store), tables_(store.tables()), wanted_(std::move(wanted)) {}

  // Looks at prefixes, a unit of work each, and erases routes, kErase units each, until `work` is
  // spent. False: that was all.
  bool step(size_t work);
  void finish();
  size_t erased() const { return erased_; }

  static constexpr size_t kErase = 8;

 private:
  template <typename Address>
  size_t step_in(std::optional<lookup::Prefix<Address>>& from, size_t work);

  RouteStore& store_;
  std::vector<RoutingTable*> tables_;  // that are not done, the next one at the end
  RouteStore::CandidateTest wanted_;
  // Where each family of that table goes on; none: it is done.
  std::optional<lookup::Prefix4> from4_ = lookup::Prefix4{};
  std::optional<lookup::Prefix6> from6_ = lookup::Prefix6{};
  size_t erased_ = 0;
};

}  // namespace hecto::router
