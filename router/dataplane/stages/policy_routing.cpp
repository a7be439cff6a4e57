#include "router/dataplane/stages/policy_routing.hpp"

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/dataplane/stages/close_up.hpp"
#include "router/dataplane/stages/route_kinds.hpp"
#include "router/dataplane/stages/sources.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::router {
namespace {

using lookup::GroupId;
using lookup::NextHopRecord;

constexpr uint8_t kTcp = 6, kUdp = 17;

void read_ports(const uint8_t* transport, const uint8_t* end, RuleKey& key) noexcept {
  if ((key.protocol != kTcp && key.protocol != kUdp) || transport + 4 > end) return;
  key.ports_seen = true;
  key.source_port = load16_be(transport);
  key.destination_port = load16_be(transport + 2);
}

// `bytes`: of the packet's first segment from the IP header on.
void read_key(const uint8_t* ip, unsigned bytes, RuleKey& key, const uint32_t*) noexcept {
  constexpr uint16_t kFragment = 0x3fff;  // an offset, or more of them
  key.tos = ip[1];
  key.protocol = ip[9];
  key.protocol_seen = true;
  if ((load16_be(ip + 6) & kFragment) == 0) read_ports(ip + kIpv4Bytes, ip + bytes, key);
}
void read_key(const uint8_t* ip, unsigned bytes, RuleKey& key,
              const lookup::Ipv6Address*) noexcept {
  constexpr uint8_t kIcmp6 = 58, kEsp = 50;
  key.tos = static_cast<uint8_t>(load16_be(ip) >> 4);
  key.protocol = ip[6];
  key.protocol_seen = key.protocol == kTcp || key.protocol == kUdp || key.protocol == kIcmp6 ||
                      key.protocol == kEsp;  // else perhaps an extension header
  read_ports(ip + kIpv6Bytes, ip + bytes, key);
}

template <typename Address>
using PacketOf = typename RuleTable<Address>::Packet;

template <typename Address>
void read_key(const Lane<Address>& lane, unsigned i, RuleKey& key) noexcept {
  const unsigned l2 = lane.ingress[i].l2_length();
  read_key(rte_pktmbuf_mtod_offset(lane.packets[i], const uint8_t*, l2),
           lane.packets[i]->data_len - l2, key, lane.destinations);
}

// The marks that filters give, where rules ask for them, and the packets that filters lead.
class Marks {
 public:
  template <typename Address>
  Marks(const RuleTable<Address>& rules, const FilterViews* filters) noexcept
      : filters_(filters),
        asked_(filters != nullptr && filters->mark.field >= 0 && filters->lead.field >= 0 &&
               rules.asks_for_marks()),
        led_(filters != nullptr ? filters->lead.led : 0) {}

  // By a table that its rule names: no policy rule is asked.
  bool led(const rte_mbuf* packet) const noexcept { return (packet->ol_flags & led_) != 0; }
  void read(const rte_mbuf* packet, RuleKey& key) const noexcept {
    if (asked_) key.mark = filters_->mark.get(packet);
  }
  // Linux, which sees no mark, might send it another way than by the table.
  void lead(rte_mbuf* packet, bool by_mark, lookup::TableId table) const noexcept {
    if (asked_ && (by_mark || led(packet))) [[unlikely]]
      filters_->lead.lead(packet, table);
  }

 private:
  const FilterViews* const filters_;
  const bool asked_;
  const uint64_t led_;
};

// One packet's way from `step` on. `group`: main's, and then the one by which it goes. Last its step:
// the table, and whether its mark has led it there.
template <typename Address>
Reason follow(const RuleTable<Address>& rules, const PacketOf<Address>& packet, bool routed,
              typename RuleTable<Address>::Step& step, const TableViews& tables,
              GroupId& group) noexcept {
  while (step.table != 0) {
    if (!tables.has_further()) return Reason::kPolicyRule;
    GroupId found;
    lookup_batch(tables.further(packet.destination, step.table), &packet.destination, &found, 1);
    if (is_routed(tables.next_hops.record(found))) {
      group = found;
      return Reason::kNone;
    }
    const bool by_mark = step.by_mark;
    step = rules.ask(packet, routed, step.next);
    step.by_mark |= by_mark;
  }
  const bool by_record = step.reason == Reason::kNoRoute && !routed;  // main's says so
  return by_record ? Reason::kNone : step.reason;
}

// A packet for which the table that comes first has no route: main, and the rules behind that one.
template <typename Address>
Reason go_on(Lane<Address>& lane, unsigned i, const Address& source, const TableViews& tables,
             const RuleTable<Address>& rules, const Marks& marks) noexcept {
  const Address& to = lane.destinations[i];
  lookup_batch(main_fib(tables, to), &to, &lane.groups[i], 1);
  const NextHopRecord& record = tables.next_hops.record(lane.groups[i]);
  if (is_for_linux(record)) return Reason::kNone;
  PacketOf<Address> packet{source, to, 0, 0, {.interface = lane.ingress[i].interface()}};
  rules.classify_sources(&source, &packet.source_class, 1);
  rules.classify_destinations(&to, &packet.destination_class, 1);
  if (rules.asks_for_more()) read_key(lane, i, packet.key);
  marks.read(lane.packets[i], packet.key);
  const bool routed = is_routed(record);
  const size_t behind = rules.first(packet.key.interface).next;
  auto step = rules.ask(packet, routed, behind);
  const Reason reason = follow(rules, packet, routed, step, tables, lane.groups[i]);
  marks.lead(lane.packets[i], step.by_mark, step.table);
  return reason;
}

// Without what the constructors of so many would write.
template <typename Address>
class Sources {
 public:
  explicit Sources(const Lane<Address>& lane) noexcept { read_sources(lane, at()); }
  const Address* at() const noexcept { return reinterpret_cast<const Address*>(bytes_); }
  Address* at() noexcept { return reinterpret_cast<Address*>(bytes_); }
  const Address& operator[](unsigned i) const noexcept { return at()[i]; }

