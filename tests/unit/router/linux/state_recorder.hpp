// A plain model of the kernel's state, fed by LinuxEvents: what control does with them, naively.
#pragma once

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "router/rib/policy_rules.hpp"

namespace hecto::router {

class StateRecorder : public LinuxEvents {
 public:
  std::function<bool(uint32_t)> names_object;  // none: every object is named

  void link(const LinuxLink& link, bool removed) override {
    update(links, link.ifindex, link, removed);
  }
  void address(const LinuxAddress& address, bool removed) override {
    update(addresses, std::pair(address.ifindex, address.address), address, removed);
  }
  void neighbor(const LinuxNeighbor& neighbor, bool removed) override {
    update(neighbors, std::pair(neighbor.ifindex, neighbor.address), neighbor, removed);
  }
  void nexthop_object(const NextHopObject& object, bool removed) override {
    update(objects, object.id, object, removed);
  }
  void rule(const PolicyRule& told, bool removed) override { rules.rule(told, removed); }
  bool names_nexthop_object(uint32_t id) const override {
    return !names_object || names_object(id);
  }
  void route(const Route& told, bool removed, bool replace) override {
    ++route_events;
    Route route = told;
    route.first = false;  // a place, not a property
    auto& set = routes[key(route)];
    if (removed) {
      remove_route(set, route);
    } else {
      if (replace && !set.empty()) set.pop_front();
      if (route.prefix.address.family == Family::kIpv6) {
        set.remove_if([&](const auto& old) { return grown_into(old.value, route); });
      }
      const auto same = [&](const auto& stamped) { return stamped.value == route; };
      const auto known = std::find_if(set.begin(), set.end(), same);
      const auto revived = std::find_if(set.begin(), set.end(), [&](const auto& stamped) {
        return device_ != 0 && stamped.seen != generation_ && but_for_dead(stamped.value, route);
      });
      if (known != set.end()) {
        known->seen = generation_;
      } else if (revived != set.end()) {
        *revived = {route, generation_};
      } else {
        set.insert(told.first ? set.begin() : set.end(), {route, generation_});
      }
    }
    if (set.empty()) routes.erase(key(route));
  }
  void resync_begin(const std::string& why) override {
    rules.resync_begin();
    ++generation_;
    in_resync = true;
    reasons.push_back(why);
  }
  void device_resync_begin(int ifindex, const std::string& why) override {
    ++generation_;
    in_resync = true;
    reasons.push_back(why);
    device_ = ifindex;
    ++device_resyncs;
  }
  std::vector<int> devices_beside(int ifindex) const override {
    if (!by_device) return {};
    std::set<int> all{ifindex};
    for (const auto& [key, set] : routes) {
      for (const auto& stamped : set) {
        const std::set<int> own = devices(stamped.value);
        if (own.contains(ifindex)) all.insert(own.begin(), own.end());
      }
    }
    return {all.begin(), all.end()};
  }
  void resync_end() override {
    in_resync = false;
    rules.resync_end();
    if (device_ != 0) {
      sweep(objects);
      sweep_routes([&](const Route& route) {
        return route.table == 255 || devices(route).contains(device_) ||
               (route.nexthop_object != 0 && !objects.contains(route.nexthop_object));
      });
      device_ = 0;
      return;
    }
    sweep(links);
    sweep(addresses);
    sweep(neighbors);
    sweep(objects);
    sweep_routes([](const Route&) { return true; });
  }

  const Route* find(const std::string& prefix, uint32_t table = 254) const {
    for (const auto& [key, set] : routes) {
      if (std::get<1>(key) == table && std::get<0>(key) == *IpPrefix::parse(prefix)) {
        return &set.front().value;
      }
    }
    return nullptr;
  }
  const LinuxLink* find_link(const std::string& name) const {
    for (const auto& [ifindex, stamped] : links) {
      if (stamped.value.name == name) return &stamped.value;
    }
    return nullptr;
  }
  // "prefix metric" of every route of a table and family.
  std::set<std::string> route_names(uint32_t table, Family family) const {
    std::set<std::string> names;
    for (const auto& [key, set] : routes) {
      const auto& [prefix, route_table, tos, metric] = key;
      if (route_table != table || prefix.address.family != family) continue;
      names.insert(prefix.to_string() + " " + std::to_string(metric));
    }
    return names;
  }

