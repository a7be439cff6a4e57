#include "router/rib/label_routes.hpp"

#include <algorithm>
#include <utility>

#include "router/rib/routing_queries.hpp"

namespace hecto::router {
namespace {

// Routes of labels 0 and 2 (RFC 3032 §2.1) come with the kernel's table. No dump and no change tells of
// them, and none can be put in their place (mpls_dump_routes(), mpls_label_ok()).
void set_explicit_nulls(LabelRoutes& labels, uint32_t platform_labels) {
  NextHop lo;
  lo.ifindex = 1;
  for (const uint32_t label : {0u, 2u})
    labels.set({label, kProtocolKernel, {lo}, ""}, platform_labels <= label);
}

}  // namespace

void LabelRoutes::set(const LabelRoute& route, bool removed) {
  const auto known = routes_.find(route.label);
  if (removed) {
    if (known != routes_.end()) erase(known);
    return;
  }
  if (route.label >= kMostLabels) return;
  if (known != routes_.end() && known->second.route == route) {
    known->second.generation = generation_;
    return;
  }
  ++version_;
  const auto [at, fresh] = routes_.try_emplace(route.label);
  Entry& entry = at->second;
  unwritten_ += fresh;
  const SetId before = entry.set;
  count_devices(entry.route, -1);
  entry.route = route;
  count_devices(entry.route, 1);
  entry.generation = generation_;
  entry.set = kNoSet;
  std::vector<NextHop> next_hops = route.next_hops;
  canonicalize(next_hops);
  if (route.beyond.empty() && !next_hops.empty())
    entry.set = store_.sets().acquire({Family::kIpv4, RouteType::kUnicast, 0, next_hops, 0, true});
  write(entry);
  if (before != kNoSet) store_.sets().release(before);
}

void LabelRoutes::erase(std::map<uint32_t, Entry>::iterator at) {
  ++version_;
  (void)table_.set(at->first, lookup::kNoRoute);
  count_devices(at->second.route, -1);
  unwritten_ -= !at->second.written;
  if (at->second.set != kNoSet) store_.sets().release(at->second.set);
  routes_.erase(at);
}

// So that who asks for VRFs each turn walks devices, and not a full table of labels.
void LabelRoutes::count_devices(const LabelRoute& route, int by) {
  for (const NextHop& hop : route.next_hops) {
    if (hop.gateway) continue;
    if ((devices_[hop.ifindex] += by) == 0) devices_.erase(hop.ifindex);
  }
}

void LabelRoutes::write(Entry& entry) {
  const NextHopSets& sets = store_.sets();
  const GroupId own = entry.set == kNoSet ? lookup::kNoRoute : sets.group(entry.set);
  const bool has_own = own != lookup::kNoRoute;
  const bool stored = table_.set(entry.route.label, has_own ? own : store_.overflow_group());
  const bool written = stored && (has_own || entry.set == kNoSet);
  unwritten_ += size_t{entry.written} - size_t{written};
  entry.written = written;
  if (!stored && !std::exchange(told_no_memory_, true))
    store_.log(LogLevel::kWarning,
               "labels: no memory for their table: Linux forwards what comes in with labels");
}

void LabelRoutes::set_switches(const LabelSwitches& switches) {
  if (store_.interfaces().set_label_switches(switches)) store_.interfaces_changed();
  set_explicit_nulls(*this, switches.platform_labels);
}

void LabelRoutes::resync_end() {
  set_explicit_nulls(*this, store_.interfaces().label_switches().platform_labels);
  for (auto at = routes_.begin(); at != routes_.end();) {
    const auto entry = at++;
    if (entry->second.generation != generation_) erase(entry);
  }
}

void LabelRoutes::commit() {
  if (unwritten_ == 0) return;
  for (auto& [label, entry] : routes_)
    if (!entry.written) write(entry);
}

// Or some of its next hops are.
bool LabelRoutes::is_linuxs(const Entry& entry) const {
  if (entry.set == kNoSet) return true;
  const auto punts = [](const lookup::NextHopRecord& record) {
    return record.kind == lookup::RecordKind::kPunt &&
           static_cast<Reason>(record.reason) == Reason::kLocal;
  };
  const NextHopSets& sets = store_.sets();
  const NextHopSets::Set& set = sets.set(entry.set);
  if (set.group == lookup::kNoRoute || set.members.empty())
    return set.group == lookup::kNoRoute || punts(set.now.record);
  return std::any_of(set.members.begin(), set.members.end(),
                     [&](const auto& member) { return punts(sets.set(member.set).now.record); });
}

LabelRouteView LabelRoutes::view(const Entry& entry) const {
  LabelRouteView view;
  view.label = entry.route.label;
  view.protocol = entry.route.protocol;
  view.beyond = entry.route.beyond;
  if (entry.set == kNoSet) return view;
  const NextHopSets& sets = store_.sets();
  const RoutingQueries queries(store_);
  view.group = sets.group(entry.set);
  view.record = store_.next_hops().get(view.group);
  view.next_hops = queries.next_hop_views(entry.set);
  if (view.group == lookup::kNoRoute)
    view.beyond = "no next-hop group was left for it";
  else if (is_linuxs(entry))
    view.beyond = "its next hop is a device, or one of a device, that only Linux sends labels by";
  if (view.record.kind != lookup::RecordKind::kReceive) return view;
  const InterfaceState* const vrf = store_.interfaces().find(InterfaceId(view.record.interface));
  view.received_by = vrf == nullptr ? "lo" : vrf->name;
  return view;
}

std::vector<LabelRouteView> LabelRoutes::list(std::optional<uint32_t> after, size_t limit) const {
  std::vector<LabelRouteView> views;
  auto at = after ? routes_.upper_bound(*after) : routes_.begin();
  for (; at != routes_.end() && views.size() < limit; ++at) views.push_back(view(at->second));
  return views;
}

LabelCounts LabelRoutes::counts() const {
  LabelCounts counts;
  counts.routes = routes_.size();
  for (const auto& [label, entry] : routes_) counts.linuxs += is_linuxs(entry);
  return counts;
}

std::vector<int> LabelRoutes::vrfs() const {
  std::vector<int> found;
  for (const auto& [ifindex, count] : devices_)
    if (store_.interfaces().vrf(ifindex) != nullptr) found.push_back(ifindex);
  return found;
}

}  // namespace hecto::router
