// Tells the kernel that policies are in use, so that charon's `inactivity` does not close what
// hectod carries.
//
// No message sets a policy's last use: only looking it up for a packet does. connect() on a UDP or
// raw socket looks it up and sends nothing. IPv4 needs a device without disable_xfrm for it, which
// the twins are not: one of our own, `hecto-use`, without addresses or routes.
// Control thread only. Source: xfrm_lookup_with_ifid(), ip_route_connect().
#pragma once

#include <span>

#include "router/ipsec/esp/selector.hpp"
#include "router/linux/tap.hpp"

namespace hecto::router {

class XfrmUse {
 public:
  static constexpr const char* kDevice = "hecto-use";

  static Result<XfrmUse> open(const NetworkNamespace& space);

  // Outbound selectors whose policy has an SA (without one the kernel would ask for it). How many
  // were looked up; one with ports of a protocol other than UDP is not.
  size_t mark_used(const NetworkNamespace& space, std::span<const IpsecSelector> selectors) const;

 private:
  explicit XfrmUse(Tap device) : device_(std::move(device)) {}

  Tap device_;
};

}  // namespace hecto::router
