// Three interfaces of Linux with neighbors, for its own rules.
#pragma once

#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {

class Linux : public testing::Test {
 protected:
  void SetUp() override {
    for (InterfaceId id = 0; id < 3; ++id) bed.add_interface(id);
    for (uint8_t i = 1; i <= 6; ++i) {
      bed.neighbor(11, fmt::format("10.0.0.{}", i), i);
      bed.neighbor(11, fmt::format("fe80::{}", i), i);
    }
  }
  NextHopObject object(uint32_t id, const std::string& gateway) {
    NextHopObject object;
    object.id = id;
    object.next_hop = hop(11, gateway);
    return object;
  }
  Route by_object(const std::string& prefix, uint32_t id) {
    Route route = linux_route(prefix, {});
    route.nexthop_object = id;
    return route;
  }
  Bed bed;
};

}  // namespace hecto::router::test
