#include "router/linux/request_messages.hpp"

#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hecto::router::messages {
namespace {

uint8_t family_of(const IpAddress& address) {
  return address.family == Family::kIpv4 ? AF_INET : AF_INET6;
}

template <typename Header>
Header* begin(char* buffer, uint16_t type, uint16_t flags, nlmsghdr*& message) {
  message = mnl_nlmsg_put_header(buffer);
  message->nlmsg_type = type;
  message->nlmsg_flags = static_cast<uint16_t>(NLM_F_REQUEST | NLM_F_ACK | flags);
  return static_cast<Header*>(mnl_nlmsg_put_extra_header(message, sizeof(Header)));
}

void put_address(nlmsghdr* message, uint16_t type, const IpAddress& address) {
  mnl_attr_put(message, type, address.size(), address.bytes.data());
}

nlmsghdr* begin_link(char* buffer, int ifindex, unsigned flags, unsigned change) {
  nlmsghdr* message = nullptr;
  auto* link = begin<ifinfomsg>(buffer, RTM_SETLINK, 0, message);
  link->ifi_index = ifindex;
  link->ifi_flags = flags;
  link->ifi_change = change;
  return message;
}

// RTA_GATEWAY where the families agree, RTA_VIA where an IPv4 route goes by an IPv6 neighbor.
void put_gateway(nlmsghdr* message, const NextHop& hop, Family family) {
  if (!hop.gateway) return;
  if (hop.gateway->family == family) {
    put_address(message, RTA_GATEWAY, *hop.gateway);
    return;
  }
  std::array<uint8_t, 18> via{};
  const uint16_t via_family = family_of(*hop.gateway);
  std::memcpy(via.data(), &via_family, sizeof via_family);
  std::copy_n(hop.gateway->bytes.begin(), hop.gateway->size(), via.begin() + 2);
  mnl_attr_put(message, RTA_VIA, 2 + hop.gateway->size(), via.data());
}

void put_multipath(nlmsghdr* message, const Route& route, Family family) {
  nlattr* nest = mnl_attr_nest_start(message, RTA_MULTIPATH);
  const size_t count = std::min(route.next_hops.size(), kMaxNextHops);
  for (size_t i = 0; i < count; ++i) {
    const NextHop& hop = route.next_hops[i];
    auto* leg = static_cast<rtnexthop*>(mnl_nlmsg_get_payload_tail(message));
    *leg = {};
    leg->rtnh_ifindex = hop.ifindex;
    leg->rtnh_hops = static_cast<uint8_t>(std::clamp<unsigned>(hop.weight, 1, 256) - 1);
    message->nlmsg_len += static_cast<uint32_t>(sizeof(rtnexthop));
    put_gateway(message, hop, family);
    const auto* end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(message));
    leg->rtnh_len = static_cast<uint16_t>(end - reinterpret_cast<const char*>(leg));
  }
  mnl_attr_nest_end(message, nest);
}

uint8_t type_of(RouteType type) {
  switch (type) {
    case RouteType::kUnicast:
      return RTN_UNICAST;
    case RouteType::kLocal:
      return RTN_LOCAL;
    case RouteType::kBroadcast:
      return RTN_BROADCAST;
    case RouteType::kMulticast:
      return RTN_MULTICAST;
    case RouteType::kBlackhole:
      return RTN_BLACKHOLE;
    case RouteType::kUnreachable:
      return RTN_UNREACHABLE;
    case RouteType::kProhibit:
      return RTN_PROHIBIT;
  }
  return RTN_UNICAST;
}

uint8_t scope_of(const Route& route, bool remove) {
  if (remove) return RT_SCOPE_NOWHERE;
  if (route.type == RouteType::kLocal) return RT_SCOPE_HOST;
  const bool on_link = !route.next_hops.empty() && !route.next_hops.front().gateway;
  return on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
}

uint16_t flags_of(RequestMode mode) {
  return NLM_F_CREATE | (mode == RequestMode::kAdd ? NLM_F_EXCL : NLM_F_REPLACE);
}

}  // namespace

nlmsghdr* link_removal(char* buffer, int ifindex) {
  nlmsghdr* message = nullptr;
  begin<ifinfomsg>(buffer, RTM_DELLINK, 0, message)->ifi_index = ifindex;
  return message;
}

nlmsghdr* link_by_name(char* buffer, const std::string& name) {
  nlmsghdr* message = mnl_nlmsg_put_header(buffer);
  message->nlmsg_type = RTM_GETLINK;
  message->nlmsg_flags = NLM_F_REQUEST;
  mnl_nlmsg_put_extra_header(message, sizeof(ifinfomsg));
  mnl_attr_put_strz(message, IFLA_IFNAME, name.c_str());
  return message;
}

nlmsghdr* link_flags(char* buffer, int ifindex, bool up) {
  return begin_link(buffer, ifindex, up ? IFF_UP : 0, IFF_UP);
}

