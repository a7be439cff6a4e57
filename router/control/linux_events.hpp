// What the netlink mirror reads, on its way to those who follow it: all of it to routing, as far as
// the configuration wants it mirrored, and links then to the interfaces. Routing has looked at a
// link before the interfaces do, which may add, update and remove interfaces there.
//
//   NetlinkMirror ─► LinuxEventFanOut ─► Routing ─► (links) InterfaceControl ─► RouteControl
//
// A link that a resync does not repeat is told as removed, behind routing's own sweep.
//
// Control only. What is named in the constructor outlives it.
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "config/file/config.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

class LinuxEventFanOut final : public LinuxEvents {
 public:
  // Called for every link of Linux, also of those that are no interface of ours.
  using OnLink = std::function<void(const LinuxLink& link, bool removed)>;

  // Called before routing hears of a neighbor that can be sent to.
  using OnNeighbor = std::function<void()>;

  LinuxEventFanOut(
      const config::LinuxConfig& config, LinuxEvents& routing, OnLink on_link,
      OnNeighbor on_neighbor = [] {});

  void link(const LinuxLink& link, bool removed) override;
  void address(const LinuxAddress& address, bool removed) override;
  void neighbor(const LinuxNeighbor& neighbor, bool removed) override;
  void bridge_port(int ifindex, const LinuxBridgePort& port) override {
    routing_.bridge_port(ifindex, port);
  }
  void bridge_vlans(const LinuxBridgeVlans& vlans, bool removed) override {
    routing_.bridge_vlans(vlans, removed);
  }
  void fdb_entry(const LinuxFdbEntry& entry, bool removed) override {
    routing_.fdb_entry(entry, removed);
  }
  void nexthop_object(const NextHopObject& object, bool removed) override;
  bool names_nexthop_object(uint32_t id) const override {
    return routing_.names_nexthop_object(id);
  }
  void route(const Route& route, bool removed, bool replace) override;
  void label_route(const LabelRoute& route, bool removed) override;
  void rule(const PolicyRule& rule, bool removed) override;
  void resync_begin(const std::string& why) override;
  void device_resync_begin(int ifindex, const std::string& why) override {
    routing_.device_resync_begin(ifindex, why);  // links are not read
  }
  void resync_end() override;
  std::vector<int> devices_beside(int ifindex) const override {
    return routing_.devices_beside(ifindex);
  }

 private:
  struct Known {
    LinuxLink link;
    uint32_t resync;  // in which it was told last
  };

  const config::LinuxConfig config_;
  LinuxEvents& routing_;
  const OnLink on_link_;
  const OnNeighbor on_neighbor_;
  std::unordered_map<int, Known> links_;  // by ifindex
  uint32_t resyncs_ = 0;
  bool resyncing_ = false;
};

}  // namespace hecto::router
