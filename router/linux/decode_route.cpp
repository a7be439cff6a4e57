#include "router/linux/decode_route.hpp"

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "router/linux/decode_labels.hpp"

namespace hecto::router {
namespace {

// The attributes that a route and each leg of its RTA_MULTIPATH share.
struct Leg {
  NextHop hop;
  Encapsulation encapsulation;
};

struct RouteAttributes {
  std::optional<IpAddress> destination;
  Bytes multipath;
  uint32_t table = 0;
  Leg leg;
};

bool read_via(Bytes payload, NextHop& hop) {
  const auto family = read_pod<uint16_t>(payload);
  if (!family) return false;
  hop.gateway = read_address(payload.subspan(sizeof(uint16_t)), *family);
  return hop.gateway.has_value();
}

// False: the attribute is malformed.
bool read_leg_attribute(const Attribute& attribute, int family, Leg& leg) {
  switch (attribute.type) {
    case RTA_GATEWAY:
      leg.hop.gateway = read_address(attribute.payload, family);
      return leg.hop.gateway.has_value();
    case RTA_VIA:
      return read_via(attribute.payload, leg.hop);
    case RTA_ENCAP_TYPE:
      leg.encapsulation.type = attribute.as<uint16_t>().value_or(0);
      return true;
    case RTA_ENCAP:
      leg.encapsulation.bytes = attribute.payload;
      return true;
    default:
      return true;
  }
}

// Of RTA_METRICS only RTAX_MTU. Linux forwards by it whether it is locked or not: IPv4 in
// ip_dst_mtu_maybe_forward(), IPv6 in ip6_fragment().
bool read_metrics(Bytes payload, Route& route) {
  AttributeWalker walker(payload);
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != RTAX_MTU) continue;
    const uint32_t mtu = attribute.as<uint32_t>().value_or(0);
    route.mtu = static_cast<uint16_t>(std::min<uint32_t>(mtu, UINT16_MAX));
  }
  return !walker.malformed();
}

bool is_dead(unsigned flags) {
  return (flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)) != 0;
}

// `encapsulated`: in a way that only Linux can do (SRv6, ...). False: it is malformed.
bool finish(Leg& leg, bool& encapsulated) {
  const Decoded read = read_encapsulation(leg.encapsulation, leg.hop.labels);
  encapsulated |= read == Decoded::kIgnored;
  return read != Decoded::kMalformed;
}

bool read_multipath(Bytes bytes, int family, std::vector<NextHop>& hops, bool& encapsulated) {
  while (!bytes.empty()) {
    const auto header = read_pod<rtnexthop>(bytes);
    if (!header || header->rtnh_len < sizeof(rtnexthop) || header->rtnh_len > bytes.size()) {
      return false;
    }
    Leg leg;
    leg.hop.ifindex = header->rtnh_ifindex;
    leg.hop.weight = static_cast<uint16_t>(header->rtnh_hops + 1);
    leg.hop.dead = is_dead(header->rtnh_flags);
    AttributeWalker walker(bytes.subspan(sizeof(rtnexthop), header->rtnh_len - sizeof(rtnexthop)));
    Attribute attribute;
    while (walker.next(attribute)) {
      if (!read_leg_attribute(attribute, family, leg)) return false;
    }
    if (walker.malformed() || !finish(leg, encapsulated)) return false;
    hops.push_back(leg.hop);
    const size_t step = RTNH_ALIGN(static_cast<size_t>(header->rtnh_len));
    bytes = step < bytes.size() ? bytes.subspan(step) : Bytes{};
  }
  return !hops.empty();
}

std::optional<RouteType> route_type(uint8_t type) {
  switch (type) {
    case RTN_UNICAST:
    case RTN_THROW:  // without next hops: as if the table had none for it
      return RouteType::kUnicast;
    case RTN_LOCAL:
    case RTN_ANYCAST:
      return RouteType::kLocal;
    case RTN_BROADCAST:
      return RouteType::kBroadcast;
    case RTN_MULTICAST:
      return RouteType::kMulticast;
    case RTN_BLACKHOLE:
      return RouteType::kBlackhole;
    case RTN_UNREACHABLE:
      return RouteType::kUnreachable;
    case RTN_PROHIBIT:
      return RouteType::kProhibit;
    default:
      return std::nullopt;  // nat, xresolve
  }
}

bool drops(RouteType type) {
  return type == RouteType::kBlackhole || type == RouteType::kUnreachable ||
         type == RouteType::kProhibit;
}

