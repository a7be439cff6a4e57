#include "router/rib/routing_queries.hpp"

#include <algorithm>

namespace hecto::router {

using lookup::Ipv4Address;
using lookup::Ipv6Address;
using lookup::Prefix;

namespace {

constexpr uint8_t kProtocolOwn = 100;  // of what hectod writes
// Of one page: control answers between two other things that it has to do.
constexpr size_t kMostLookedAt = 50'000;

// Linux has the routes of the file and the API too, and those of their addresses by itself.
bool same_route(const RouteView& linux_route, const RouteView& other) {
  const auto same_hop = [](const NextHopView& a, const NextHopView& b) {
    return a.gateway == b.gateway && a.interface == b.interface && a.weight == b.weight;
  };
  return linux_route.origin == RouteOrigin::kLinux &&
         (linux_route.protocol == kProtocolKernel || linux_route.protocol == kProtocolOwn) &&
         (other.origin == RouteOrigin::kFile || other.origin == RouteOrigin::kApi) &&
         linux_route.type == other.type &&
         std::equal(linux_route.next_hops.begin(), linux_route.next_hops.end(),
                    other.next_hops.begin(), other.next_hops.end(), same_hop);
}

// Adds the route, or notes with one that is on the page since `first` that it is there twice.
void add_once(std::vector<RouteView>& routes, size_t first, RouteView route) {
  for (size_t i = first; i < routes.size(); ++i) {
    if (!same_route(route, routes[i]) && !same_route(routes[i], route)) continue;
    routes[i].also.push_back(route.origin);
    return;
  }
  routes.push_back(std::move(route));
}

}  // namespace

// `single` is a set with at most one next hop.
NextHopView RoutingQueries::next_hop_view(SetId single) const {
  const NextHopSets::Set& set = store_.sets().set(single);
  NextHop hop;
  if (set.next_hops.size() == 1) hop = set.next_hops[0];
  const NextHopObject* object = store_.objects().find(set.object);
  if (object != nullptr && object->next_hop) hop = *object->next_hop;
  NextHopView view;
  view.gateway = hop.gateway;
  view.ifindex = hop.ifindex;
  view.labels = hop.labels;
  view.interface = set.now.interface;
  view.dead = !set.now.alive;
  if (const InterfaceState* interface = store_.interfaces().find(view.interface)) {
    view.interface_name = interface->name;
    view.ifindex = interface->ifindex;
  }
  return view;
}

std::vector<NextHopView> RoutingQueries::next_hop_views(SetId id) const {
  const NextHopSets::Set& set = store_.sets().set(id);
  std::vector<NextHopView> views;
  if (set.type != RouteType::kUnicast) return views;
  for (const NextHopSets::Member& member : set.members) {
    views.push_back(next_hop_view(member.set));
    views.back().weight = member.weight;
    views.back().dead |= member.dead;
  }
  const NextHopObject* object = store_.objects().find(set.object);
  bool single = set.next_hops.size() == 1 || (object != nullptr && object->next_hop);
  if (views.empty() && single) views.push_back(next_hop_view(id));
  return views;
}

template <typename Address>
RouteView RoutingQueries::view(const RoutingTable& table, const Prefix<Address>& prefix,
                               const RibEntry<Address>& entry, RouteId id) const {
  const Candidate& candidate = table.rib<Address>().route(id);
  const NextHopSets::Set& set = store_.sets().set(candidate.next_hop_set);
  RouteView view;
  view.prefix = {IpAddress::from(prefix.address), prefix.length};
  view.type = set.type;
  view.origin = origin_of(candidate);
  view.protocol = candidate.protocol;
  view.table = table.table_of(candidate);
  view.metric = candidate.metric;
  view.load = candidate.owner;
  view.nexthop_object = set.object;
  view.selected = id == entry.first;
  view.installed = view.selected && entry.tag.in_fib && !entry.tag.incomplete;
  view.group = set.group;
  view.next_hops = next_hop_views(candidate.next_hop_set);
  return view;
}

template RouteView RoutingQueries::view(const RoutingTable&, const lookup::Prefix4&,
                                        const RibEntry<Ipv4Address>&, RouteId) const;
template RouteView RoutingQueries::view(const RoutingTable&, const lookup::Prefix6&,
                                        const RibEntry<Ipv6Address>&, RouteId) const;

template <typename Address>
std::optional<RouteMatch> RoutingQueries::match_in(const RoutingTable& table,
                                                   const Address& address) const {
  const Rib<Address>& rib = table.rib<Address>();
  std::optional<RouteMatch> found;
  for (auto match = rib.longest_match(address); match; match = rib.parent(match->prefix)) {
    const RibEntry<Address>& entry = *match->value;
    if (!entry.tag.in_fib) continue;
    const Candidate& best = rib.best(entry);
    if (!found) found = RouteMatch{match->prefix.length, entry.tag.group, false};
    if (origin_of(best) != RouteOrigin::kNeighbor) {
      found->length = match->prefix.length;
      const NextHopSets::Set& set = store_.sets().set(best.next_hop_set);
      found->on_link = set.next_hops.size() == 1 && !set.next_hops[0].gateway;
      break;
    }
  }
  return found;
}

std::optional<RouteMatch> RoutingQueries::match(const RoutingTable& table,
                                                const IpAddress& address) const {
  return address.family == Family::kIpv4 ? match_in(table, address.v4())
                                         : match_in(table, address.v6());
}

std::vector<TableView> RoutingQueries::tables() const {
  std::vector<TableView> views;
  for (const RoutingTable* table : store_.tables()) {
    TableView view;
    view.linux_number = table->linux_number;
    view.prefixes4 = table->rib<Ipv4Address>().size();
    view.prefixes6 = table->rib<Ipv6Address>().size();
    const LargeViews& large = store_.any_large_views();
    view.large4 = table->number == 0 || large.ipv4.find(table->number) != nullptr;
    view.large6 = table->number == 0 || large.ipv6.find(table->number) != nullptr;
    view.incomplete =
        table->families.ipv4.statistics().incomplete + table->families.ipv6.statistics().incomplete;
    views.push_back(view);
  }
  return views;
}

NeighborView RoutingQueries::view(const Neighbor& neighbor) const {
  NeighborView view;
  view.address = neighbor.address;
  view.ifindex = neighbor.ifindex;
  view.interface =
      neighbor.configured() ? neighbor.interface : store_.interfaces().by_ifindex(neighbor.ifindex);
  view.mac = neighbor.mac;
  view.state = neighbor.state;
  view.usable = neighbor.usable;
  view.configured = neighbor.configured();
  if (const InterfaceState* interface = store_.interfaces().find(view.interface)) {
    view.interface_name = interface->name;
    SetId user = store_.sets().user_of(view.interface, view.address);
    bool in_use = store_.interfaces().find(view.interface) != nullptr &&
                  store_.neighbors().find(*interface, view.address) != nullptr &&
                  *store_.neighbors().find(*interface, view.address) == neighbor;
    if (user != kNoSet && in_use) view.group = store_.sets().group(user);
  }
  return view;
}

std::vector<NeighborView> RoutingQueries::neighbors() const {
  std::vector<NeighborView> views;
  for (const Neighbor& neighbor : store_.neighbors().all()) views.push_back(view(neighbor));
  return views;
}

GroupMemberView RoutingQueries::member_view(SetId single) const {
  const NextHopSets::Set& set = store_.sets().set(single);
  GroupMemberView view;
  view.group = set.group;
  view.record = store_.next_hops().get(set.group);
  view.next_hop = next_hop_view(single);
  view.dead = view.next_hop.dead;
  const InterfaceState* interface = store_.interfaces().find(view.next_hop.interface);
  if (interface != nullptr && view.next_hop.gateway) {
    const Neighbor* neighbor = store_.neighbors().find(*interface, *view.next_hop.gateway);
    if (neighbor != nullptr) view.neighbor = this->view(*neighbor);
  }
  return view;
}

GroupView RoutingQueries::view(SetId id) const {
  const NextHopSets::Set& set = store_.sets().set(id);
  GroupView view;
  view.group = set.group;
  view.family = set.family;
  view.nexthop_object = set.object;
  view.record = store_.next_hops().get(set.group);
  view.routes = store_.prefixes_of(set.group);
  if (set.members.empty()) {
    view.members.push_back(member_view(id));
    return view;
  }
  std::vector<GroupId> buckets = store_.next_hops().buckets(set.group);
  view.buckets = static_cast<uint32_t>(buckets.size());
  for (const NextHopSets::Member& member : set.members) {
    GroupMemberView shown = member_view(member.set);
    shown.weight = member.weight;
    shown.dead |= member.dead;
    shown.buckets = static_cast<uint32_t>(
        std::count(buckets.begin(), buckets.end(), store_.sets().group(member.set)));
    view.members.push_back(std::move(shown));
  }
  return view;
}

std::optional<GroupView> RoutingQueries::next_hop(GroupId group) const {
  SetId id = store_.sets().by_group(group);
  if (id != kNoSet) return view(id);
  if (group != store_.overflow_group() || group == lookup::kNoRoute) return std::nullopt;
  GroupView view;
  view.group = group;
  view.record = store_.next_hops().get(group);
  view.routes = store_.prefixes_of(group);
  GroupMemberView self;
  self.group = group;
  self.record = view.record;
  view.members.push_back(self);
  return view;
}

std::vector<GroupView> RoutingQueries::next_hops() const {
  std::vector<GroupView> views;
  if (auto overflow = next_hop(store_.overflow_group()); overflow && overflow->routes != 0) {
    views.push_back(std::move(*overflow));
  }
  store_.sets().visit([&](SetId id, const NextHopSets::Set& set) {
    if (set.group != lookup::kNoRoute) views.push_back(view(id));
  });
  std::sort(views.begin(), views.end(),
            [](const GroupView& a, const GroupView& b) { return a.group < b.group; });
  return views;
}

bool RoutingQueries::leads_by(SetId id, InterfaceId interface) const {
  const NextHopSets::Set& set = store_.sets().set(id);
  if (set.members.empty()) return set.now.interface == interface;
  return std::any_of(set.members.begin(), set.members.end(), [&](const auto& member) {
    return store_.sets().set(member.set).now.interface == interface;
  });
}

// Fills the page with prefixes of one family; false when it is full, or enough were looked at.
template <typename Address>
bool RoutingQueries::collect(const RoutingTable& table, const Prefix<Address>& from, bool skip_from,
                             size_t limit, const RouteFilter& filter, RoutePage& page,
                             Walk& walk) const {
  const Rib<Address>& rib = table.rib<Address>();
  rib.walk(from, [&](const Prefix<Address>& prefix, const RibEntry<Address>& entry) {
    if (skip_from && prefix == from) return true;
    IpAddress address = IpAddress::from(prefix.address);
    if (filter.within && !filter.within->contains(address)) return false;  // behind it
    if (filter.within && prefix.length < filter.within->length) return true;
    if (walk.shown == limit || walk.looked_at == kMostLookedAt) {
      page.next = walk.last;
      return false;
    }
    walk.last = IpPrefix{address, prefix.length};
    ++walk.looked_at;
    const size_t before = page.routes.size();
    for (RouteId id = entry.first; id != kNoRouteId; id = rib.next(id)) {
      const Candidate& candidate = rib.route(id);
      if (filter.selected_only && id != entry.first) break;
      if (filter.origin && origin_of(candidate) != *filter.origin) continue;
      if (filter.protocol && candidate.protocol != *filter.protocol) continue;
      if (filter.interface != kNoInterface && !leads_by(candidate.next_hop_set, filter.interface))
        continue;
      add_once(page.routes, before, view(table, prefix, entry, id));
    }
    walk.shown += page.routes.size() != before;
    return true;
  });
  return !page.next;
}

RoutePage RoutingQueries::routes(const std::optional<IpPrefix>& after, size_t limit,
                                 const RouteFilter& filter) const {
  RoutePage page;
  Walk walk;
  const RoutingTable* const table = store_.table(filter.table);
  if (table == nullptr) return page;
  limit = std::max<size_t>(limit, 1);
  std::optional<IpPrefix> from = after;
  if (filter.within && (!from || *from < *filter.within)) from = filter.within->network();
  bool skip = after && *from == *after;
  if (!from || from->address.family == Family::kIpv4) {
    lookup::Prefix4 start = from ? from->v4() : lookup::Prefix4{};
    if (!collect(*table, start, skip, limit, filter, page, walk) || filter.within) return page;
    from.reset();
    skip = false;
  }
  collect(*table, from ? from->v6() : lookup::Prefix6{}, skip, limit, filter, page, walk);
  return page;
}

}  // namespace hecto::router
