// The bytes of what the router asks of Linux (requests.hpp): each function writes one rtnetlink
// message into a buffer of kMessageBytes, aligned for nlmsghdr, and gives its header. No state;
// thread-safe. Layouts: linux/rtnetlink.h, linux/if_link.h, linux/if_addr.h, linux/neighbour.h.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "router/rib/route.hpp"

namespace hecto::router {

// rtm_protocol of what hectod itself puts into Linux (`ip route show proto 100`), free in
// rtnetlink.h and in iproute2's rt_protos.
inline constexpr uint8_t kRouteProtocol = 100;

enum class RequestMode : uint8_t {
  kAdd,      // EEXIST when it is there already
  kReplace,  // whatever is there
};

namespace messages {

// The largest message that the builders below make: a route of kMaxNextHops.
inline constexpr size_t kMaxNextHops = 256;
inline constexpr size_t kMessageBytes = 16384;

nlmsghdr* link_by_name(char* buffer, const std::string& name);  // RTM_GETLINK
nlmsghdr* link_flags(char* buffer, int ifindex, bool up);
nlmsghdr* link_mtu(char* buffer, int ifindex, uint32_t mtu);
nlmsghdr* link_name(char* buffer, int ifindex, const std::string& name);
nlmsghdr* link_mac(char* buffer, int ifindex, const MacAddress& mac);
nlmsghdr* link_removal(char* buffer, int ifindex);
nlmsghdr* address(char* buffer, int ifindex, const lookup::IpPrefix& address, bool remove,
                  bool skip_dad);
// `route.next_hops` may hold at most kMaxNextHops; more are left out.
nlmsghdr* route(char* buffer, const Route& route, bool remove, RequestMode mode);
nlmsghdr* neighbor(char* buffer, int ifindex, const lookup::IpAddress& address, uint16_t type,
                   const MacAddress* permanent_mac);

nlmsghdr* fdb_use(char* buffer, int port, uint16_t vlan, const MacAddress& mac);

}  // namespace messages
}  // namespace hecto::router
