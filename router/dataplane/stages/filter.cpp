#include "router/dataplane/stages/filter.hpp"

#include <algorithm>
#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "router/dataplane/filter/policer.hpp"
#include "router/dataplane/stages/close_up.hpp"
#include "router/dataplane/stages/egress_of.hpp"
#include "router/dataplane/stages/filter_lead.hpp"
#include "router/dataplane/stages/framed_ip.hpp"
#include "router/dataplane/stages/policing.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using lookup::Family;
using lookup::NextHopRecord;
using lookup::RecordKind;

constexpr size_t kNearRules = 2048;  // of a filter: their actions and counters fit the L2

// What Linux gets of what came in: packets of IP that are whole enough to be judged.
bool is_judged(Reason reason) noexcept {
  return info(reason).punt && reason != Reason::kArp && reason != Reason::kOtherProtocol &&
         reason != Reason::kBridgeLearn && reason != Reason::kBridgeFlood;
}

bool is_for_router(const NextHopRecord& record) noexcept {
  const auto reason = static_cast<Reason>(record.reason);
  return record.own != 0 || (record.kind == RecordKind::kPunt &&
                             (reason == Reason::kLocal || reason == Reason::kMulticast ||
                              reason == Reason::kBroadcast));
}

FilterNumber number_at(const std::array<FilterNumber, kMaxInterfaces>& by_interface,
                       InterfaceId interface) noexcept {
  return interface < kMaxInterfaces ? by_interface[interface] : FilterNumber { 0 };
}

}  // namespace

// A thread that the tables do not know is none that there is; it must not go unfiltered.
void FilterStage::use(const FilterTables* tables, unsigned thread, int socket,
                      IcmpAnswers* answers) noexcept {
  answers_ = answers;
  views_ = tables == nullptr ? nullptr : &tables->views(socket);
  use_log(tables, thread);
  tables_ = tables;
  thread_ = thread;
  if (views_ == nullptr) return;
  pages_ = views_->pages[std::min<size_t>(thread, views_->pages.size() - 1)].data();
}

// ---- Where ----

void FilterStage::in(Chunk& chunk) noexcept {
  if (!views_->has_in && !views_->has_vrf) return;
  const unsigned refused = chunk.refused_count;
  if (refused > 0) [[unlikely]] {
    const auto pass_by = [&](const auto& by_interface) {
      place_ = place_of(by_interface);
      pass_refused(chunk, [&](const Refused& each, const FramedIp&) {
        return is_judged(each.reason) ? number_at(by_interface, each.interface) : FilterNumber{0};
      });
    };
    if (views_->has_in) pass_by(views_->in);
    if (views_->has_vrf) pass_by(views_->vrf);
  }
  pass_in(chunk.v4, chunk);
  pass_in(chunk.v6, chunk);
}

template <typename Address>
void FilterStage::pass_in(Lane<Address>& lane, Chunk& chunk) noexcept {
  const auto pass_by = [&](const auto& by_interface) {
    if (lane.count == 0) return;
    place_ = place_of(by_interface);
    if (lane.of_one_ingress()) [[likely]] {
      const FilterNumber number = number_at(by_interface, lane.ingress[0].interface());
      if (number == 0) return;
      Reason reasons[kChunkSize];
      if (judge<Address>(views_->filter(number), lane.packets, lane.ingress, lane.count, reasons))
        refuse(lane, chunk, reasons);
      return;
    }
    FilterNumber numbers[kChunkSize];
    for (unsigned i = 0; i < lane.count; ++i)
      numbers[i] = number_at(by_interface, lane.ingress[i].interface());
    pass(lane, chunk, numbers);
  };
  if (views_->has_in) pass_by(views_->in);
  if (views_->has_vrf) pass_by(views_->vrf);
}

void FilterStage::opened(Chunk& chunk, uint64_t flag) noexcept {
  if (!views_->has_in && !views_->has_vrf) return;
  if (views_->leads) forget_named(chunk, flag, views_->lead);
  const auto pass_by = [&](const auto& by_interface) {
    place_ = place_of(by_interface);
    const auto number_of = [&](const rte_mbuf* packet, InterfaceId interface) {
      if ((packet->ol_flags & flag) == 0) return FilterNumber{0};
      return number_at(by_interface, interface);
    };
    const auto each_lane = [&](auto& lane) {
      FilterNumber numbers[kChunkSize];
      for (unsigned i = 0; i < lane.count; ++i)
        numbers[i] = number_of(lane.packets[i], lane.ingress[i].interface());
      pass(lane, chunk, numbers);
    };
    each_lane(chunk.v4);
    each_lane(chunk.v6);
    pass_refused(chunk, [&](const Refused& each, const FramedIp&) {
      return is_judged(each.reason) ? number_of(each.packet, each.interface) : FilterNumber{0};
    });
  };
  if (views_->has_in) pass_by(views_->in);
  if (views_->has_vrf) pass_by(views_->vrf);
}

