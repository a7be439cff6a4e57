// A RouteStore with real tables under it, for one client or one part at a time.
#pragma once

#include "router/rib/route_store.hpp"
#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

class StoreBed {
 public:
  explicit StoreBed(uint32_t max_groups = 64) {
    lookup::Memory& memory = lookup::Memory::system();
    lookup::Reclaimer& readers = lookup::Reclaimer::none();
    lookup::FibOptions fib_options;
    fib_options.engine = lookup::Engine::kTrie;
    fib4 = lookup::Fib4::create(fib_options, memory, readers).value();
    fib6 = lookup::Fib6::create(fib_options, memory, readers).value();
    lookup::NextHopOptions next_hop_options;
    next_hop_options.max_groups = max_groups;
    next_hops = lookup::NextHopTable::create(next_hop_options, memory, readers).value();
    RoutingOptions options;
    options.max_groups = max_groups;
    store = std::make_unique<RouteStore>(*fib4, *fib6, *next_hops, options);
  }

  // Interface `id` is ifindex 11 + id.
  void add_interface(InterfaceId id) {
    ASSERT_TRUE(store->interfaces().add(Bed::state(id)));
    store->interfaces_changed();
  }
  Candidate candidate(const Route& route) {
    std::vector<NextHop> next_hops = route.next_hops;
    canonicalize(next_hops);
    return store->make_candidate(route, route.origin, next_hops);
  }
  GroupId group(const std::string& address) const {
    uint32_t destination = ip(address).v4().value;
    GroupId group = 0;
    lookup_batch(fib4->view(0), &destination, &group, 1);
    return group;
  }
  // The prefixes of IPv4 in order, "10.0.0.0/24 192.0.2.0/24".
  std::string prefixes() const {
    std::vector<std::string> words;
    store->main().rib<lookup::Ipv4Address>().walk(
        lookup::Prefix4{}, [&](const lookup::Prefix4& prefix, const auto&) {
          words.push_back(IpPrefix{IpAddress::from(prefix.address), prefix.length}.to_string());
          return true;
        });
    return fmt::format("{}", fmt::join(words, " "));
  }
  uint32_t sets() const { return store->statistics().sets; }

  std::unique_ptr<lookup::Fib4> fib4;
  std::unique_ptr<lookup::Fib6> fib6;
  std::unique_ptr<lookup::NextHopTable> next_hops;
  std::unique_ptr<RouteStore> store;
};

}  // namespace hecto::router::test
