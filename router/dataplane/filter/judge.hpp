// Which rule of a filter is the first to hold for each of a batch of packets. Of one thread; what it has
// between packets is memory for keys alone.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/dataplane/filter/key.hpp"

namespace hecto::router {

class FilterJudge {
 public:
  FilterJudge() noexcept = default;
  FilterJudge(const FilterJudge&) = delete;
  FilterJudge& operator=(const FilterJudge&) = delete;

  // Of n packets, at most kChunkSize, whose IP headers (whole ones) begin behind their L2 headers:
  // `rules` gets the rule's number from 1, or 0. Nothing is counted and no packet changes.
  void judge4(const FilterViews& views, const FilterContextView<4>& context,
              rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
              uint32_t* rules) noexcept {
    judge(views, context, packets, ingress, n, keys4_, rules);
  }
  void judge6(const FilterViews& views, const FilterContextView<16>& context,
              rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
              uint32_t* rules) noexcept {
    judge(views, context, packets, ingress, n, keys6_, rules);
  }

 private:
  template <unsigned AddressBytes>
  void judge(const FilterViews& views, const FilterContextView<AddressBytes>& context,
             rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
             FilterKey<AddressBytes>* keys, uint32_t* rules) noexcept;
  void classify(const FilterViews& views, uint32_t needs, unsigned n, FilterKey4* keys) noexcept;
  void classify(const FilterViews& views, uint32_t needs, unsigned n, FilterKey6* keys) noexcept;

  FilterKey4 keys4_[kChunkSize];
  FilterKey6 keys6_[kChunkSize];
  alignas(64) lookup::Ipv6Address addresses_[kChunkSize];
  alignas(64) lookup::GroupId classes_[kChunkSize];
};

}  // namespace hecto::router
