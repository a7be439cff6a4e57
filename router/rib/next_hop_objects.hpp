// The kernel's next-hop objects (`ip nexthop`) by their number. Owned by the control thread.
#pragma once

#include <unordered_map>
#include <vector>

#include "router/rib/route.hpp"

namespace hecto::router {

class NextHopObjects {
 public:
  // True when the object is new or something of it changed.
  bool set(const NextHopObject& object, uint16_t generation);
  bool remove(uint32_t id);
  // Those that Linux did not confirm since `generation` began.
  std::vector<uint32_t> stale(uint16_t generation) const;
  const NextHopObject* find(uint32_t id) const;  // nullptr: there is none; number 0 is none

 private:
  struct Entry {
    NextHopObject object;
    uint16_t generation = 0;
  };

  std::unordered_map<uint32_t, Entry> objects_;
};

}  // namespace hecto::router
