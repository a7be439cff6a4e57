// Random events against the naive twin.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>

#include "tests/beds/seed.hpp"
#include "tests/unit/router/rib/naive_model.hpp"
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

namespace {

constexpr int kInterfaces = 4;

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t below(uint64_t n) { return engine_() % n; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::mt19937_64 engine_;
};

class Differential {
 public:
  explicit Differential(uint64_t seed) : bed(4096, 0, readers), random(seed) {
    readers.lag = seed % 3 * 20;
    for (InterfaceId id = 0; id < kInterfaces; ++id) set_interface(id, true);
  }

  void step() {
    switch (random.below(12)) {
      case 0:
      case 1:
      case 2:
        return add_linux();
      case 3:
        return remove_some(RouteOrigin::kLinux);
      case 4:
        return add_api();
      case 5:
        return remove_some(RouteOrigin::kApi);
      case 6:
      case 7:
        return change_neighbor();
      case 8:
        return change_object();
      case 9:
        return change_link();
      case 10:
        return random.chance(20) ? change_interface() : change_neighbor();
      default:
        return random.chance(10) ? resync() : add_linux();
    }
  }

  void check() {
    bed.routing->commit();
    for (int i = 0; i < 24; ++i) {
      IpAddress address = some_address();
      ASSERT_EQ(bed.verdict(address), model.verdict(address)) << address.to_string();
      Explanation explanation = bed.routing->explain(address);
      ASSERT_EQ(explanation.group ? explanation.group->group : lookup::kNoRoute,
                bed.group(address));
    }
  }

  void clear() {
    while (!model.routes.empty()) {
      Route route = model.routes.begin()->second;
      model.routes.erase(model.routes.begin());
      take_out(route);
    }
    bed.routing->commit();
  }

  LateReaders readers;
  Bed bed;

 private:
  // Few enough that they meet.
  IpAddress some_address() {
    if (random.chance(70)) {
      return ip(fmt::format("10.{}.{}.{}", random.below(3), random.below(3), random.below(6)));
    }
    return ip(fmt::format("2001:db8:{}::{}", random.below(3), random.below(6)));
  }
  IpPrefix some_prefix() {
    IpPrefix prefix{some_address(), 0};
    static constexpr uint8_t kLengths4[] = {8, 16, 24, 24, 30, 32};
    static constexpr uint8_t kLengths6[] = {32, 48, 48, 64, 126, 128};
    prefix.length = prefix.address.family == Family::kIpv4 ? kLengths4[random.below(6)]
                                                           : kLengths6[random.below(6)];
    return prefix.network();
  }
  int some_ifindex() { return 11 + static_cast<int>(random.below(kInterfaces + 1)); }
  NextHop some_hop(Family family, bool gateway) {
    NextHop next = hop(some_ifindex());
    IpAddress address = some_address();
    while (address.family != family) address = some_address();
    if (gateway) next.gateway = address;
    next.dead = random.chance(5);
    return next;
  }
  std::vector<NextHop> some_hops(Family family) {
    if (random.chance(30)) return {some_hop(family, false)};
    std::vector<NextHop> hops(1 + random.below(3));
    for (NextHop& next : hops) {
      next = some_hop(family, true);
      next.weight = static_cast<uint16_t>(1 + random.below(3));
    }
    // Linux keeps no two alike.
    canonicalize(hops);
    for (size_t i = 1; i < hops.size(); ++i) {
      if (hops[i].gateway == hops[i - 1].gateway && hops[i].ifindex == hops[i - 1].ifindex) {
        hops.resize(1);
        hops[0].weight = 1;
      }
    }
    return hops;
  }

  void add_linux() {
    Route route;
    route.prefix = some_prefix();
    route.metric = static_cast<uint32_t>(random.below(2)) * 10;
    route.protocol = 186;
    switch (random.below(10)) {
      case 0:
        route.type = random.chance(50) ? RouteType::kBlackhole : RouteType::kUnreachable;
        break;
      case 1:
        route.type = RouteType::kLocal;
        route.table = kTableLocal;
        break;
      case 2:
      case 3:
        route.nexthop_object = static_cast<uint32_t>(1 + random.below(5));
        break;
      default:
        route.next_hops = some_hops(route.prefix.address.family);
    }
    auto [found, fresh] = model.routes.insert_or_assign(slot(route), route);
    bed.add(route, !fresh);
  }
  void add_api() {
    Route route;
    route.prefix = some_prefix();
    route.origin = RouteOrigin::kApi;
    route.protocol = 4;
    route.metric = static_cast<uint32_t>(random.below(2)) * 10;
    route.next_hops = some_hops(route.prefix.address.family);
    auto added = bed.routing->add(route);
    ASSERT_TRUE(added) << added.error().message;
    if (route.prefix.address.family == Family::kIpv6 && route.metric == 0) route.metric = 1024;
    model.routes.insert_or_assign(slot(route), route);
  }
  void remove_some(RouteOrigin origin) {
    if (model.routes.empty()) return;
    auto at = model.routes.begin();
    std::advance(at, static_cast<ptrdiff_t>(random.below(model.routes.size())));
    Route route = at->second;
    if (route.origin != origin) return;
    bool partial = route.prefix.address.family == Family::kIpv6 && route.next_hops.size() > 1 &&
                   origin == RouteOrigin::kLinux && random.chance(50);
    if (!partial) {
      model.routes.erase(at);
      return take_out(route);
    }
    std::vector<NextHop> gone = {route.next_hops.back()};
    at->second.next_hops.pop_back();
    route.next_hops = gone;
    bed.remove(route);
  }
  void take_out(const Route& route) {
    if (route.origin == RouteOrigin::kLinux) {
      bed.remove(route);
    } else {
      ASSERT_TRUE(bed.routing->remove(route));
    }
  }