 private:
  static_assert(std::is_trivially_copyable_v<Address>);
  alignas(64) std::byte bytes_[sizeof(Address) * kChunkSize];
};

// All were looked up in the table that comes first.
template <typename Address>
void apply_behind_first(Lane<Address>& lane, Chunk& chunk, const TableViews& tables,
                        const RuleTable<Address>& rules, const Marks& marks) noexcept {
  unsigned missing = 0;  // what filters lead is routed, or has left
  for (unsigned i = 0; i < lane.count; ++i)
    missing += !is_routed(tables.next_hops.record(lane.groups[i]));
  if (missing == 0) return;
  const Sources<Address> sources(lane);
  Reason reasons[kChunkSize];
  for (unsigned i = 0; i < lane.count; ++i) {
    const bool routed = is_routed(tables.next_hops.record(lane.groups[i]));
    reasons[i] = routed ? Reason::kNone : go_on(lane, i, sources[i], tables, rules, marks);
  }
  close_up(lane, chunk, reasons);
}

}  // namespace

lookup::Fib4View first_fib4(InterfaceId interface, const TableViews& tables,
                            const RuleTables& rules) noexcept {
  const RuleTable<uint32_t>* const ipv4 = rules.of(uint32_t{});
  const lookup::TableId table =
      ipv4 == nullptr || !tables.has_further() || interface == kNoInterface
          ? lookup::TableId{0}
          : ipv4->first(interface).table;
  return table == 0 ? tables.fib4 : tables.further(uint32_t{}, table);
}

template <typename Address>
void look_up_by_rules(Lane<Address>& lane, const TableViews& tables,
                      const RuleTables& all) noexcept {
  const RuleTable<Address>* const rules = all.of(Address{});
  lane.table = 0;
  if (rules != nullptr && tables.has_further() && lane.of_one_ingress())
    lane.table = rules->first(lane.ingress[0].interface()).table;
  if (lane.table != 0)
    lookup_batch(tables.further(Address{}, lane.table), lane.destinations, lane.groups, lane.count);
  else
    lookup_batch(main_fib(tables, Address{}), lane.destinations, lane.groups, lane.count);
}

