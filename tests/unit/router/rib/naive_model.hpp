// The routing's naive twin: keeps what was said in plain lists and works every answer out anew.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

// A route's identity.
struct Slot {
  IpPrefix prefix;
  RouteOrigin origin;
  uint32_t table;
  uint32_t metric;
  auto operator<=>(const Slot&) const = default;
};

struct NaiveModel {
  std::map<Slot, Route> routes;
  std::map<std::pair<int, IpAddress>, LinuxNeighbor> neighbors;
  std::map<uint32_t, NextHopObject> objects;
  std::map<int, bool> interfaces;  // ours, by ifindex: up

  struct Leaf {
    std::string words;
    bool alive = true;
  };

  Leaf leaf(const NextHop& hop) const {
    if (hop.dead) return {"drop interface_down", false};
    auto interface = interfaces.find(hop.ifindex);
    if (interface == interfaces.end()) return {"punt local"};
    if (!interface->second) return {"drop interface_down", false};
    if (!hop.gateway) return {"punt glean"};
    auto neighbor = neighbors.find({hop.ifindex, *hop.gateway});
    if (neighbor == neighbors.end() || !neighbor->second.usable) return {"punt glean"};
    return {fmt::format("if{} {:02x}", hop.ifindex - 11, neighbor->second.mac[5])};
  }

  Leaf object_leaf(uint32_t id) const {
    auto object = objects.find(id);
    if (object == objects.end()) return {"punt no_route", false};
    if (object->second.blackhole) return {"drop blackhole"};
    if (object->second.next_hop) return leaf(*object->second.next_hop);
    return {"punt no_route", false};
  }

  static std::string several(const std::vector<Leaf>& leaves) {
    std::set<std::string> words;
    bool any = std::any_of(leaves.begin(), leaves.end(), [](const Leaf& l) { return l.alive; });
    for (const Leaf& l : leaves) {
      if (l.alive || !any) words.insert(l.words);
    }
    return fmt::format("{{{}}}", fmt::join(words, " | "));
  }

  std::string verdict(const Route& route) const {
    switch (route.type) {
      case RouteType::kLocal:
        return "punt local";
      case RouteType::kBlackhole:
        return "drop blackhole";
      case RouteType::kUnreachable:
        return "punt unreachable";
      default:
        break;
    }
    std::vector<Leaf> leaves;
    if (route.nexthop_object != 0) {
      auto object = objects.find(route.nexthop_object);
      if (object == objects.end() || object->second.members.empty()) {
        return object_leaf(route.nexthop_object).words;
      }
      for (const auto& member : object->second.members) {
        auto inner = objects.find(member.id);
        if (inner != objects.end() && !inner->second.members.empty()) continue;
        leaves.push_back(object_leaf(member.id));
      }
      return leaves.empty() ? "punt no_route" : several(leaves);
    }
    if (route.next_hops.size() == 1) return leaf(route.next_hops[0]).words;
    for (const NextHop& hop : route.next_hops) {
      Leaf l = leaf(hop);
      if (hop.dead) {
        NextHop living = hop;
        living.dead = false;
        l = {leaf(living).words, false};
      }
      leaves.push_back(l);
    }
    return several(leaves);
  }

  const Route* best(const IpAddress& address) const {
    const Route* best = nullptr;
    auto rank = [](const Route& route) {
      return std::tuple(255 - route.prefix.length, 255 - route.table, route.metric, route.origin);
    };
    for (const auto& [slot, route] : routes) {
      if (!route.prefix.contains(address)) continue;
      if (best == nullptr || rank(route) < rank(*best)) best = &route;
    }
    return best;
  }

  bool on_link(const Route& route, int ifindex) const {
    auto is = [ifindex](const NextHop& hop) {
      return hop.ifindex == ifindex && !hop.gateway && !hop.dead;
    };
    if (route.type != RouteType::kUnicast || !interfaces.contains(ifindex)) return false;
    if (route.nexthop_object == 0) {
      return std::any_of(route.next_hops.begin(), route.next_hops.end(), is);
    }
    auto single = [&](uint32_t id) {
      auto object = objects.find(id);
      return object != objects.end() && object->second.next_hop && is(*object->second.next_hop);
    };
    auto object = objects.find(route.nexthop_object);
    if (object == objects.end()) return false;
    const auto& members = object->second.members;
    return single(route.nexthop_object) ||
           std::any_of(members.begin(), members.end(),
                       [&](const auto& member) { return single(member.id); });
  }

  std::string verdict(const IpAddress& address) const {
    const Route* route = best(address);
    if (route == nullptr) return "punt no_route";
    for (const auto& [ifindex, up] : interfaces) {
      auto neighbor = neighbors.find({ifindex, address});
      if (neighbor == neighbors.end() || !neighbor->second.usable) continue;
      if (on_link(*route, ifindex)) return leaf(hop(ifindex, address.to_string())).words;
    }
    return verdict(*route);
  }
};

}  // namespace hecto::router::test
