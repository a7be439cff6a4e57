#include "router/dataplane/filter/judge.hpp"

#include <algorithm>

#include "router/dataplane/filter/read_key.hpp"

namespace hecto::router {

namespace {

uint32_t address_at(const uint8_t* at, const FilterKey4&) noexcept {
  return load32_be(at);
}
lookup::Ipv6Address address_at(const uint8_t* at, const FilterKey6&) noexcept {
  lookup::Ipv6Address address;
  std::memcpy(&address, at, sizeof address);
  return address;
}

// One end of each packet. `view` without a table: no set has a prefix of the family.
template <typename View, typename Address, typename Key>
void classify_ends(const View& view, Address* addresses, lookup::GroupId* classes, unsigned n,
                   Key* keys, unsigned from, unsigned to) noexcept {
  if (view.arena == nullptr) return;
  for (unsigned i = 0; i < n; ++i) addresses[i] = address_at(keys[i].source + from, keys[i]);
  lookup_batch(view, addresses, classes, n);
  for (unsigned i = 0; i < n; ++i) store16_be(keys[i].classes + to, classes[i]);
}

}  // namespace

void FilterJudge::classify(const FilterViews& views, uint32_t needs, unsigned n,
                           FilterKey4* keys) noexcept {
  auto* const addresses = reinterpret_cast<uint32_t*>(addresses_);
  if (needs & kNeedFromClass) classify_ends(views.classes4, addresses, classes_, n, keys, 0, 0);
  if (needs & kNeedToClass) classify_ends(views.classes4, addresses, classes_, n, keys, 4, 2);
}
void FilterJudge::classify(const FilterViews& views, uint32_t needs, unsigned n,
                           FilterKey6* keys) noexcept {
  if (needs & kNeedFromClass) classify_ends(views.classes6, addresses_, classes_, n, keys, 0, 0);
  if (needs & kNeedToClass) classify_ends(views.classes6, addresses_, classes_, n, keys, 16, 2);
}

template <unsigned AddressBytes>
void FilterJudge::judge(const FilterViews& views, const FilterContextView<AddressBytes>& context,
                        rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
                        FilterKey<AddressBytes>* keys, uint32_t* rules) noexcept {
  static_assert(kChunkSize <= RuleTree<AddressBytes>::kMostKeys);
  if (context.tree == nullptr) {
    std::fill(rules, rules + n, 0);
    return;
  }
  const uint32_t needs = context.needs;
  const bool sizes = (needs & kNeedSizes) != 0, mark = (needs & kNeedMark) != 0;
  const bool classes = (needs & (kNeedFromClass | kNeedToClass)) != 0;
  for (unsigned i = 0; i < n; ++i) {
    const unsigned l2 = ingress[i].l2_length();
    const rte_mbuf* const packet = packets[i];
    const auto* const ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
    FilterKey<AddressBytes>& key = keys[i];
    read_key(ip, packet->data_len - l2, needs, key);
    if (classes) std::memset(key.classes, 0, sizeof key.classes);
    if (sizes) store16_be(key.interface, uint16_t{ingress[i].interface()});
    if (mark) store32_be(key.mark, views.mark.field < 0 ? 0 : views.mark.get(packet));
  }
  if (classes) classify(views, needs, n, keys);
  context.tree->find(keys, n, rules);
}

template void FilterJudge::judge(const FilterViews&, const FilterContextView<4>&, rte_mbuf* const*,
                                 const Ingress*, unsigned, FilterKey4*, uint32_t*) noexcept;
template void FilterJudge::judge(const FilterViews&, const FilterContextView<16>&, rte_mbuf* const*,
                                 const Ingress*, unsigned, FilterKey6*, uint32_t*) noexcept;

}  // namespace hecto::router