  template <typename T>
  struct Stamped {
    T value;
    uint64_t seen;
  };
  std::map<int, Stamped<LinuxLink>> links;
  std::map<std::pair<int, IpPrefix>, Stamped<LinuxAddress>> addresses;
  std::map<std::pair<int, IpAddress>, Stamped<LinuxNeighbor>> neighbors;
  std::map<uint32_t, Stamped<NextHopObject>> objects;
  using RouteKey = std::tuple<IpPrefix, uint32_t, uint8_t, uint32_t>;
  std::map<RouteKey, std::list<Stamped<Route>>> routes;
  std::vector<std::string> reasons;
  uint64_t route_events = 0;
  bool in_resync = false;
  PolicyRules rules;
  bool by_device = false;  // resyncs of one device are wanted
  unsigned device_resyncs = 0;

 private:
  static RouteKey key(const Route& route) {
    return {route.prefix, route.table, route.tos, route.metric};
  }
  std::set<int> devices(const Route& route) const {
    std::set<int> found;
    for (const NextHop& hop : route.next_hops) found.insert(hop.ifindex);
    add_devices(route.nexthop_object, found);
    return found;
  }
  void add_devices(uint32_t object, std::set<int>& found) const {
    const auto known = objects.find(object);
    if (known == objects.end()) return;
    const NextHopObject& value = known->second.value;
    if (value.next_hop) found.insert(value.next_hop->ifindex);
    for (const auto& member : value.members) add_devices(member.id, found);
  }
  template <typename Test>
  void sweep_routes(Test concerned) {
    for (auto it = routes.begin(); it != routes.end();) {
      it->second.remove_if([&](const auto& stamped) {
        return stamped.seen != generation_ && concerned(stamped.value);
      });
      it = it->second.empty() ? routes.erase(it) : std::next(it);
    }
  }
  template <typename Map, typename Key, typename Value>
  void update(Map& map, const Key& key, const Value& value, bool removed) {
    if (removed) {
      map.erase(key);
    } else {
      map[key] = {value, generation_};
    }
  }
  template <typename Map>
  void sweep(Map& map) {
    std::erase_if(map, [&](const auto& entry) { return entry.second.seen != generation_; });
  }
  static bool but_for_dead(Route a, Route b) {
    for (Route* route : {&a, &b}) {
      for (NextHop& hop : route->next_hops) hop.dead = false;
    }
    return a == b;
  }
  // The kernel tells an IPv6 route with gateways whole when a next hop is appended.
  static bool grown_into(const Route& old, const Route& fresh) {
    return !old.next_hops.empty() &&
           std::all_of(old.next_hops.begin(), old.next_hops.end(), [&](const NextHop& hop) {
             return hop.gateway && std::any_of(fresh.next_hops.begin(), fresh.next_hops.end(),
                                               [&](const NextHop& now) {
                                                 return now.gateway == hop.gateway &&
                                                        now.ifindex == hop.ifindex;
                                               });
           });
  }
  // An IPv6 removal may name only some of the next hops.
  void remove_route(std::list<Stamped<Route>>& set, const Route& route) {
    for (auto it = set.begin(); it != set.end(); ++it) {
      if (it->value == route || it->value.next_hops == route.next_hops) {
        set.erase(it);
        return;
      }
    }
    for (auto it = set.begin(); it != set.end(); ++it) {
      auto& hops = it->value.next_hops;
      const size_t before = hops.size();
      std::erase_if(hops, [&](const NextHop& hop) {
        return std::any_of(route.next_hops.begin(), route.next_hops.end(),
                           [&](const NextHop& gone) {
                             return gone.gateway == hop.gateway && gone.ifindex == hop.ifindex;
                           });
      });
      if (hops.size() == before) continue;
      if (hops.empty()) set.erase(it);
      return;
    }
  }

  uint64_t generation_ = 0;
  int device_ = 0;  // of the resync under way
};

}  // namespace hecto::router
