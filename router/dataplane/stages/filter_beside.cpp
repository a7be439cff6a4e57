// What a filter does beside its verdict: who follows a packet is told which rule has judged it; rules tell
// the log and sFlow of what they hold for, and have copies of it leave by a port.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.hpp"
#include "router/dataplane/filter/read_key.hpp"
#include "router/dataplane/observe/filter_log.hpp"
#include "router/dataplane/observe/observer.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "router/dataplane/stages/mirror.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {
namespace {

template <unsigned AddressBytes>
void fill_log_key(const uint8_t* ip, uint32_t bytes, FilterLogKey& out) noexcept {
  FilterKey<AddressBytes> key{};
  read_key(ip, bytes, kNeedPorts | kNeedBits, key);
  std::memcpy(out.source.data(), key.source, AddressBytes);
  std::memcpy(out.destination.data(), key.destination, AddressBytes);
  out.protocol = key.protocol;
  if ((key.state & kKeyPorts) != 0) {
    out.bits = FilterLogKey::kPorts;
    out.source_port = load16_be(key.ports);
    out.destination_port = load16_be(key.ports + 2);
  } else if ((key.state & kKeyLater) != 0) {
    out.bits = FilterLogKey::kLater;
  }
}

}  // namespace

bool FilterStage::watched() const noexcept {
  return side_.observer != nullptr && side_.observer->tracing();
}

// What flows were told of by the rules of before is told by them, as long as these are there.
void FilterStage::use_log(const FilterTables* tables, unsigned thread) noexcept {
  if (log_ != nullptr && tables != tables_) log_->report_all();
  const FilterLogTaps* const taps = views_ == nullptr ? nullptr : views_->log;
  log_ = taps == nullptr ? nullptr : &(*taps)[std::min<size_t>(thread, taps->size() - 1)];
}

void FilterStage::tick(uint64_t now) noexcept {
  log_->tick(now);
}

void FilterStage::tell_of(const FilterView& filter, rte_mbuf* const* packets,
                          const Ingress* ingress, unsigned n, const Reason* reasons) noexcept {
  if (watched())
    trace(static_cast<unsigned>(&filter - views_->filters.data()) + 1, packets, n, reasons);
  if (filter.tellings.empty() || side_.observer == nullptr) return;
  FlowSampler& samples = side_.observer->samples();
  const uint64_t now = rte_rdtsc();
  for (unsigned i = 0; i < n; ++i) {
    const FilterTelling& telling = filter.tellings[rules_[i]];
    if (telling.sample != 0) samples.choose(packets[i], telling.sample);
    if (telling.log && log_ != nullptr)
      log(packets[i], ingress[i], filter.actions[rules_[i]].slot, reasons[i], now);
    if (telling.mirror != kNoPort)
      mirror(packets[i], ingress[i].l2_length(), telling.mirror, *side_.snapshot,
             *side_.transmitter, *side_.reasons);
  }
  if (samples.following()) side_.transmitter->follow(side_.observer);
}

// By names, for the rules may be others when somebody reads it.
void FilterStage::trace(unsigned filter, rte_mbuf* const* packets, unsigned n,
                        const Reason* reasons) noexcept {
  std::array<char, FilterTables::kNames_bytes> names;
  for (unsigned i = 0; i < n; ++i) {
    if (!side_.observer->traces(packets[i])) continue;
    const size_t letters = tables_->write_names(filter, rules_[i], names);
    side_.observer->filtered(packets[i], place_, reasons[i], {names.data(), letters});
  }
}

void FilterStage::log(const rte_mbuf* packet, Ingress ingress, uint32_t slot, Reason reason,
                      uint64_t now) noexcept {
  const unsigned l2 = ingress.l2_length();
  const auto* const ip = rte_pktmbuf_mtod_offset(packet, const uint8_t*, l2);
  FilterLogKey key;
  if (ip[0] >> 4 == 6) {
    fill_log_key<16>(ip, packet->data_len - l2, key);
    key.bits |= FilterLogKey::kSix;
  } else {
    fill_log_key<4>(ip, packet->data_len - l2, key);
  }
  key.slot = slot;
  key.interface = uint16_t{ingress.interface()};
  key.reason = reason;
  key.place = place_;
  log_->note(key, now);
}

}  // namespace hecto::router
