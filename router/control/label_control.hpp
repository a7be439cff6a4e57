// Labels of MPLS on their way to the workers: Linux's switches (net.mpls), the VRFs that labels lead
// into, which are interfaces then, and what is said of what the fast path does not carry. docs/mpls.md.
//
//   LabelRoutes (netlink), net.mpls ─► LabelControl ─► InterfaceControl (red is an interface without port)
//                                           └────────► ForwardingPlane (whether labels are looked at)
//
// Control only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "router/rib/routing_views.hpp"

namespace hecto::router {

class ForwardingPlane;
class InterfaceControl;
class LinuxSide;
class Routing;

class LabelControl {
 public:
  // All outlive it.
  LabelControl(Routing& routing, InterfaceControl& interfaces, ForwardingPlane& plane,
               LinuxSide& linux_side)
      : routing_(routing), interfaces_(interfaces), plane_(plane), linux_(linux_side) {}

  void tick();                             // each turn: what has changed
  void tick_second();                      // Linux's switches
  std::vector<std::string> lines() const;  // what of labels the fast path does not carry
  const LabelSwitches& switches() const { return switches_; }

 private:
  void adopt_vrfs();

  Routing& routing_;
  InterfaceControl& interfaces_;
  ForwardingPlane& plane_;
  LinuxSide& linux_;
  LabelSwitches switches_;
  bool known_ = false;  // the switches have been read
  bool on_ = false;
  uint64_t labels_version_ = 0, links_version_ = 0;
  std::vector<std::string> refused_;  // VRFs that could not be made interfaces, a line each
  std::vector<std::string> told_;
};

}  // namespace hecto::router
