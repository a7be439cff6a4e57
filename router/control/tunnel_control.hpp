// Linux's tunnels over IP on their way to the workers: which of them the fast path carries, the
// interfaces that they are, and what is said of the others. docs/tunnels.md.
//
//   Interfaces (netlink) ─► TunnelControl ─► InterfaceControl (gre1 is an interface without a port)
//                                └─────────► ForwardingPlane (TunnelTables)
//
// Control only.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
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
  // Of links, and of tunnels with the same ends: how many tick() has looked at.
  uint64_t looks() const { return looks_; }

 private:
  // By what packets that come in are told to be of a tunnel: GRE's key, or of IP in IP the version inside.
  using EndsKey = std::tuple<bool, IpAddress, IpAddress, uint64_t>;
  using Places = std::vector<std::pair<InterfaceId, InterfaceId>>;  // of a link, and of its device

  static std::vector<EndsKey> keys_of(const LinuxTunnel& tunnel);
  InterfaceId id_of(int ifindex) const;
  Places places_of(const std::vector<LinuxLink>& links) const;
  void configure(const std::vector<LinuxLink>& links);
  TunnelStatus judge(const LinuxLink& link);
  void tell();

  Routing& routing_;
  InterfaceControl& interfaces_;
  ForwardingPlane& plane_;
  uint64_t version_ = 0;             // of the links that workers have
  std::vector<TunnelSetup> setups_;  // likewise
  bool gre_is_known_ = true;
  std::vector<LinuxLink> links_;  // as last configured
  Places places_;                 // likewise
  std::vector<TunnelStatus> status_;
  std::map<EndsKey, size_t> carried_;  // in status_
  std::set<std::string> told_;
  bool told_with_ipsec_ = false;
  uint64_t looks_ = 0;
};

}  // namespace hecto::router
