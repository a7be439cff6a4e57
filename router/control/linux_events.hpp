// What the netlink mirror reads, on its way to those who follow it: links to Routing and then to
// the interfaces, all else to Routing, as far as the configuration wants it mirrored.
//
//   NetlinkMirror ─► LinuxEventFanOut ─► Routing ─► (links) InterfaceControl ─► RouteControl
//
// Control only.
#pragma once

#include "config/file/config.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

class InterfaceControl;
class RouteControl;

class LinuxEventFanOut final : public LinuxEvents {
 public:
  LinuxEventFanOut(const config::LinuxConfig& config, LinuxEvents& routing,
                   InterfaceControl& interfaces, RouteControl& routes)
      : config_(config), routing_(routing), interfaces_(interfaces), routes_(routes) {}

  void link(const LinuxLink& link, bool removed) override { routing_.link(link, removed); }
  // After Routing has looked at it, also of links that a resync did not confirm.
  void follow_link(const LinuxLink& link, bool removed);
  void address(const LinuxAddress& address, bool removed) override;
  void neighbor(const LinuxNeighbor& neighbor, bool removed) override;
  void nexthop_object(const NextHopObject& object, bool removed) override;
  void route(const Route& route, bool removed, bool replace) override;
  void resync_begin(const std::string& why) override { routing_.resync_begin(why); }
  void resync_end() override { routing_.resync_end(); }

 private:
  const config::LinuxConfig config_;
  LinuxEvents& routing_;
  InterfaceControl& interfaces_;
  RouteControl& routes_;
};

}  // namespace hecto::router
