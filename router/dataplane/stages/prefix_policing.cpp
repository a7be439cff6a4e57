#include "router/dataplane/stages/prefix_policing.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "router/dataplane/stages/policing.hpp"

namespace hecto::router {
namespace {

uint32_t bytes_of(const rte_mbuf* packet, Ingress ingress) noexcept {
  return packet->pkt_len - ingress.l2_length();
}

PrefixBucket& bucket_of(const PolicedView& policed, uint32_t number) noexcept {
  return policed.pages[number >> PrefixBuckets::kPageBits]
      .buckets[number % PrefixBuckets::kPageBuckets];
}

// Of who looks for them; a page that has some is written once.
void note_red(const PolicedView& policed, uint32_t number) noexcept {
  std::atomic<bool>& exceeded = *policed.pages[number >> PrefixBuckets::kPageBits].exceeded;
  if (!exceeded.load(std::memory_order_relaxed)) exceeded.store(true, std::memory_order_relaxed);
}

}  // namespace

// `at`: where in an IP header the address is.
template <typename Tables, typename Address>
void PrefixPolicing::find(const Tables& tables, Address* addresses, unsigned at,
                          rte_mbuf* const* packets, const Ingress* ingress, unsigned n) noexcept {
  if (tables.low.arena == nullptr) {
    std::fill(numbers_, numbers_ + n, kNone);
    return;
  }
  for (unsigned i = 0; i < n; ++i) {
    const auto* const from =
        rte_pktmbuf_mtod_offset(packets[i], const uint8_t*, ingress[i].l2_length() + at);
    if constexpr (sizeof(Address) == 4)
      addresses[i] = load32_be(from);
    else
      std::memcpy(&addresses[i], from, sizeof(Address));
  }
  lookup_batch(tables.low, addresses, low_, n);
  const bool two = tables.high.arena != nullptr;
  if (two) lookup_batch(tables.high, addresses, high_, n);
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t low = uint16_t{low_[i]};
    const uint32_t high = two ? uint16_t{high_[i]} : 0;
    numbers_[i] = low == 0 ? kNone : low - 1 + high * PrefixNumbers::kLow;
  }
}

bool PrefixPolicing::hold(const PolicedView& policed, unsigned thread, uint64_t now,
                          rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
                          Reason* reasons) noexcept {
  const config::PolicerConfig& config = policed.policer->config();
  const bool source = config.each == config::PoliceEach::kSource;
  const auto* const ip =
      rte_pktmbuf_mtod_offset(packets[0], const uint8_t*, ingress[0].l2_length());
  if (ip[0] >> 4 == 4)
    find(policed.ipv4, reinterpret_cast<uint32_t*>(addresses_), source ? 12 : 16, packets, ingress,
         n);
  else
    find(policed.ipv6, addresses_, source ? 8 : 24, packets, ingress, n);
  for (unsigned i = 0; i < n; ++i)
    if (numbers_[i] != kNone) __builtin_prefetch(&bucket_of(policed, numbers_[i]), 1);
  const MeterProfile& profile = policed.policer->profile();
  ColourTally tally;
  bool refuses = false;
  for (unsigned begin = 0, end; begin < n; begin = end) {
    const uint32_t number = numbers_[begin];
    uint64_t bytes = bytes_of(packets[begin], ingress[begin]);
    for (end = begin + 1; end < n && numbers_[end] == number; ++end)
      bytes += bytes_of(packets[end], ingress[end]);
    if (number == kNone) [[unlikely]]
      continue;
    PrefixBucket& bucket = bucket_of(policed, number);
    rte_spinlock_lock(&bucket.lock);
    if (bucket.meter.take_all(profile, now, bytes)) [[likely]] {
      rte_spinlock_unlock(&bucket.lock);
      tally.add(Colour::kGreen, bytes, end - begin);
      continue;
    }
    for (unsigned i = begin; i < end; ++i) {
      const uint32_t own = bytes_of(packets[i], ingress[i]);
      const Colour colour = bucket.meter.meter(profile, now, own);
      tally.add(colour, own);
      if (colour == Colour::kGreen) continue;
      const Reason reason = beyond_rate(colour, config, packets[i], ingress[i]);
      if (reason != Reason::kNone) {
        reasons[i] = reason;
        refuses = true;
      }
      if (colour != Colour::kRed) continue;
      bucket.red_packets.add(1);
      bucket.red_bytes.add(own);
    }
    rte_spinlock_unlock(&bucket.lock);
    note_red(policed, number);
  }
  policed.policer->count(std::min(thread, policed.policer->threads() - 1), tally);
  return refuses;
}

// ---- Of a filter, where packets of a burst are those of several rules ----

bool FilterStage::police_each(const FilterView& filter, rte_mbuf* const* packets,
                              const Ingress* ingress, unsigned n, Reason* reasons) noexcept {
  unsigned left = 0;
  for (unsigned i = 0; i < n; ++i)
    if ((filter.actions[rules_[i]].beside & FilterAction::kEach) != 0)
      policed_[left++] = static_cast<uint16_t>(i);
  rte_mbuf* some[kChunkSize];
  Ingress from[kChunkSize];
  uint16_t places[kChunkSize];
  Reason of_some[kChunkSize];
  bool refuses = false;
  while (left > 0) {
    const uint16_t number = filter.actions[rules_[policed_[0]]].policer;
    unsigned count = 0, others = 0;
    for (unsigned k = 0; k < left; ++k) {
      const uint16_t i = policed_[k];
      if (filter.actions[rules_[i]].policer != number) {
        policed_[others++] = i;
        continue;
      }
      some[count] = packets[i];
      from[count] = ingress[i];
      of_some[count] = reasons[i];
      places[count++] = i;
    }
    left = others;
    if (!prefixes_.hold(views_->policed[number], thread_, rte_rdtsc(), some, from, count, of_some))
      continue;
    refuses = true;
    for (unsigned k = 0; k < count; ++k) reasons[places[k]] = of_some[k];
  }
  return refuses;
}

}  // namespace hecto::router
