#include "base/punt_class.hpp"

#include <array>

namespace hecto {
namespace {

constexpr std::array<PuntClassInfo, kPuntClassCount> kClassInfo = {{
    {"sessions", 0, 20000, "of connections of BGP, LDP and MSDP that Linux has"},
    {"bfd", 0, 2000, "BFD"},
    {"routing", 1, 2000, "OSPF, IS-IS, VRRP, LDP, PIM, RIP, LACP; TCP of known peers"},
    {"neighbor", 1, 1000, "ARP replies, neighbor and router advertisements"},
    {"connections", 2, 5000, "of other connections that Linux has"},
    {"requests", 2, 500, "ARP requests, neighbor and router solicitations, IGMP, MLD"},
    {"ike", 2, 500, "IKE, also behind NAT"},
    {"management", 2, 1000, "TCP to ports on which somebody listens"},
    {"local", 3, 10000, "anything else to the router itself"},
    {"transit", 3, 20000, "what Linux forwards by a device of its own"},
    {"glean", 3, 500, "waits for its neighbor's MAC address"},
    {"strangers", 3, 3, "TCP to routing protocols, from hosts that are no known peers"},
    {"fragments", 3, 500, "fragments to the router itself"},
    {"closed", 3, 200, "to ports at which nobody is"},
    {"ttl", 3, 500, "TTL or hop limit at its end"},
    {"too_big", 3, 200, "longer than the egress MTU"},
    {"no_route", 3, 100, "no route, or one of type unreachable or prohibit"},
    {"options", 3, 200, "IPv4 options or an IPv6 hop-by-hop header"},
    {"broadcast", 3, 500, "broadcast: DHCP"},
    {"link_local", 3, 200, "link-local addresses, not for the router itself"},
    {"multicast", 3, 500, "multicast that is no routing protocol and no neighbor discovery"},
    {"other", 3, 200, "neither ARP nor IP: LLDP, MPLS"},
}};

}  // namespace

const PuntClassInfo& info(PuntClass punt_class) noexcept {
  return kClassInfo[static_cast<size_t>(punt_class)];
}

}  // namespace hecto