nlmsghdr* link_mtu(char* buffer, int ifindex, uint32_t mtu) {
  nlmsghdr* message = begin_link(buffer, ifindex, 0, 0);
  mnl_attr_put_u32(message, IFLA_MTU, mtu);
  return message;
}

nlmsghdr* link_name(char* buffer, int ifindex, const std::string& name) {
  nlmsghdr* message = begin_link(buffer, ifindex, 0, 0);
  mnl_attr_put_strz(message, IFLA_IFNAME, name.c_str());
  return message;
}

nlmsghdr* link_mac(char* buffer, int ifindex, const MacAddress& mac) {
  nlmsghdr* message = begin_link(buffer, ifindex, 0, 0);
  mnl_attr_put(message, IFLA_ADDRESS, mac.size(), mac.data());
  return message;
}

nlmsghdr* address(char* buffer, int ifindex, const lookup::IpPrefix& address, bool remove,
                  bool skip_dad) {
  nlmsghdr* message = nullptr;
  const uint16_t flags = remove ? 0 : NLM_F_CREATE | NLM_F_REPLACE;
  auto* header = begin<ifaddrmsg>(buffer, remove ? RTM_DELADDR : RTM_NEWADDR, flags, message);
  header->ifa_family = family_of(address.address);
  header->ifa_prefixlen = address.length;
  header->ifa_index = static_cast<uint32_t>(ifindex);
  if (skip_dad && address.address.family == Family::kIpv6) header->ifa_flags = IFA_F_NODAD;
  put_address(message, IFA_LOCAL, address.address);
  put_address(message, IFA_ADDRESS, address.address);
  return message;
}

nlmsghdr* route(char* buffer, const Route& route, bool remove, RequestMode mode) {
  nlmsghdr* message = nullptr;
  const uint16_t flags = remove ? 0 : flags_of(mode);
  auto* header = begin<rtmsg>(buffer, remove ? RTM_DELROUTE : RTM_NEWROUTE, flags, message);
  const IpPrefix& prefix = route.prefix;
  header->rtm_family = family_of(prefix.address);
  header->rtm_dst_len = prefix.length;
  header->rtm_tos = route.tos;
  header->rtm_table =
      route.table < 256 ? static_cast<uint8_t>(route.table) : uint8_t{RT_TABLE_UNSPEC};
  header->rtm_protocol = route.protocol != 0 ? route.protocol : kRouteProtocol;
  header->rtm_scope = scope_of(route, remove);
  header->rtm_type = type_of(route.type);
  if (route.table >= 256) mnl_attr_put_u32(message, RTA_TABLE, route.table);
  if (prefix.length != 0) put_address(message, RTA_DST, prefix.address);
  if (route.metric != 0) mnl_attr_put_u32(message, RTA_PRIORITY, route.metric);
  if (route.nexthop_object != 0) {
    mnl_attr_put_u32(message, RTA_NH_ID, route.nexthop_object);
  } else if (route.next_hops.size() == 1) {
    const NextHop& hop = route.next_hops.front();
    put_gateway(message, hop, prefix.address.family);
    if (hop.ifindex > 0) mnl_attr_put_u32(message, RTA_OIF, static_cast<uint32_t>(hop.ifindex));
  } else if (!route.next_hops.empty()) {
    put_multipath(message, route, prefix.address.family);
  }
  return message;
}

nlmsghdr* neighbor(char* buffer, int ifindex, const IpAddress& address, uint16_t type,
                   const MacAddress* permanent_mac) {
  nlmsghdr* message = nullptr;
  uint16_t flags = 0;
  if (type == RTM_NEWNEIGH) flags = permanent_mac ? NLM_F_CREATE | NLM_F_REPLACE : NLM_F_CREATE;
  auto* header = begin<ndmsg>(buffer, type, flags, message);
  header->ndm_family = family_of(address);
  header->ndm_ifindex = ifindex;
  put_address(message, NDA_DST, address);
  if (permanent_mac) {
    header->ndm_state = NUD_PERMANENT;
    mnl_attr_put(message, NDA_LLADDR, permanent_mac->size(), permanent_mac->data());
  } else if (type == RTM_NEWNEIGH) {
    header->ndm_flags = NTF_USE;
  }
  return message;
}

nlmsghdr* fdb_use(char* buffer, int port, uint16_t vlan, const MacAddress& mac) {
  nlmsghdr* message = nullptr;
  auto* header = begin<ndmsg>(buffer, RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, message);
  header->ndm_family = AF_BRIDGE;
  header->ndm_ifindex = port;
  header->ndm_state = NUD_REACHABLE;
  header->ndm_flags = NTF_USE | NTF_MASTER;
  mnl_attr_put(message, NDA_LLADDR, mac.size(), mac.data());
  if (vlan != 0) mnl_attr_put_u16(message, NDA_VLAN, vlan);
  return message;
}

}  // namespace hecto::router::messages