void FilterStage::out(Chunk& chunk, const lookup::NextHopView& next_hops,
                      uint32_t ecmp_seed) noexcept {
  egress_known4_ = egress_known6_ = false;
  if (!views_->has_out) return;
  place_ = FilterPlace::kOut;
  egress_known4_ = pass_out(chunk.v4, chunk, next_hops, ecmp_seed, egress4_);
  egress_known6_ = pass_out(chunk.v6, chunk, next_hops, ecmp_seed, egress6_);
}

// Whether all are still there.
template <typename Address>
bool FilterStage::pass_out(Lane<Address>& lane, Chunk& chunk, const lookup::NextHopView& next_hops,
                           uint32_t seed, InterfaceId* egress) noexcept {
  FilterNumber numbers[kChunkSize], some = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    egress[i] = egress_of(lane, i, next_hops, seed);
    some |= numbers[i] = number_at(views_->out, egress[i]);
  }
  const unsigned before = lane.count;
  if (some != 0) pass(lane, chunk, numbers);
  return lane.count == before;
}

// With options a packet is none that classify knows the end of.
void FilterStage::local(Chunk& chunk, const TableViews& tables, const RuleTables* rules) noexcept {
  if (views_->local == 0) return;
  place_ = FilterPlace::kLocal;
  const VrfTables by_vrf(tables, rules);
  pass_refused(chunk, [&](const Refused& each, const FramedIp& frame) {
    switch (each.reason) {
      case Reason::kLocal:
      case Reason::kMulticast:
      case Reason::kBroadcast:
      case Reason::kLinkLocal:
        return views_->local;
      case Reason::kOptions: {
        const bool four = frame.family == Family::kIpv4;
        const uint8_t* const to = frame.ip + (four ? 16 : 24);
        const bool group = four ? to[0] >= 224 : to[0] == 0xff;
        const bool ours = group || is_for_router(by_vrf.record(each.interface, frame.family, to));
        return ours ? views_->local : FilterNumber{0};
      }
      default:
        return FilterNumber{0};
    }
  });
}

// ---- Which of them together ----

// By packet its filter, 0: none. Those of one filter are judged together, wherever they stand.
template <typename Address>
void FilterStage::pass(Lane<Address>& lane, Chunk& chunk, const FilterNumber* numbers) noexcept {
  Reason reasons[kChunkSize], some[kChunkSize];
  std::fill(reasons, reasons + lane.count, Reason::kNone);
  bool refuses = false;
  std::array<bool, config::kMostFilters + 1> done{};
  done[0] = true;
  for (unsigned first = 0; first < lane.count; ++first) {
    const FilterNumber number = numbers[first];
    if (done[number]) continue;
    done[number] = true;
    batch_.count = 0;
    for (unsigned i = first; i < lane.count; ++i)
      if (numbers[i] == number) batch_.add(lane.packets[i], lane.ingress[i], i);
    if (!judge<Address>(views_->filter(number), batch_.packets, batch_.ingress, batch_.count, some))
      continue;
    refuses = true;
    for (unsigned i = 0; i < batch_.count; ++i) reasons[batch_.places[i]] = some[i];
  }
  if (refuses) refuse(lane, chunk, reasons);
}

// Where its sender is told, a packet is the answers' and leaves its lane without a reason to count.
template <typename Address>
void FilterStage::refuse(Lane<Address>& lane, Chunk& chunk, Reason* reasons) noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; answers_ != nullptr && i < lane.count; ++i) {
    const bool told = reasons[i] == Reason::kFilterRejected &&
                      answers_->add_prohibited(lane.packets[i], lane.ingress[i]);
    if (told) continue;
    reasons[kept] = reasons[i];
    move_in_lane(lane, kept++, i);
  }
  if (answers_ != nullptr) lane.count = kept;
  close_up(lane, chunk, reasons);
}

// Of what is for one of the router's own addresses; others' senders are not told (RFC 1812 §4.3.2.7, RFC
// 4443 §2.4: nothing to groups).
bool FilterStage::is_told(Refused& refused, Reason reason, Ingress ingress) noexcept {
  return answers_ != nullptr && reason == Reason::kFilterRejected &&
         refused.reason == Reason::kLocal && answers_->add_prohibited(refused.packet, ingress);
}