template <typename Address>
void apply_rules(Lane<Address>& lane, Chunk& chunk, const TableViews& tables, const RuleTables& all,
                 const FilterViews* filters) noexcept {
  using Table = RuleTable<Address>;
  const Table* const rules = all.of(Address{});
  // Also of a lane that has been emptied: who fills it next may look up in main.
  const bool behind_first = std::exchange(lane.table, 0) != 0;
  if (rules == nullptr || lane.count == 0) return;
  const Marks marks(*rules, filters);
  if (behind_first) return apply_behind_first(lane, chunk, tables, *rules, marks);
  const Sources<Address> sources(lane);
  GroupId from[kChunkSize], to[kChunkSize], found[kChunkSize];
  lookup::TableId table_of[kChunkSize];  // that its step names
  uint16_t next_of[kChunkSize];
  Reason reasons[kChunkSize];
  rules->classify_sources(sources.at(), from, lane.count);
  rules->classify_destinations(lane.destinations, to, lane.count);
  const auto packet_of = [&](unsigned i) {
    PacketOf<Address> packet{sources[i],
                             lane.destinations[i],
                             from[i],
                             to[i],
                             {.interface = lane.ingress[i].interface()}};
    if (rules->asks_for_more()) read_key(lane, i, packet.key);
    marks.read(lane.packets[i], packet.key);
    return packet;
  };
  const auto main_routes = [&](unsigned i) {
    return is_routed(tables.next_hops.record(lane.groups[i]));
  };
  bool further = false, refused = false;
  for (unsigned i = 0; i < lane.count; ++i) {
    const NextHopRecord& record = tables.next_hops.record(lane.groups[i]);
    typename Table::Step step;
    if (!is_for_linux(record) && !marks.led(lane.packets[i])) {
      const bool routed = is_routed(record);
      step = rules->ask(packet_of(i), routed);
      marks.lead(lane.packets[i], step.by_mark, step.table);
      if (step.reason == Reason::kNoRoute && !routed)
        step.reason = Reason::kNone;  // main's says so
    }
    table_of[i] = step.table;
    next_of[i] = step.next;
    reasons[i] = step.reason;
    further |= step.table != 0;
    refused |= step.reason != Reason::kNone;
  }
  if (further && tables.has_further()) [[unlikely]] {
    // Neighbors in the lane that go to one table are looked up together.
    for (unsigned begin = 0, end; begin < lane.count; begin = end) {
      const lookup::TableId table = table_of[begin];
      for (end = begin + 1; end < lane.count && table_of[end] == table; ++end) {
      }
      if (table != 0)
        lookup_batch(tables.further(Address{}, table), &lane.destinations[begin], &found[begin],
                     end - begin);
    }
    for (unsigned i = 0; i < lane.count; ++i) {
      if (table_of[i] == 0) continue;
      if (is_routed(tables.next_hops.record(found[i]))) {
        lane.groups[i] = found[i];
        continue;
      }
      const PacketOf<Address> packet = packet_of(i);
      const bool routed = main_routes(i);
      auto step = rules->ask(packet, routed, next_of[i]);
      reasons[i] = follow(*rules, packet, routed, step, tables, lane.groups[i]);
      marks.lead(lane.packets[i], step.by_mark, step.table);
    }
  } else if (further) {
    for (unsigned i = 0; i < lane.count; ++i)
      if (table_of[i] != 0) reasons[i] = Reason::kPolicyRule;
  }
  if (further || refused) close_up(lane, chunk, reasons);
}

template <typename Address>
void apply_rules_back(const Lane<Address>& lane, const Address* sources, const TableViews& tables,
                      const RuleTables& all, GroupId* groups, Reason* refusals) noexcept {
  std::fill(refusals, refusals + lane.count, Reason::kNone);
  const RuleTable<Address>* const rules = all.of(Address{});
  if (rules == nullptr) return;
  GroupId from[kChunkSize], to[kChunkSize];
  rules->classify_sources(lane.destinations, from, lane.count);
  rules->classify_destinations(sources, to, lane.count);
  for (unsigned i = 0; i < lane.count; ++i) {
    PacketOf<Address> packet{lane.destinations[i],
                             sources[i],
                             from[i],
                             to[i],
                             {.interface = lane.ingress[i].interface(), .way_back = true}};
    // Own addresses are no sources, whatever table comes behind local.
    const NextHopRecord& record = tables.next_hops.record(groups[i]);
    if (is_for_linux(record) && rules->first(packet.key.interface).table == 0) continue;
    if (rules->asks_for_more()) {
      read_key(lane, i, packet.key);
      std::swap(packet.key.source_port, packet.key.destination_port);
    }
    // Linux asks for the way back as if nothing had marked it (src_valid_mark 0).
    const bool routed = is_routed(record);
    auto step = rules->ask(packet, routed);
    const Reason reason = follow(*rules, packet, routed, step, tables, groups[i]);
    const bool known = reason == Reason::kNone || reason == Reason::kPolicyRule;
    refusals[i] = known ? reason : Reason::kUrpf;
  }
}

template void look_up_by_rules(Lane4&, const TableViews&, const RuleTables&) noexcept;
template void look_up_by_rules(Lane6&, const TableViews&, const RuleTables&) noexcept;
template void apply_rules(Lane4&, Chunk&, const TableViews&, const RuleTables&,
                          const FilterViews*) noexcept;
template void apply_rules(Lane6&, Chunk&, const TableViews&, const RuleTables&,
                          const FilterViews*) noexcept;
template void apply_rules_back(const Lane4&, const uint32_t*, const TableViews&, const RuleTables&,
                               GroupId*, Reason*) noexcept;
template void apply_rules_back(const Lane6&, const lookup::Ipv6Address*, const TableViews&,
                               const RuleTables&, GroupId*, Reason*) noexcept;

}  // namespace hecto::router
