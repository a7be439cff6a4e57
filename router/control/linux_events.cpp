#include "router/control/linux_events.hpp"

#include <utility>
#include <vector>

namespace hecto::router {

LinuxEventFanOut::LinuxEventFanOut(const config::LinuxConfig& config, LinuxEvents& routing,
                                   OnLink on_link, OnNeighbor on_neighbor)
    : config_(config),
      routing_(routing),
      on_link_(std::move(on_link)),
      on_neighbor_(std::move(on_neighbor)) {}

void LinuxEventFanOut::link(const LinuxLink& link, bool removed) {
  if (removed)
    links_.erase(link.ifindex);
  else
    links_[link.ifindex] = {link, resyncs_};
  routing_.link(link, removed);
  on_link_(link, removed);
}

void LinuxEventFanOut::address(const LinuxAddress& address, bool removed) {
  if (config_.mirror_addresses) routing_.address(address, removed);
}

void LinuxEventFanOut::neighbor(const LinuxNeighbor& neighbor, bool removed) {
  if (!config_.mirror_neighbors) return;
  if (!removed && neighbor.usable && !routing_.sends_to(neighbor)) on_neighbor_();
  routing_.neighbor(neighbor, removed);
}

void LinuxEventFanOut::nexthop_object(const NextHopObject& object, bool removed) {
  if (config_.mirror_routes) routing_.nexthop_object(object, removed);
}

// Local and broadcast routes come with the addresses, all others with `routes`.
void LinuxEventFanOut::route(const Route& route, bool removed, bool replace) {
  const bool own = route.type == RouteType::kLocal || route.type == RouteType::kBroadcast;
  if (own ? config_.mirror_addresses : config_.mirror_routes)
    routing_.route(route, removed, replace);
}

void LinuxEventFanOut::label_route(const LabelRoute& route, bool removed) {
  if (config_.mirror_routes) routing_.label_route(route, removed);
}

void LinuxEventFanOut::rule(const PolicyRule& rule, bool removed) {
  if (config_.mirror_routes) routing_.rule(rule, removed);
}

void LinuxEventFanOut::resync_begin(const std::string& why) {
  ++resyncs_;
  resyncing_ = true;
  routing_.resync_begin(why);
}

void LinuxEventFanOut::resync_end() {
  routing_.resync_end();
  if (!std::exchange(resyncing_, false)) return;
  std::vector<LinuxLink> gone;
  for (const auto& [ifindex, known] : links_)
    if (known.resync != resyncs_) gone.push_back(known.link);
  for (const LinuxLink& link : gone) links_.erase(link.ifindex);
  for (const LinuxLink& link : gone) on_link_(link, true);
}

}  // namespace hecto::router
