#include "router/dataplane/stages/vrf_tables.hpp"

#include <cstring>

#include "base/bytes.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::router {

using lookup::GroupId;
using lookup::NextHopRecord;
using lookup::RecordKind;

namespace {

template <typename Address, typename Fib>
GroupId group_of(InterfaceId interface, const Address& address, const Fib& main,
                 const TableViews& tables, const RuleTables* all) noexcept {
  GroupId group = lookup::kNoRoute;
  const auto* const rules = all == nullptr ? nullptr : all->of(address);
  const bool vrf = rules != nullptr && interface != kNoInterface && rules->in_vrf(interface);
  const lookup::TableId table = vrf ? rules->vrf_table(interface) : lookup::TableId{0};
  if (vrf && (table == 0 || !tables.has_further())) return group;  // it found no room: not main's
  if (!vrf)
    lookup_batch(main, &address, &group, 1);
  else
    lookup_batch(tables.further(address, table), &address, &group, 1);
  return group;
}

}  // namespace

GroupId VrfTables::group(InterfaceId interface, uint32_t host_order) const noexcept {
  return group_of(interface, host_order, tables_.fib4, tables_, rules_);
}

GroupId VrfTables::group(InterfaceId interface, const lookup::Ipv6Address& address) const noexcept {
  return group_of(interface, address, tables_.fib6, tables_, rules_);
}

const NextHopRecord& VrfTables::record(InterfaceId interface, lookup::Family family,
                                       const uint8_t* address) const noexcept {
  if (family == lookup::Family::kIpv4)
    return tables_.next_hops.record(group(interface, load32_be(address)));
  lookup::Ipv6Address whole;
  std::memcpy(&whole, address, sizeof whole);
  return tables_.next_hops.record(group(interface, whole));
}

InterfaceId VrfTables::way_out(const NextHopRecord& route, InterfaceId ingress) const noexcept {
  if (route.if_id != 0) return kNoInterface;
  const bool several = route.kind == RecordKind::kMultipath;
  const NextHopRecord& first = several ? tables_.next_hops.member(route, 0) : route;
  return lookup::leaves_by_port(first.kind) ? InterfaceId{first.interface} : ingress;
}

}  // namespace hecto::router