template <typename Number>
void FilterStage::pass_refused(Chunk& chunk, Number&& number_of) noexcept {
  constexpr unsigned kIpv6 = config::kMostFilters + 1;  // and above
  uint16_t keys[kChunkSize];                            // number and family; 0: not judged
  uint16_t l2_bytes[kChunkSize];
  unsigned judged = 0;
  bool answered = false;
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    const Refused& each = chunk.refused[i];
    keys[i] = 0;
    if (!is_judged(each.reason)) continue;
    const FramedIp frame =
        find_ip(rte_pktmbuf_mtod(each.packet, const uint8_t*), each.packet->data_len);
    const bool six = frame.family == Family::kIpv6;
    if (frame.ip == nullptr || frame.damaged || frame.bytes < (six ? kIpv6Bytes : kIpv4Bytes))
      continue;
    const FilterNumber number = number_of(each, frame);
    if (number == 0) continue;
    keys[i] = static_cast<uint16_t>(number + (six ? kIpv6 : 0));
    l2_bytes[i] = static_cast<uint16_t>(frame.l2_bytes);
    ++judged;
  }
  Reason reasons[kChunkSize];
  for (unsigned first = 0; first < chunk.refused_count && judged > 0; ++first) {
    const uint16_t key = keys[first];
    if (key == 0) continue;
    batch_.count = 0;
    for (unsigned i = first; i < chunk.refused_count; ++i) {
      if (keys[i] != key) continue;
      keys[i] = 0;
      batch_.add(chunk.refused[i].packet, {chunk.refused[i].interface, l2_bytes[i]}, i);
    }
    judged -= batch_.count;
    const FilterView& filter = views_->filter(FilterNumber(key % kIpv6));
    const bool refuses =
        key < kIpv6 ? judge<uint32_t>(filter, batch_.packets, batch_.ingress, batch_.count, reasons)
                    : judge<lookup::Ipv6Address>(filter, batch_.packets, batch_.ingress,
                                                 batch_.count, reasons);
    for (unsigned i = 0; refuses && i < batch_.count; ++i) {
      if (reasons[i] == Reason::kNone) continue;
      Refused& each = chunk.refused[batch_.places[i]];
      const bool told = is_told(each, reasons[i], batch_.ingress[i]);
      each.reason = told ? Reason::kNone : reasons[i];
      answered |= told;
    }
  }
  if (!answered) return;
  const auto gone =
      std::remove_if(chunk.refused, chunk.refused + chunk.refused_count,
                     [](const Refused& each) { return each.reason == Reason::kNone; });
  chunk.refused_count = static_cast<unsigned>(gone - chunk.refused);
}

// ---- What becomes of them ----

// False: all go on, and `reasons` is not written.
template <typename Address>
bool FilterStage::judge(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
                        unsigned n, Reason* reasons) noexcept {
  if constexpr (sizeof(Address) == 4)
    judge_.judge4(*views_, filter.ipv4, packets, ingress, n, rules_);
  else
    judge_.judge6(*views_, filter.ipv6, packets, ingress, n, rules_);
  return act(filter, packets, ingress, n, reasons);
}

// Of many rules neither actions nor counters are near: they come all at once.
void FilterStage::fetch(const FilterView& filter, unsigned n) const noexcept {
  constexpr unsigned kMask = CounterSlots::kPageSlots - 1;
  for (unsigned i = 0; i < n; ++i) rte_prefetch0(&filter.actions[rules_[i]]);
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t slot = filter.actions[rules_[i]].slot;
    rte_prefetch0(&pages_[slot >> CounterSlots::kPageBits][slot & kMask]);
  }
}

