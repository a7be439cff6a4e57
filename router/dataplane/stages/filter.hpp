// The filters of the file, where packets meet them (docs/filters.md):
//
//   in()     behind classify: of the interface that it came in by, then of that one's VRF; what classify
//            has refused too, before Linux gets it
//   opened() behind decap: the same, of what an SA or a tunnel has opened
//   out()    behind look-up and rules: of the interface of the next hop that rewrite will choose
//   local()  at the end: of what is for the router itself; of what came in a tunnel the outer packet, as
//            Linux gets that
//
// What a filter refuses leaves its lane with its reason; the others close up. What it rejects becomes the
// answer to its sender (IcmpAnswers), or is dropped, where there is to be none. ARP, and what is not IP, no
// filter judges; nor does `out` what Linux forwards, except that it waits for a neighbor.
//
// Of one thread. Without filters it is not called: a test of a pointer a chunk.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/filter/filter_place.hpp"
#include "router/dataplane/filter/filter_tables.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/dataplane/filter/judge.hpp"
#include "router/dataplane/stages/icmp_answers.hpp"
#include "router/dataplane/stages/prefix_policing.hpp"

namespace hecto::router {

class FilterLogTap;
class Observer;
class Transmitter;

class FilterStage {
 public:
  // Who is told of what is judged, and where copies go; without an observer nobody is told of anything.
  struct Side {
    Observer* observer = nullptr;
    Transmitter* transmitter = nullptr;
    ReasonCounters* reasons = nullptr;
    const Snapshot* snapshot = nullptr;
  };
  void tell(const Side& side) noexcept { side_ = side; }
  // Whether tick() is to be called each poll.
  bool logs() const noexcept { return log_ != nullptr; }
  void tick(uint64_t now) noexcept;

  // Null: there are none. `thread`: as the tables number them. `answers`: for what is rejected; null:
  // senders are not told.
  void use(const FilterTables* tables, unsigned thread, int socket, IcmpAnswers* answers) noexcept;
  bool any() const noexcept { return views_ != nullptr; }
  const FilterViews* views() const noexcept { return views_; }  // null: there are none

  // Lanes, and what is in chunk.refused.
  void in(Chunk& chunk) noexcept;
  // Those of them with the flag, in ol_flags.
  void opened(Chunk& chunk, uint64_t flag) noexcept;
  void out(Chunk& chunk, const lookup::NextHopView& next_hops, uint32_t ecmp_seed) noexcept;
  // Of out(), as long as the lane is as it left it: where each packet leaves by. Null: it was not asked, or
  // some packet was refused.
  const InterfaceId* egress4() const noexcept { return egress_known4_ ? egress4_ : nullptr; }
  const InterfaceId* egress6() const noexcept { return egress_known6_ ? egress6_ : nullptr; }
  // `rules`: the snapshot's, null where there are no VRFs.
  void local(Chunk& chunk, const TableViews& tables, const RuleTables* rules) noexcept;

 private:
  // Packets of one family that one filter judges together, with their places where they came from.
  struct Batch {
    unsigned count = 0;
    rte_mbuf* packets[kChunkSize];
    Ingress ingress[kChunkSize];
    uint16_t places[kChunkSize];

    void add(rte_mbuf* packet, Ingress from, unsigned place) noexcept {
      packets[count] = packet;
      ingress[count] = from;
      places[count++] = static_cast<uint16_t>(place);
    }
  };

  template <typename Address>
  void pass_in(Lane<Address>& lane, Chunk& chunk) noexcept;
  template <typename Address>
  void pass(Lane<Address>& lane, Chunk& chunk, const FilterNumber* numbers) noexcept;
  template <typename Address>
  void refuse(Lane<Address>& lane, Chunk& chunk, Reason* reasons) noexcept;
  bool is_told(Refused& refused, Reason reason, Ingress ingress) noexcept;
  template <typename Address>
  bool pass_out(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
                uint32_t seed, InterfaceId* egress) noexcept;
  template <typename Number>
  void pass_refused(Chunk& chunk, Number&& number_of) noexcept;
  template <typename Address>
  bool judge(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
             Reason* reasons) noexcept;
  bool act(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
           Reason* reasons) noexcept;
  bool act_alike(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
                 unsigned n, Reason* reasons) noexcept;
  void fetch(const FilterView& filter, unsigned n) const noexcept;
  void spare_neighbors(rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
                       Reason* reasons) const noexcept;
  bool do_beside(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
                 unsigned n, Reason* reasons) noexcept;
  void police(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
              unsigned count, Reason* reasons) noexcept;
  bool police_each(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
                   unsigned n, Reason* reasons) noexcept;
  FilterPlace place_of(
      const std::array<FilterNumber, kMaxInterfaces>& by_interface) const noexcept {
    return &by_interface == &views_->vrf ? FilterPlace::kVrf : FilterPlace::kIn;
  }
  // filter_beside.cpp
  bool watched() const noexcept;
  void use_log(const FilterTables* tables, unsigned thread) noexcept;
  void tell_of(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
               unsigned n, const Reason* reasons) noexcept;
  void trace(unsigned filter, rte_mbuf* const* packets, unsigned n, const Reason* reasons) noexcept;
  void log(const rte_mbuf* packet, Ingress ingress, uint32_t slot, Reason reason,
           uint64_t now) noexcept;

  const FilterTables* tables_ = nullptr;
  const FilterViews* views_ = nullptr;
  IcmpAnswers* answers_ = nullptr;
  CounterCell* const* pages_ = nullptr;  // this thread's
  uint32_t rules_[kChunkSize];           // by packet of a batch, from 1; 0: none held
  uint16_t policed_[kChunkSize];
  Batch batch_;
  FilterJudge judge_;
  Side side_;
  FilterLogTap* log_ = nullptr;           // this thread's; null: no rule is told in the log
  FilterPlace place_ = FilterPlace::kIn;  // of what is being judged
  unsigned thread_ = 0;
  bool egress_known4_ = false, egress_known6_ = false;
  InterfaceId egress4_[kChunkSize], egress6_[kChunkSize];
  PrefixPolicing prefixes_;
};

}  // namespace hecto::router
