#include "router/dataplane/stages/policing.hpp"

#include <algorithm>

#include "base/bytes.hpp"
#include "base/checksum_change.hpp"
#include "router/dataplane/filter/policer.hpp"
#include "router/dataplane/stages/close_up.hpp"
#include "router/dataplane/stages/egress_of.hpp"
#include "router/dataplane/stages/framed_ip.hpp"

namespace hecto::router {
namespace {

uint32_t bytes_of(const rte_mbuf* packet, Ingress ingress) noexcept {
  return packet->pkt_len - ingress.l2_length();
}

uint64_t bytes_of(rte_mbuf* const* packets, const Ingress* ingress, unsigned n) noexcept {
  uint64_t bytes = 0;
  for (unsigned i = 0; i < n; ++i) bytes += bytes_of(packets[i], ingress[i]);
  return bytes;
}

PolicerNumber number_at(const PolicersOfInterfaces& policers, InterfaceId interface) noexcept {
  return interface < kMaxInterfaces ? policers[interface] : PolicerNumber { 0 };
}

// Neighbors in the lane that have one policer are held to it together.
template <typename Address>
void hold_lane(Lane<Address>& lane, Chunk& chunk, const FilterViews& filters,
               const PolicerNumber* numbers) noexcept {
  Reason reasons[kChunkSize];
  std::fill(reasons, reasons + lane.count, Reason::kNone);
  bool refuses = false;
  for (unsigned begin = 0, end; begin < lane.count; begin = end) {
    const PolicerNumber number = numbers[begin];
    for (end = begin + 1; end < lane.count && numbers[end] == number; ++end) {
    }
    if (number == 0) continue;
    rte_mbuf* const* const packets = lane.packets + begin;
    const Ingress* const ingress = lane.ingress + begin;
    refuses |= hold_to(*filters.policers[number - 1u], packets, ingress, end - begin,
                       bytes_of(packets, ingress, end - begin), reasons + begin);
  }
  if (refuses) close_up(lane, chunk, reasons);
}

template <typename Address>
void hold_lane_in(Lane<Address>& lane, Chunk& chunk, const FilterViews& filters) noexcept {
  if (lane.count == 0) return;
  if (lane.of_one_ingress()) [[likely]] {
    const PolicerNumber number = number_at(filters.police_in, lane.ingress[0].interface());
    if (number == 0) return;
    Reason reasons[kChunkSize];
    if (hold_to(*filters.policers[number - 1u], lane.packets, lane.ingress, lane.count,
                bytes_of(lane.packets, lane.ingress, lane.count), reasons))
      close_up(lane, chunk, reasons);
    return;
  }
  PolicerNumber numbers[kChunkSize], some = 0;
  for (unsigned i = 0; i < lane.count; ++i)
    some |= numbers[i] = number_at(filters.police_in, lane.ingress[i].interface());
  if (some != 0) hold_lane(lane, chunk, filters, numbers);
}

template <typename Address>
void hold_lane_opened(Lane<Address>& lane, Chunk& chunk, const FilterViews& filters,
                      uint64_t flag) noexcept {
  PolicerNumber numbers[kChunkSize], some = 0;
  for (unsigned i = 0; i < lane.count; ++i) {
    const bool opened = (lane.packets[i]->ol_flags & flag) != 0;
    numbers[i] =
        opened ? number_at(filters.police_in, lane.ingress[i].interface()) : PolicerNumber{0};
    some |= numbers[i];
  }
  if (some != 0) hold_lane(lane, chunk, filters, numbers);
}

template <typename Address>
void hold_lane_out(Lane<Address>& lane, Chunk& chunk, const FilterViews& filters,
                   const lookup::NextHopView& next_hops, uint32_t seed,
                   const InterfaceId* known) noexcept {
  PolicerNumber numbers[kChunkSize], some = 0;
  for (unsigned i = 0; i < lane.count; ++i)
    some |= numbers[i] = number_at(
        filters.police_out, known != nullptr ? known[i] : egress_of(lane, i, next_hops, seed));
  if (some != 0) hold_lane(lane, chunk, filters, numbers);
}

// Frames that are none of IP's have no rate.
void hold_refused(Chunk& chunk, const FilterViews& filters) noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& each = chunk.refused[i];
    const PolicerNumber number = number_at(filters.police_in, each.interface);
    if (number == 0 || !info(each.reason).punt || each.reason == Reason::kArp) continue;
    const FramedIp frame =
        find_ip(rte_pktmbuf_mtod(each.packet, const uint8_t*), each.packet->data_len);
    if (frame.ip == nullptr || frame.damaged) continue;
    const Ingress ingress(each.interface, frame.l2_bytes);
    if (Reason reason; hold_to(*filters.policers[number - 1u], &each.packet, &ingress, 1,
                               bytes_of(each.packet, ingress), &reason) &&
                       reason != Reason::kNone)
      each.reason = reason;
  }
}

}  // namespace