bool FilterStage::act(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
                      unsigned n, Reason* reasons) noexcept {
  const bool alike = n > 1 && std::memcmp(rules_, rules_ + 1, (n - 1) * sizeof *rules_) == 0;
  if (alike) [[likely]]
    return act_alike(filter, packets, ingress, n, reasons);
  const FilterAction* const actions = filter.actions.data();
  constexpr unsigned kMask = CounterSlots::kPageSlots - 1;
  if (filter.actions.size() > kNearRules) fetch(filter, n);
  unsigned refuses = 0, beside = 0;
  for (unsigned i = 0; i < n; ++i) {
    const FilterAction& action = actions[rules_[i]];
    CounterCell& cell = pages_[action.slot >> CounterSlots::kPageBits][action.slot & kMask];
    cell.add(1, packets[i]->pkt_len - ingress[i].l2_length());
    reasons[i] = action.reason;
    refuses |= static_cast<unsigned>(action.reason);
    beside |= action.beside;
  }
  if (refuses != 0 && actions[0].reason != Reason::kNone)
    spare_neighbors(packets, ingress, n, reasons);
  constexpr unsigned kDone = ~unsigned{FilterAction::kTell};
  bool more = (beside & kDone) != 0 && do_beside(filter, packets, ingress, n, reasons);
  if ((beside & FilterAction::kEach) != 0)
    more |= police_each(filter, packets, ingress, n, reasons);
  if ((beside & FilterAction::kTell) != 0 || watched()) [[unlikely]]
    tell_of(filter, packets, ingress, n, reasons);
  return refuses != 0 || more;
}

// No rule but the implicit one refuses a link its neighbors (RFC 4861 §7), as none does ARP: what says so by
// name is obeyed.
void FilterStage::spare_neighbors(rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
                                  Reason* reasons) const noexcept {
  for (unsigned i = 0; i < n; ++i) {
    if (rules_[i] != 0 || packets[i]->data_len <= ingress[i].l2_length() + kIpv6Bytes) continue;
    const auto* const ip =
        rte_pktmbuf_mtod_offset(packets[i], const uint8_t*, ingress[i].l2_length());
    constexpr uint8_t kIcmpv6 = 58, kOnLink = 255, kSolicitation = 135, kAdvertisement = 136;
    const uint8_t type = ip[kIpv6Bytes];
    if (ip[0] >> 4 == 6 && ip[6] == kIcmpv6 && ip[7] == kOnLink &&
        (type == kSolicitation || type == kAdvertisement))
      reasons[i] = Reason::kNone;
  }
}

// Whether it has refused some.
bool FilterStage::do_beside(const FilterView& filter, rte_mbuf* const* packets,
                            const Ingress* ingress, unsigned n, Reason* reasons) noexcept {
  unsigned policed = 0, several = 0;  // policers that are not the first
  uint64_t bytes = 0;
  uint16_t first = 0;
  for (unsigned i = 0; i < n; ++i) {
    const FilterAction& action = filter.actions[rules_[i]];
    if (action.beside == 0) continue;
    if ((action.beside & FilterAction::kMark) != 0) views_->mark.set(packets[i], action.mark);
    if ((action.beside & FilterAction::kTable) != 0) views_->lead.name(packets[i], action.table);
    if ((action.beside & FilterAction::kDscp) != 0)
      write_dscp(rte_pktmbuf_mtod_offset(packets[i], uint8_t*, ingress[i].l2_length()),
                 action.dscp);
    if ((action.beside & FilterAction::kPolice) == 0) continue;
    if (policed == 0) first = action.policer;
    several |= static_cast<unsigned>(action.policer ^ first);
    bytes += packets[i]->pkt_len - ingress[i].l2_length();
    policed_[policed++] = static_cast<uint16_t>(i);
  }
  if (policed == 0) return false;
  if (several == 0 && takes_all(*views_->policers[first], policed, bytes)) return false;
  police(filter, packets, ingress, policed, reasons);
  return true;
}

// Of a burst each policer's lock is taken once, unless they are many.
void FilterStage::police(const FilterView& filter, rte_mbuf* const* packets, const Ingress* ingress,
                         unsigned count, Reason* reasons) noexcept {
  constexpr unsigned kRounds = 8;
  for (unsigned round = 0; count > 0; ++round) {
    const uint16_t number = filter.actions[rules_[policed_[0]]].policer;
    Policer& policer = *views_->policers[number];
    const config::PolicerConfig& config = policer.config();
    const unsigned most = round < kRounds ? count : 1;
    unsigned left = 0;
    Policer::Tally tally;
    policer.lock();
    const uint64_t now = rte_rdtsc();
    for (unsigned k = 0; k < count; ++k) {
      const uint16_t i = policed_[k];
      if (k >= most || filter.actions[rules_[i]].policer != number) {
        policed_[left++] = i;
        continue;
      }
      const uint32_t bytes = packets[i]->pkt_len - ingress[i].l2_length();
      const Colour colour = policer.meter(now, bytes);
      tally.add(colour, bytes);
      if (colour != Colour::kGreen)
        reasons[i] = beyond_rate(colour, config, packets[i], ingress[i]);
    }
    policer.count(tally);
    policer.unlock();
    count = left;
  }
}

}  // namespace hecto::router
