// The routes of one family: the RIB, which holds every route of every prefix, and the FIB, which is
// kept at what the best of them say.
//
//   insert_or_replace, erase ─► Rib: candidates of the prefix, best first
//                                 │ group of the best one's set, where it is another than before
//                                 ▼
//                               Fib: prefix ─► group
//
// A prefix that the FIB has no room for is not in it, so that its packets take a shorter prefix;
// one whose set found no next-hop group points at the overflow group (Linux forwards). Either is
// `incomplete` and tried again by retry().
//
// Control thread. Workers see FIB changes when the call returns; publish() gives back their memory.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "base/log_level.hpp"
#include "lookup/fib.hpp"
#include "router/rib/candidate.hpp"

namespace hecto::router {

using RoutingLog = std::function<void(LogLevel, const std::string&)>;  // one line an event

// What the tables of both families share.
struct InstallContext {
  NextHopSets& sets;
  lookup::Reclaimer& readers;  // as the FIBs have
  uint32_t max_groups;
  const RoutingLog& log;
  GroupId overflow_group = lookup::kNoRoute;  // punts to Linux: for routes without a group
  std::vector<uint32_t> prefixes_of_group;
  // Warned of once, until everything fits again.
  bool warned_fib_full = false;
  bool warned_groups_full = false;
};

template <typename Address>
class FamilyTable {
 public:
  using PrefixType = lookup::Prefix<Address>;
  using Fib =
      std::conditional_t<std::is_same_v<Address, lookup::Ipv4Address>, lookup::Fib4, lookup::Fib6>;
  struct Change {
    RouteId id = kNoRouteId;         // none: the RIB did not take it
    bool fell_behind = false;        // the FIB or the groups were full for it
    bool next_hops_changed = false;  // it is new, or has another set than before
  };
  struct Statistics {
    std::array<uint64_t, 4> by_origin{};  // routes
    std::array<uint64_t, 256> by_protocol{};
    uint64_t fib_writes = 0;
    uint64_t prefixes_refused = 0;  // by a full FIB
    uint64_t incomplete = 0;        // prefixes, now
  };

  // `table`: its number in the FIB.
  FamilyTable(Fib& fib, InstallContext& context, lookup::TableId table = 0)
      : fib_(fib), table_(table), context_(context) {}
  FamilyTable(const FamilyTable&) = delete;
  FamilyTable& operator=(const FamilyTable&) = delete;

  // Adds the candidate (without id), or lets it take the place of the prefix's route of this id.
  // The candidate brings its reference to the set along; where the RIB does not take it, because
  // its twin is there or for want of memory, the reference goes.
  Change insert_or_replace(const PrefixType& prefix, RouteId id, const Candidate& candidate);
  // With its reference to the set. The route must be there.
  void erase(const PrefixType& prefix, RouteId id);
  // Linux said the route again (lookup::Rib::confirm); insert_or_replace() follows.
  void confirm(const PrefixType& prefix, RouteId id, uint16_t generation) {
    (void)rib_.confirm(prefix, id, generation);  // known to be there
  }

  // A second FIB, its table 0, that says the same: first what there is, so many prefixes a step, and
  // from then on each change. It outlives this.
  void begin_copy(Fib& copy);
  bool continue_copy(size_t prefixes);  // false: nothing is left to do
  bool copied() const { return copy_ != nullptr && !copy_next_; }
  bool copying() const { return copy_ != nullptr && copy_next_.has_value(); }
  // It had no room for a route, and is left alone since.
  bool copy_failed() const { return copy_failed_; }

  // Tries incomplete prefixes again where that may help. Each try walks the whole RIB.
  void retry(bool found_group);
  void publish();

  const Rib<Address>& rib() const { return rib_; }
  const Statistics& statistics() const { return statistics_; }
  std::string remedy() const;  // of the last refusal by the FIB

 private:
  bool install(const PrefixType& prefix, Installed& installed, const Candidate* best);
  void install_best(const PrefixType& prefix, Installed& installed, const Candidate* best);
  void copy(const PrefixType& prefix, std::optional<GroupId> group);
  void warn_once(const PrefixType& prefix, bool fib_full);
  void count(const Candidate& candidate, int change);

  Fib& fib_;
  const lookup::TableId table_;
  Fib* copy_ = nullptr;                  // null: there is none
  std::optional<PrefixType> copy_next_;  // where its first filling goes on; none: it is whole
  bool copy_failed_ = false;
  InstallContext& context_;
  Rib<Address> rib_;
  Statistics statistics_;
  bool removed_since_retry_ = false;
  std::chrono::steady_clock::time_point retry_at_{};
  bool unpublished_ = false;
  std::optional<uint64_t> grace_;                      // of what the last changes retired
  lookup::Error refusal_ = lookup::Error::kArenaFull;  // of the last prefix that did not fit
};

extern template class FamilyTable<lookup::Ipv4Address>;
extern template class FamilyTable<lookup::Ipv6Address>;

struct FamilyTables {
  FamilyTable<lookup::Ipv4Address> ipv4;
  FamilyTable<lookup::Ipv6Address> ipv6;

  template <typename Address>
  FamilyTable<Address>& get() {
    if constexpr (std::is_same_v<Address, lookup::Ipv4Address>) {
      return ipv4;
    } else {
      return ipv6;
    }
  }
  template <typename Address>
  const FamilyTable<Address>& get() const {
    if constexpr (std::is_same_v<Address, lookup::Ipv4Address>) {
      return ipv4;
    } else {
      return ipv6;
    }
  }
};

// Calls act(Prefix4) or act(Prefix6).
template <typename Act>
auto with_prefix(const IpPrefix& prefix, Act act) {
  return prefix.address.family == Family::kIpv4 ? act(prefix.v4()) : act(prefix.v6());
}

}  // namespace hecto::router
