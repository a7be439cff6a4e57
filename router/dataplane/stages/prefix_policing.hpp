// Packets held to a policer that has a bucket for each prefix of a set: numbers of all prefixes are looked
// up, all buckets fetched, and of neighbors that have one bucket its lock is taken once.
//
// Of one thread; what it has between packets is memory alone.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/prefix_policer.hpp"

namespace hecto::router {

class PrefixPolicing {
 public:
  PrefixPolicing() noexcept = default;
  PrefixPolicing(const PrefixPolicing&) = delete;
  PrefixPolicing& operator=(const PrefixPolicing&) = delete;

  // Of n packets of one family, at most kChunkSize, that rules with the set hold for. Of what is refused
  // the reason is written, and no other's. Whether some is. `thread`: as counters number them; `now`:
  // rte_rdtsc().
  bool hold(const PolicedView& policed, unsigned thread, uint64_t now, rte_mbuf* const* packets,
            const Ingress* ingress, unsigned n, Reason* reasons) noexcept;

 private:
  template <typename Tables, typename Address>
  void find(const Tables& tables, Address* addresses, unsigned at, rte_mbuf* const* packets,
            const Ingress* ingress, unsigned n) noexcept;

  static constexpr uint32_t kNone = ~uint32_t{0};
  alignas(64) lookup::Ipv6Address addresses_[kChunkSize];
  alignas(64) lookup::GroupId low_[kChunkSize], high_[kChunkSize];
  uint32_t numbers_[kChunkSize];  // of buckets; kNone: in no prefix
};

}  // namespace hecto::router
