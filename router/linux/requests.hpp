// What the router asks of Linux: addresses, link settings, its file's static routes, neighbors.
//
// Each call waits for the kernel's answer (it acts while the request is being sent, so that is
// microseconds) and gives errors in words: what was asked, the kernel's own explanation
// (NETLINK_EXT_ACK), errno. Control thread only. Duplicate address detection is left as the kernel
// has it (net.ipv6.conf.*.accept_dad = 1): a new IPv6 address answers about a second later unless
// `skip_dad` is asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "router/linux/netlink_exchange.hpp"
#include "router/linux/request_messages.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

struct RouteRequest {
  Route route;
  bool remove = false;
};

struct BatchOutcome {
  size_t done = 0;
  size_t failed = 0;
  struct Failure {
    size_t index;
    Error error;
  };
  std::vector<Failure> failures;  // the first kMaxFailures
  static constexpr size_t kMaxFailures = 16;
};

class NetlinkRequests {
 public:
  static Result<NetlinkRequests> open(const NetworkNamespace& space);

  // 0: no such interface.
  Result<int> ifindex(const std::string& name);
  Result<void> set_link_up(int ifindex, bool up);
  Result<void> set_link_mtu(int ifindex, uint32_t mtu);
  Result<void> set_link_name(int ifindex, const std::string& name);
  Result<void> set_link_mac(int ifindex, const MacAddress& mac);
  Result<void> remove_link(int ifindex);

  // Adding one that is there is no error.
  Result<void> add_address(int ifindex, const lookup::IpPrefix& address, bool skip_dad = false);
  Result<void> remove_address(int ifindex, const lookup::IpPrefix& address);

  // A protocol of 0 becomes kRouteProtocol. Next hops need an ifindex or a gateway.
  Result<void> add_route(const Route& route, RequestMode mode);
  Result<void> remove_route(const Route& route);
  // Many at once, in order; one that fails does not stop the others. An error: the socket failed.
  Result<BatchOutcome> apply(std::span<const RouteRequest> requests, RequestMode mode);

  // Has the kernel resolve or confirm a neighbor (NTF_USE): one that the fast path uses looks idle
  // to Linux, turns STALE, and is never probed otherwise. Creates the entry when there is none.
  Result<void> probe_neighbor(int ifindex, const lookup::IpAddress& address);
  // Tells a bridge that a station was heard on its port (NTF_USE), so that it does not age.
  Result<void> hear_station(int port, uint16_t vlan, const MacAddress& mac);
  Result<void> set_permanent_neighbor(int ifindex, const lookup::IpAddress& address,
                                      const MacAddress& mac);
  Result<void> remove_neighbor(int ifindex, const lookup::IpAddress& address);

 private:
  explicit NetlinkRequests(NetlinkExchange exchange) : exchange_(std::move(exchange)) {}
  Result<void> one(const std::string& what, const std::function<nlmsghdr*(char*)>& build);

  NetlinkExchange exchange_;
};

}  // namespace hecto::router