  void change_neighbor() {
    LinuxNeighbor neighbor;
    neighbor.ifindex = some_ifindex();
    neighbor.address = some_address();
    neighbor.mac = mac(static_cast<uint8_t>(random.below(200)));
    neighbor.usable = random.chance(75);
    std::pair key(neighbor.ifindex, neighbor.address);
    bool removed = random.chance(25);
    if (removed) {
      model.neighbors.erase(key);
    } else {
      // One address, one interface: which of two would win is nobody's promise.
      for (const auto& [other, value] : model.neighbors) {
        if (other.second == neighbor.address && other.first != neighbor.ifindex) return;
      }
      model.neighbors[key] = neighbor;
    }
    bed.routing->neighbor(neighbor, removed);
  }

  void change_object() {
    NextHopObject object;
    object.id = static_cast<uint32_t>(1 + random.below(5));
    if (random.chance(25)) {
      model.objects.erase(object.id);
      bed.routing->nexthop_object(object, true);
      return;
    }
    if (object.id > 3) {
      for (uint32_t id = 1; id <= 5; ++id) {
        if (random.chance(50)) object.members.push_back({id, uint16_t(1 + random.below(3))});
      }
      if (object.members.empty()) object.members.push_back({1, 1});
    } else if (random.chance(10)) {
      object.blackhole = true;
    } else {
      object.next_hop = some_hop(Family::kIpv4, random.chance(70));
    }
    model.objects[object.id] = object;
    bed.routing->nexthop_object(object, false);
  }

  void set_interface(InterfaceId id, bool present) {
    int ifindex = 11 + id;
    if (present) {
      bed.add_interface(id);
      links.try_emplace(ifindex, true);
      model.interfaces[ifindex] = links[ifindex];
    } else {
      ASSERT_TRUE(bed.routing->remove_interface(id));
      model.interfaces.erase(ifindex);
    }
  }
  void change_interface() {
    auto id = static_cast<InterfaceId>(random.below(kInterfaces));
    set_interface(id, !model.interfaces.contains(11 + id));
  }
  void change_link() {
    auto id = static_cast<InterfaceId>(random.below(kInterfaces));
    bool up = random.chance(70);
    links[11 + id] = up;
    if (model.interfaces.contains(11 + id)) model.interfaces[11 + id] = up;
    bed.link(id, up);
  }

  // Linux changed while nobody listened, and is read anew in any order.
  void resync() {
    std::erase_if(model.routes, [this](const auto& entry) {
      return entry.second.origin == RouteOrigin::kLinux && random.chance(20);
    });
    std::erase_if(model.neighbors, [this](const auto&) { return random.chance(20); });
    std::erase_if(model.objects, [this](const auto&) { return random.chance(20); });
    bed.routing->resync_begin("a test");
    for (const auto& [ifindex, up] : links) bed.link(static_cast<InterfaceId>(ifindex - 11), up);
    for (const auto& [key, neighbor] : model.neighbors) bed.routing->neighbor(neighbor, false);
    for (const auto& [id, object] : model.objects) bed.routing->nexthop_object(object, false);
    for (const auto& [slot, route] : model.routes) {
      if (route.origin == RouteOrigin::kLinux) bed.add(route);
    }
    bed.routing->resync_end();
  }

  static Slot slot(const Route& route) {
    return {route.prefix, route.origin, route.table, route.metric};
  }

  NaiveModel model;
  Random random;
  std::map<int, bool> links;
};

}  // namespace

TEST(RoutingDifferential, AgreesWithTheNaiveModel) {
  uint64_t start = test_seed();
  for (uint64_t round = 0; round < 8; ++round) {
    SCOPED_TRACE(fmt::format("HECTO_TEST_SEED={} round {}", start, round));
    Differential test(start + round);
    for (int step = 0; step < 600; ++step) {
      test.step();
      test.check();
      if (testing::Test::HasFatalFailure()) return;
    }
    EXPECT_EQ(test.bed.routing->statistics().unmatched_removals, 0u);
    test.clear();
    EXPECT_EQ(test.bed.routing->counts().total, 0u);
    EXPECT_EQ(test.bed.routing->statistics().sets, 0u) << "a set leaked";
  }
}

}  // namespace hecto::router::test
