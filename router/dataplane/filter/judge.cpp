#include "router/dataplane/filter/judge.hpp"

#include <algorithm>

#include "router/dataplane/core/dpdk_acl.hpp"
#include "router/dataplane/filter/read_key.hpp"

namespace hecto::router {

FilterJudge::FilterJudge() noexcept {
  for (unsigned i = 0; i < kChunkSize; ++i) {
    pointers4_[i] = reinterpret_cast<const uint8_t*>(&keys4_[i]);
    pointers6_[i] = reinterpret_cast<const uint8_t*>(&keys6_[i]);
  }
}

// Their FIBs take addresses in order.
void FilterJudge::classify(const FilterViews& views, unsigned n, FilterKey4* keys) noexcept {
  if (views.classes4.arena == nullptr) {
    for (unsigned i = 0; i < n; ++i) std::memset(keys[i].classes, 0, 4);
    return;
  }
  auto* const addresses = reinterpret_cast<uint32_t*>(addresses_);
  const auto look_up = [&](unsigned from, unsigned to) {
    for (unsigned i = 0; i < n; ++i) addresses[i] = load32_be(keys[i].source + from);
    lookup_batch(views.classes4, addresses, classes_, n);
    for (unsigned i = 0; i < n; ++i) store16_be(keys[i].classes + to, classes_[i]);
  };
  look_up(0, 0);
  look_up(4, 2);
}
void FilterJudge::classify(const FilterViews& views, unsigned n, FilterKey6* keys) noexcept {
  if (views.classes6.arena == nullptr) {
    for (unsigned i = 0; i < n; ++i) std::memset(keys[i].classes, 0, 4);
    return;
  }
  const auto look_up = [&](unsigned from, unsigned to) {
    for (unsigned i = 0; i < n; ++i) std::memcpy(&addresses_[i], keys[i].source + from, 16);
    lookup_batch(views.classes6, addresses_, classes_, n);
    for (unsigned i = 0; i < n; ++i) store16_be(keys[i].classes + to, classes_[i]);
  };
  look_up(0, 0);
  look_up(16, 2);
}

template <typename Key>
void FilterJudge::judge(const FilterViews& views, const FilterContextView& context,
                        rte_mbuf* const* packets, const Ingress* ingress, unsigned n, Key* keys,
                        const uint8_t** pointers, uint32_t* rules) noexcept {
  if (context.context == nullptr) {
    std::fill(rules, rules + n, 0);
    return;
  }
  const uint32_t needs = context.needs;
  const bool sizes = (needs & kNeedSizes) != 0, mark = (needs & kNeedMark) != 0;
  for (unsigned i = 0; i < n; ++i) {
    const unsigned l2 = ingress[i].l2_length();
    const rte_mbuf* const packet = packets[i];
    const auto* const ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
    Key& key = keys[i];
    read_key(ip, packet->data_len - l2, needs, key);
    if (sizes) store16_be(key.interface, uint16_t{ingress[i].interface()});
    if (mark) store32_be(key.mark, views.mark.field < 0 ? 0 : views.mark.get(packet));
  }
  if ((needs & kNeedClasses) != 0) classify(views, n, keys);
  rte_acl_classify(context.context, pointers, rules, n, 1);
}

template void FilterJudge::judge(const FilterViews&, const FilterContextView&, rte_mbuf* const*,
                                 const Ingress*, unsigned, FilterKey4*, const uint8_t**,
                                 uint32_t*) noexcept;
template void FilterJudge::judge(const FilterViews&, const FilterContextView&, rte_mbuf* const*,
                                 const Ingress*, unsigned, FilterKey6*, const uint8_t**,
                                 uint32_t*) noexcept;

}  // namespace hecto::router
