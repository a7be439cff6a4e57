#include "router/dataplane/stages/filter_lead.hpp"

#include <algorithm>
#include <cstring>

#include "base/ether.hpp"
#include "router/dataplane/filter/wanted_neighbors.hpp"
#include "router/dataplane/stages/close_up.hpp"
#include "router/dataplane/stages/opened_frame.hpp"
#include "router/dataplane/stages/route_kinds.hpp"
#include "router/dataplane/stages/vrf_tables.hpp"

namespace hecto::router {
namespace {

using lookup::Family;
using lookup::GroupId;
using lookup::TableId;

constexpr int kNoneNamed = -1;

lookup::IpAddress destination_of(const FramedIp& frame) noexcept {
  lookup::IpAddress address;
  address.family = frame.family;
  const bool four = frame.family == Family::kIpv4;
  std::memcpy(address.bytes.data(), frame.ip + (four ? 16 : 24), four ? 4 : 16);
  return address;
}

// To a host, and not to the router: what Linux would forward.
bool is_transit(const FramedIp& frame, InterfaceId interface, const VrfTables& tables) noexcept {
  const bool four = frame.family == Family::kIpv4;
  const uint8_t* const to = frame.ip + (four ? 16 : 24);
  const bool group = four ? to[0] >= 224 : to[0] == 0xff;
  return !group && !is_for_linux(tables.record(interface, frame.family, to));
}

}  // namespace

template <typename Address>
void look_up_led(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                 const FilterViews& filters) noexcept {
  if (!filters.leads) return;
  const FilterLead& lead = filters.lead;
  int table_of[kChunkSize];
  bool some = false;
  for (unsigned i = 0; i < lane.count; ++i) {
    const bool named =
        lead.is_named(lane.packets[i]) && !is_for_linux(tables.next_hops.record(lane.groups[i]));
    table_of[i] = named ? lead.table(lane.packets[i]) : kNoneNamed;
    some |= named;
  }
  if (!some) return;
  Reason reasons[kChunkSize];
  bool refuses = false;
  // Neighbors in the lane that go to one table are looked up together.
  for (unsigned begin = 0, end; begin < lane.count; begin = end) {
    const int named = table_of[begin];
    for (end = begin + 1; end < lane.count && table_of[end] == named; ++end) {
    }
    if (named == kNoneNamed) {
      std::fill(reasons + begin, reasons + end, Reason::kNone);
      continue;
    }
    const auto table = static_cast<TableId>(named);
    const bool there = table == 0 || tables.has_further();
    if (there)
      lookup_batch(table == 0 ? main_fib(tables, Address{}) : tables.further(Address{}, table),
                   &lane.destinations[begin], &lane.groups[begin], end - begin);
    for (unsigned i = begin; i < end; ++i) {
      lead.lead(lane.packets[i], table);
      reasons[i] = !there                                               ? Reason::kFilterNoTable
                   : is_routed(tables.next_hops.record(lane.groups[i])) ? Reason::kNone
                                                                        : Reason::kFilterLed;
      refuses |= reasons[i] != Reason::kNone;
    }
  }
  if (refuses) close_up(lane, chunk, reasons);
}

void forget_named(Chunk& chunk, uint64_t flag, const FilterLead& lead) noexcept {
  const auto forget = [&](rte_mbuf* packet) {
    if ((packet->ol_flags & flag) != 0) packet->ol_flags &= ~lead.named;
  };
  for (unsigned i = 0; i < chunk.v4.count; ++i) forget(chunk.v4.packets[i]);
  for (unsigned i = 0; i < chunk.v6.count; ++i) forget(chunk.v6.packets[i]);
  for (unsigned i = 0; i < chunk.refused_count; ++i) forget(chunk.refused[i].packet);
}

void keep_from_linux(Chunk& chunk, const FilterViews& filters, unsigned thread,
                     const TableViews& tables, const RuleTables* rules, uint64_t opened) noexcept {
  const FilterLead& lead = filters.lead;
  if (lead.field < 0) return;
  const VrfTables by_vrf(tables, rules);
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    Refused& each = chunk.refused[i];
    const bool led = lead.is_led(each.packet);
    // Options are read by no look-up here, so what has some is not led yet.
    const bool would_be = lead.is_named(each.packet) && each.reason == Reason::kOptions;
    if ((!led && !would_be) || reason_if_led(each.reason) == each.reason) continue;
    const FramedIp frame = find_ip(each.packet, opened);
    const unsigned header = frame.family == Family::kIpv4 ? kIpv4Bytes : kIpv6Bytes;
    const bool whole = frame.ip != nullptr && !frame.damaged && frame.bytes >= header;
    if (would_be && (!whole || !is_transit(frame, each.interface, by_vrf))) continue;
    if (each.reason == Reason::kGlean && whole)
      filters.wanted->add(thread, {destination_of(frame), lead.table(each.packet)});
    each.reason = reason_if_led(each.reason);
  }
}

template void look_up_led(Lane4&, Chunk&, const TableViews&, const FilterViews&) noexcept;
template void look_up_led(Lane6&, Chunk&, const TableViews&, const FilterViews&) noexcept;

}  // namespace hecto::router