void write_dscp(uint8_t* ip, uint8_t dscp) noexcept {
  if (ip[0] >> 4 == 6) {
    const uint16_t word = load16_be(ip);
    store16_be(ip, (word & 0xf03fu) | static_cast<unsigned>(dscp) << 6);
    return;
  }
  const uint16_t before = load16_native(ip);
  ip[1] = static_cast<uint8_t>(dscp << 2 | (ip[1] & 3));
  change_checksum(ip + 10, delta16(before, load16_native(ip)));
}

bool takes_all(Policer& policer, unsigned n, uint64_t bytes) noexcept {
  policer.lock();
  const bool all = policer.take_all(rte_rdtsc(), n, bytes);
  policer.unlock();
  return all;
}

Reason beyond_rate(Colour colour, const config::PolicerConfig& config, rte_mbuf* packet,
                   Ingress ingress) noexcept {
  if (colour == Colour::kRed || config.drops_yellow) return Reason::kPoliced;
  if (config.yellow_dscp)
    write_dscp(rte_pktmbuf_mtod_offset(packet, uint8_t*, ingress.l2_length()), *config.yellow_dscp);
  return Reason::kNone;
}

bool hold_to(Policer& policer, rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
             uint64_t bytes, Reason* reasons) noexcept {
  const config::PolicerConfig& config = policer.config();
  policer.lock();
  const uint64_t now = rte_rdtsc();
  if (policer.take_all(now, n, bytes)) [[likely]] {
    policer.unlock();
    return false;
  }
  Policer::Tally tally;
  for (unsigned i = 0; i < n; ++i) {
    const uint32_t own = bytes_of(packets[i], ingress[i]);
    const Colour colour = policer.meter(now, own);
    tally.add(colour, own);
    reasons[i] = colour == Colour::kGreen ? Reason::kNone
                                          : beyond_rate(colour, config, packets[i], ingress[i]);
  }
  policer.count(tally);
  policer.unlock();
  return true;
}

void hold_in(Chunk& chunk, const FilterViews& filters) noexcept {
  if (!filters.has_police_in) return;
  if (chunk.refused_count > 0) [[unlikely]]
    hold_refused(chunk, filters);
  hold_lane_in(chunk.v4, chunk, filters);
  hold_lane_in(chunk.v6, chunk, filters);
}

void hold_opened(Chunk& chunk, const FilterViews& filters, uint64_t flag) noexcept {
  if (!filters.has_police_in) return;
  hold_lane_opened(chunk.v4, chunk, filters, flag);
  hold_lane_opened(chunk.v6, chunk, filters, flag);
}

void hold_out(Chunk& chunk, const FilterViews& filters, const lookup::NextHopView& next_hops,
              uint32_t ecmp_seed, KnownEgress known) noexcept {
  if (!filters.has_police_out) return;
  hold_lane_out(chunk.v4, chunk, filters, next_hops, ecmp_seed, known.ipv4);
  hold_lane_out(chunk.v6, chunk, filters, next_hops, ecmp_seed, known.ipv6);
}

}  // namespace hecto::router
