// What becomes of packets of a burst that one rule holds for, all of them, as of most bursts: their
// counter is written once, and their policer asked once.
#include <algorithm>

#include "router/dataplane/filter/policer.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "router/dataplane/stages/policing.hpp"

namespace hecto::router {

bool FilterStage::act_alike(const FilterView& filter, rte_mbuf* const* packets,
                            const Ingress* ingress, unsigned n, Reason* reasons) noexcept {
  const FilterAction& action = filter.actions[rules_[0]];
  uint64_t bytes = 0;
  for (unsigned i = 0; i < n; ++i) bytes += packets[i]->pkt_len - ingress[i].l2_length();
  constexpr unsigned kMask = CounterSlots::kPageSlots - 1;
  pages_[action.slot >> CounterSlots::kPageBits][action.slot & kMask].add(n, bytes);
  const bool told = (action.beside & FilterAction::kTell) != 0 || watched();
  if (action.plain() && !told) return false;
  if (action.beside == FilterAction::kPolice && !told)
    return hold_to(*views_->policers[action.policer], packets, ingress, n, bytes, reasons);
  std::fill(reasons, reasons + n, action.reason);
  if (action.beside == FilterAction::kEach && !told)
    return prefixes_.hold(views_->policed[action.policer], thread_, rte_rdtsc(), packets, ingress,
                          n, reasons);
  bool refuses = action.reason != Reason::kNone;
  if (!refuses) {
    refuses = do_beside(filter, packets, ingress, n, reasons);
    if ((action.beside & FilterAction::kEach) != 0)
      refuses |= prefixes_.hold(views_->policed[action.policer], thread_, rte_rdtsc(), packets,
                                ingress, n, reasons);
  } else if (rules_[0] == 0) {
    spare_neighbors(packets, ingress, n, reasons);
  }
  if (told) [[unlikely]]
    tell_of(filter, packets, ingress, n, reasons);
  return refuses;
}

}  // namespace hecto::router
