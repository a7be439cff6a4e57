// What Linux says of labels of MPLS that come in: its routes of family AF_MPLS, each with a set of next
// hops as IP's have, and the tables by which workers find their groups.
//
//   LabelRoute ─► NextHopSets (labelled) ─► group ─► LabelTable ─► workers
//
// A label that only Linux can do, or for which no group was left, has the group that punts. Control
// thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "router/rib/label_table.hpp"
#include "router/rib/route_store.hpp"
#include "router/rib/routing_views.hpp"

namespace hecto::router {

class LabelRoutes {
 public:
  // `store` outlives it.
  LabelRoutes(RouteStore& store, const std::vector<int>& sockets, lookup::Memory& memory)
      : store_(store), table_(sockets, memory) {}

  void set(const LabelRoute& route, bool removed);
  void set_switches(const LabelSwitches& switches);
  // What was not said again since resync_begin() is gone.
  void resync_begin() { ++generation_; }
  void resync_end();
  // Belongs behind RouteStore::commit().
  void commit();

  const LabelView* view(int socket) const { return table_.view(socket); }
  // By label, beginning behind `after`.
  std::vector<LabelRouteView> list(std::optional<uint32_t> after, size_t limit) const;
  LabelCounts counts() const;
  // VRFs of Linux that labels lead into, by ifindex.
  std::vector<int> vrfs() const;
  uint64_t version() const { return version_; }  // another one whenever a route is

 private:
  struct Entry {
    LabelRoute route;
    SetId set = kNoSet;  // kNoSet: Linux's
    uint32_t generation = 0;
    bool written = false;  // with the group that it should have
  };
  void write(Entry& entry);
  void erase(std::map<uint32_t, Entry>::iterator at);
  void count_devices(const LabelRoute& route, int by);
  LabelRouteView view(const Entry& entry) const;
  bool is_linuxs(const Entry& entry) const;

  RouteStore& store_;
  LabelTable table_;
  std::map<uint32_t, Entry> routes_;  // by label
  std::map<int, int> devices_;        // by ifindex: how many next hops are it alone
  uint32_t generation_ = 1;
  size_t unwritten_ = 0;
  bool told_no_memory_ = false;
  uint64_t version_ = 0;
};

}  // namespace hecto::router
