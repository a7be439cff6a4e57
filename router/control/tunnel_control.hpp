// Linux's tunnels over IP on their way to the workers: which of them the fast path carries, the
// interfaces that they are, and what is said of the others. docs/tunnels.md.
//
//   Interfaces (netlink) ─► TunnelControl ─► InterfaceControl (gre1 is an interface without a port)
//                                └─────────► ForwardingPlane (TunnelTables)
//
// Control only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "router/dataplane/core/tunnel_tables.hpp"

namespace hecto::router {

class ForwardingPlane;
class InterfaceControl;
class Routing;

struct TunnelStatus {
  std::string name, kind;
  LinuxTunnel tunnel;
  std::string link;     // the device that its packets leave by; empty: by their route
  std::string trouble;  // why it is Linux's alone; empty: it is carried here
};

class TunnelControl {
 public:
  // All outlive it.
  TunnelControl(Routing& routing, InterfaceControl& interfaces, ForwardingPlane& plane)
      : routing_(routing), interfaces_(interfaces), plane_(plane) {}

  void tick();                             // each turn: what has changed
  std::vector<std::string> lines() const;  // what of tunnels the fast path does not carry
  const std::vector<TunnelStatus>& status() const { return status_; }

 private:
  void configure();
  TunnelStatus judge(const LinuxLink& link) const;

  Routing& routing_;
  InterfaceControl& interfaces_;
  ForwardingPlane& plane_;
  uint64_t version_ = 0;             // of the links that workers have
  std::vector<TunnelSetup> setups_;  // likewise
  bool gre_is_known_ = true;
  std::vector<TunnelStatus> status_;
  std::vector<std::string> told_;
};

}  // namespace hecto::router