Decoded read_attributes(const Message& message, int family, RouteAttributes& seen, Route& route) {
  AttributeWalker walker(message.body.subspan(sizeof(rtmsg)));
  Attribute attribute;
  while (walker.next(attribute)) {
    switch (attribute.type) {
      case RTA_TABLE:
        seen.table = attribute.as<uint32_t>().value_or(seen.table);
        break;
      case RTA_DST:
        seen.destination = read_address(attribute.payload, family);
        if (!seen.destination) return Decoded::kMalformed;
        break;
      case RTA_PRIORITY:
        route.metric = attribute.as<uint32_t>().value_or(0);
        break;
      case RTA_METRICS:
        if (!read_metrics(attribute.payload, route)) return Decoded::kMalformed;
        break;
      case RTA_NH_ID:
        route.nexthop_object = attribute.as<uint32_t>().value_or(0);
        break;
      case RTA_OIF:
        seen.leg.hop.ifindex = attribute.as<int32_t>().value_or(0);
        break;
      case RTA_MULTIPATH:
        seen.multipath = attribute.payload;
        break;
      default:
        if (!read_leg_attribute(attribute, family, seen.leg)) return Decoded::kMalformed;
    }
  }
  return walker.malformed() ? Decoded::kMalformed : Decoded::kEvent;
}

// Host bits behind the length are cleared, whatever the sender left there.
void set_prefix(const RouteAttributes& seen, int family, uint8_t length, Route& route) {
  route.prefix.length = length;
  route.prefix.address = seen.destination.value_or(IpAddress{});
  route.prefix.address.family = family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  auto& bytes = route.prefix.address.bytes;
  const size_t whole = length / 8;
  if (length % 8 != 0) bytes[whole] &= static_cast<uint8_t>(0xff << (8 - length % 8));
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(whole + (length % 8 != 0)), bytes.end(),
            uint8_t{0});
}

}  // namespace

Decoded decode_route(const Message& message, RouteEvent& out) {
  const auto header = read_pod<rtmsg>(message.body);
  if (!header) return Decoded::kMalformed;
  const int family = header->rtm_family;
  if (family != AF_INET && family != AF_INET6) return Decoded::kIgnored;
  if ((header->rtm_flags & RTM_F_CLONED) != 0) return Decoded::kIgnored;
  if (header->rtm_dst_len > (family == AF_INET ? 32 : 128)) return Decoded::kMalformed;
  const auto type = route_type(header->rtm_type);
  if (!type || header->rtm_src_len != 0) return Decoded::kIgnored;

  Route& route = out.route;
  route.next_hops.clear();
  route.origin = RouteOrigin::kLinux;
  route.type = *type;
  route.protocol = header->rtm_protocol;
  route.tos = header->rtm_tos;
  route.metric = 0;
  route.mtu = 0;
  route.nexthop_object = 0;
  RouteAttributes seen;
  seen.table = header->rtm_table;
  const Decoded result = read_attributes(message, family, seen, route);
  if (result != Decoded::kEvent) return result;
  if (header->rtm_dst_len != 0 && !seen.destination) return Decoded::kMalformed;

  // Table 0 is an IPv4 request's "main"; in IPv6 it holds the kernel's own null entry.
  if (seen.table == RT_TABLE_UNSPEC && family == AF_INET) seen.table = RT_TABLE_MAIN;
  if (seen.table == RT_TABLE_UNSPEC) return Decoded::kIgnored;
  route.table = seen.table;
  set_prefix(seen, family, header->rtm_dst_len, route);

  bool encapsulated = false;
  if (!finish(seen.leg, encapsulated)) return Decoded::kMalformed;
  const bool thrown = header->rtm_type == RTN_THROW;
  if (route.nexthop_object == 0 && !drops(route.type) && !thrown) {
    if (!seen.multipath.empty()) {
      if (!read_multipath(seen.multipath, family, route.next_hops, encapsulated)) {
        return Decoded::kMalformed;
      }
    } else if (seen.leg.hop.ifindex > 0 || seen.leg.hop.gateway) {
      seen.leg.hop.dead = is_dead(header->rtm_flags);
      route.next_hops.push_back(seen.leg.hop);
    }
  }
  if (encapsulated) route.type = RouteType::kLocal;  // Linux forwards it

  out.removed = message.header.nlmsg_type == RTM_DELROUTE;
  const bool goes_nowhere = route.nexthop_object == 0 && route.next_hops.empty();
  if (route.type == RouteType::kUnicast && goes_nowhere && !thrown && !out.removed)
    return Decoded::kMalformed;
  const unsigned flags = message.header.nlmsg_flags;
  const bool news = !out.removed && (flags & NLM_F_MULTI) == 0;  // else a dump, in order
  out.replace = news && (flags & NLM_F_REPLACE) != 0;
  // fib_table_insert(): at the head of its metric's unless NLM_F_APPEND; IPv6 always appends.
  route.first = news && family == AF_INET && (flags & (NLM_F_REPLACE | NLM_F_APPEND)) == 0;
  return Decoded::kEvent;
}

}  // namespace hecto::router
