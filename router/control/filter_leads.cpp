#include "router/control/filter_leads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "router/dataplane/core/tunnel_tables.hpp"
#include "router/dataplane/filter/wanted_neighbors.hpp"
#include "router/rib/routing.hpp"

namespace hecto::router {
namespace {

// So many a turn, as punt.md has it for what waits for neighbors: 200 a second.
constexpr size_t kMostWanted = 10;

// A VRF's, by its members, or by the file.
uint32_t number_of(const RuleFacts::Table& named, const Routing& routing) {
  if (named.vrf.empty()) return named.table;
  for (const auto& [id, state] : routing.interfaces().all())
    if (const Vrf vrf = routing.interfaces().vrf_of(state); vrf.name == named.vrf) return vrf.table;
  return named.table;
}

using Wanted = std::vector<std::pair<int, lookup::IpAddress>>;

// The neighbors that a packet for the address waits for by that table: of its next hops, or of those of
// the ends of tunnels that these lead into.
void add_unknown(const Routing& routing, const lookup::IpAddress& destination, uint32_t table,
                 unsigned tunnels, Wanted& wanted) {
  const auto match = routing.match(destination, table);
  const auto group = match ? routing.next_hop(match->group) : std::nullopt;
  if (!group) return;
  const Interfaces& interfaces = routing.interfaces();
  for (const GroupMemberView& member : group->members) {
    const lookup::NextHopRecord& record = member.record;
    if (record.kind == lookup::RecordKind::kTunnel && tunnels < kMostNestedTunnels) {
      const InterfaceState* const by = interfaces.find(InterfaceId(record.interface));
      const LinuxTunnel* const tunnel = by == nullptr ? nullptr : interfaces.tunnel_of(*by);
      if (tunnel == nullptr) continue;
      const InterfaceState* const link = interfaces.find(interfaces.by_ifindex(tunnel->link));
      const uint32_t vrf = link == nullptr ? 0 : interfaces.vrf_of(*link).table;
      add_unknown(routing, tunnel->remote, vrf == 0 ? kTableMain : vrf, tunnels + 1, wanted);
      continue;
    }
    const bool waits = record.kind == lookup::RecordKind::kPunt &&
                       static_cast<Reason>(record.reason) == Reason::kGlean;
    if (!waits || member.next_hop.ifindex == 0) continue;
    const std::pair neighbor(member.next_hop.ifindex,
                             member.next_hop.gateway.value_or(destination));
    if (std::ranges::find(wanted, neighbor) == wanted.end()) wanted.push_back(neighbor);
  }
}

bool has_routes(const Routing& routing, uint32_t linux_number) {
  for (const TableView& table : routing.tables())
    if (table.linux_number == linux_number) return table.prefixes4 + table.prefixes6 > 0;
  return false;
}

}  // namespace

// Its number in the FIBs is all that a worker knows of a table.
std::optional<uint32_t> linux_number_of(Routing& routing, lookup::TableId fib) {
  for (const TableView& table : routing.tables())
    if (routing.fib_table(table.linux_number) == fib) return table.linux_number;
  return std::nullopt;
}

InterfaceNames table_names(const RuleFacts& rules, Routing& routing) {
  InterfaceNames names;
  for (const RuleFacts::Table& named : rules.tables) {
    InterfaceNames::Table table;
    table.linux_number = number_of(named, routing);
    if (table.linux_number != 0) table.fib = routing.fib_table(table.linux_number);
    if (named.vrf.empty())
      names.tables[named.table] = table;
    else
      names.vrfs[named.vrf] = table;
  }
  return names;
}

std::vector<std::string> FilterControl::table_notes(size_t filter) const {
  std::vector<std::string> notes;
  if (!leads() || filter >= config().filters.size()) return notes;
  std::set<uint32_t> told;
  for (const config::FilterRuleConfig& rule : config().filters[filter].rules) {
    if (rule.table == 0 && rule.vrf.empty()) continue;
    const InterfaceNames::Table& table =
        rule.vrf.empty() ? state_.names.tables.at(rule.table) : state_.names.vrfs.at(rule.vrf);
    if (!table.fib || !told.insert(table.linux_number).second) continue;
    if (!has_routes(routing_, table.linux_number))
      notes.push_back(fmt::format(
          "table {} has no routes (now): packets that rules send there are dropped (filter_led)",
          table.linux_number));
  }
  return notes;
}

std::vector<std::pair<int, lookup::IpAddress>> FilterControl::take_wanted() {
  Wanted wanted;
  WantedNeighbors* const asked = state_.tables ? state_.tables->wanted() : nullptr;
  if (asked == nullptr) return wanted;
  std::map<lookup::TableId, std::optional<uint32_t>> tables;
  for (const WantedNeighbor& each : asked->take()) {
    if (wanted.size() >= kMostWanted) break;
    const auto [known, fresh] = tables.try_emplace(each.table);
    if (fresh) known->second = linux_number_of(routing_, each.table);
    const std::optional<uint32_t> table = known->second;
    if (table) add_unknown(routing_, each.destination, *table, 0, wanted);
  }
  return wanted;
}

}  // namespace hecto::router
