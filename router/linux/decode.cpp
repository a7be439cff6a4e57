#include "router/linux/decode.hpp"

#include <arpa/inet.h>
#include <linux/if_addr.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "router/linux/decode_bridge.hpp"
#include "router/linux/decode_labels.hpp"
#include "router/linux/decode_tunnel.hpp"

namespace hecto::router {
namespace {

constexpr unsigned kLowerUp = 0x10000;  // IFF_LOWER_UP, which net/if.h lacks

std::string_view text_of(Bytes payload) noexcept {
  const auto end = std::find(payload.begin(), payload.end(), uint8_t{0});
  return {reinterpret_cast<const char*>(payload.data()),
          static_cast<size_t>(end - payload.begin())};
}

bool read_vrf(Bytes data, LinuxLink& link) {
  AttributeWalker walker(data);
  Attribute attribute;
  while (walker.next(attribute))
    if (attribute.type == IFLA_VRF_TABLE) link.vrf_table = attribute.as<uint32_t>().value_or(0);
  return !walker.malformed();
}

bool read_if_id(Bytes data, LinuxLink& link) {
  AttributeWalker walker(data);
  Attribute attribute;
  while (walker.next(attribute))
    if (attribute.type == IFLA_XFRM_IF_ID) link.if_id = attribute.as<uint32_t>().value_or(0);
  return !walker.malformed();
}

bool read_macvlan(Bytes data, int parent, LinuxLink& link) {
  AttributeWalker walker(data);
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != IFLA_MACVLAN_MODE) continue;
    link.parent = parent;
    const uint32_t mode = attribute.as<uint32_t>().value_or(0);
    // Which takes its parent's address, or goes by that of the sender.
    if (mode == MACVLAN_MODE_PASSTHRU) link.left_out = "a macvlan of mode passthru";
    if (mode == MACVLAN_MODE_SOURCE) link.left_out = "a macvlan of mode source";
  }
  return !walker.malformed();
}

// Of a VLAN device its tag, of an IPsec interface (`ip link add type xfrm`) its if_id, of a VRF its
// table, of a tunnel, a bridge and a bridge's port what they are like.
bool read_kind(Bytes linkinfo, int parent, LinuxLink& link) {
  AttributeWalker walker(linkinfo);
  Attribute attribute;
  Bytes data, port_data;
  std::string_view port_kind;
  std::string& kind = link.kind;
  while (walker.next(attribute)) {
    if (attribute.type == IFLA_INFO_KIND) kind = text_of(attribute.payload);
    if (attribute.type == IFLA_INFO_DATA) data = attribute.payload;
    if (attribute.type == IFLA_INFO_SLAVE_KIND) port_kind = text_of(attribute.payload);
    if (attribute.type == IFLA_INFO_SLAVE_DATA) port_data = attribute.payload;
  }
  if (walker.malformed()) return false;
  if (port_kind == "bridge" && !read_bridge_port(port_data, link.bridge_port.emplace()))
    return false;
  if (kind == "bridge") return read_bridge(data, link.bridge.emplace());
  if (kind == "xfrm") return read_if_id(data, link);
  if (kind == "vrf") return read_vrf(data, link);
  if (is_tunnel_kind(kind)) return read_tunnel(kind, data, link.tunnel.emplace());
  if (kind == "macvlan") return read_macvlan(data, parent, link);
  if (kind != "vlan") return true;
  uint16_t id = 0;
  uint16_t protocol_be = htons(ETH_P_8021Q);
  AttributeWalker inner(data);
  while (inner.next(attribute)) {
    if (attribute.type == IFLA_VLAN_ID) id = attribute.as<uint16_t>().value_or(0);
    if (attribute.type == IFLA_VLAN_PROTOCOL) protocol_be = attribute.as<uint16_t>().value_or(0);
  }
  if (inner.malformed() || id > 4095) return false;
  link.parent = parent;
  link.vlan = id;
  link.service_tag = protocol_be == htons(ETH_P_8021AD);
  if (!link.service_tag && protocol_be != htons(ETH_P_8021Q))
    link.left_out = "a VLAN of another protocol";
  return true;
}

bool is_station(const MacAddress& mac) {
  return mac != MacAddress{} && (mac[0] & 1) == 0;
}

bool read_group(Bytes payload, std::vector<NextHopObject::Member>& members) {
  if (payload.empty() || payload.size() % sizeof(nexthop_grp) != 0) return false;
  for (size_t at = 0; at < payload.size(); at += sizeof(nexthop_grp)) {
    const auto entry = *read_pod<nexthop_grp>(payload.subspan(at));
    // The byte after `weight` is the high byte of weight - 1 since Linux 6.12, and was zero before.
    // Its name depends on the headers.
    const unsigned high = payload[at + offsetof(nexthop_grp, weight) + 1];
    const unsigned weight = (high << 8 | entry.weight) + 1;
    members.push_back({entry.id, static_cast<uint16_t>(std::min(weight, 65535U))});
  }
  return true;
}

}  // namespace

std::optional<IpAddress> read_address(Bytes payload, int family) noexcept {
  const size_t size = family == AF_INET ? 4 : 16;
  if ((family != AF_INET && family != AF_INET6) || payload.size() != size) return std::nullopt;
  IpAddress address;
  address.family = family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  std::copy(payload.begin(), payload.end(), address.bytes.begin());
  return address;
}

MessageKind kind_of(const Message& message) noexcept {
  if (message.body.empty()) return MessageKind::kOther;
  const uint8_t family = message.body[0];  // first byte of every rtnetlink header
  switch (message.header.nlmsg_type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      return family == AF_UNSPEC || family == AF_BRIDGE ? MessageKind::kLink : MessageKind::kOther;
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return MessageKind::kAddress;
    case RTM_NEWNEIGH:
    case RTM_DELNEIGH:
      return family == AF_BRIDGE ? MessageKind::kFdb : MessageKind::kNeighbor;
    case RTM_NEWVLAN:
    case RTM_DELVLAN:
      return MessageKind::kBridgeVlan;
    case RTM_NEWNEXTHOP:
    case RTM_DELNEXTHOP:
      return MessageKind::kNextHop;
    case RTM_NEWRULE:
    case RTM_DELRULE:
      return family == AF_INET || family == AF_INET6 ? MessageKind::kRule : MessageKind::kOther;
    case RTM_NEWROUTE:
    case RTM_DELROUTE:
      if (family == AF_INET) return MessageKind::kRoute4;
      if (family == AF_MPLS) return MessageKind::kLabelRoute;
      return family == AF_INET6 ? MessageKind::kRoute6 : MessageKind::kOther;
    default:
      return MessageKind::kOther;
  }
}

bool is_removal(const Message& message) noexcept {
  switch (message.header.nlmsg_type) {
    case RTM_DELLINK:
    case RTM_DELADDR:
    case RTM_DELNEIGH:
    case RTM_DELNEXTHOP:
    case RTM_DELROUTE:
    case RTM_DELRULE:
    case RTM_DELVLAN:
      return true;
    default:
      return false;
  }
}

Decoded decode_link(const Message& message, LinkEvent& out) {
  const auto header = read_pod<ifinfomsg>(message.body);
  if (!header || header->ifi_index <= 0) return Decoded::kMalformed;
  // A port that joins or leaves a bridge is told as RTM_NEWLINK or RTM_DELLINK of AF_BRIDGE.
  if (header->ifi_family != AF_UNSPEC) return Decoded::kIgnored;
  out.removed = message.header.nlmsg_type == RTM_DELLINK;
  out.link = LinuxLink{};
  LinuxLink& link = out.link;
  link.ifindex = header->ifi_index;
  link.up = (header->ifi_flags & IFF_UP) != 0;
  link.carrier = (header->ifi_flags & kLowerUp) != 0;

  Bytes linkinfo;
  int parent = 0;
  bool elsewhere = false;
  AttributeWalker walker(attributes_of<ifinfomsg>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    switch (attribute.type) {
      case IFLA_IFNAME: {
        const std::string_view name = text_of(attribute.payload);
        if (name.empty() || name.size() >= IFNAMSIZ) return Decoded::kMalformed;
        link.name = name;
        break;
      }
      case IFLA_ADDRESS:  // other lengths belong to links that are not Ethernet
        if (attribute.payload.size() == link.mac.size()) {
          std::copy(attribute.payload.begin(), attribute.payload.end(), link.mac.begin());
        }
        break;
      case IFLA_MTU:
        link.mtu = attribute.as<uint32_t>().value_or(0);
        break;
      case IFLA_LINK:
        parent = attribute.as<int32_t>().value_or(0);
        break;
      case IFLA_MASTER:
        link.master = attribute.as<int32_t>().value_or(0);
        break;
      case IFLA_LINK_NETNSID:  // the parent's index is one of another namespace
        elsewhere = true;
        break;
      case IFLA_LINKINFO:
        linkinfo = attribute.payload;
        break;
      default:
        break;
    }
  }
  if (elsewhere) parent = 0;
  if (walker.malformed() || !read_kind(linkinfo, parent, link)) return Decoded::kMalformed;
  return Decoded::kEvent;
}

Decoded decode_address(const Message& message, AddressEvent& out) {
  const auto header = read_pod<ifaddrmsg>(message.body);
  if (!header) return Decoded::kMalformed;
  const int family = header->ifa_family;
  if (family != AF_INET && family != AF_INET6) return Decoded::kIgnored;
  if (header->ifa_prefixlen > (family == AF_INET ? 32 : 128)) return Decoded::kMalformed;

  // IFA_LOCAL is ours; IFA_ADDRESS is the peer's where both are there, else ours.
  std::optional<IpAddress> local;
  std::optional<IpAddress> other;
  AttributeWalker walker(attributes_of<ifaddrmsg>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != IFA_LOCAL && attribute.type != IFA_ADDRESS) continue;
    const auto address = read_address(attribute.payload, family);
    if (!address) return Decoded::kMalformed;
    (attribute.type == IFA_LOCAL ? local : other) = address;
  }
  if (walker.malformed() || (!local && !other)) return Decoded::kMalformed;
  out.removed = message.header.nlmsg_type == RTM_DELADDR;
  out.address.ifindex = static_cast<int>(header->ifa_index);
  out.address.address.address = local ? *local : *other;
  out.address.address.length = header->ifa_prefixlen;
  return Decoded::kEvent;
}

Decoded decode_neighbor(const Message& message, NeighborEvent& out) {
  const auto header = read_pod<ndmsg>(message.body);
  if (!header) return Decoded::kMalformed;
  const int family = header->ndm_family;
  if (family != AF_INET && family != AF_INET6) return Decoded::kIgnored;  // AF_BRIDGE: an FDB entry
  if ((header->ndm_flags & NTF_PROXY) != 0) return Decoded::kIgnored;

  out.neighbor = LinuxNeighbor{};
  LinuxNeighbor& neighbor = out.neighbor;
  bool has_address = false;
  bool has_mac = false;
  AttributeWalker walker(attributes_of<ndmsg>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type == NDA_DST) {
      const auto address = read_address(attribute.payload, family);
      if (!address) return Decoded::kMalformed;
      neighbor.address = *address;
      has_address = true;
    } else if (attribute.type == NDA_LLADDR && attribute.payload.size() == neighbor.mac.size()) {
      std::copy(attribute.payload.begin(), attribute.payload.end(), neighbor.mac.begin());
      has_mac = true;
    }
  }
  if (walker.malformed() || !has_address) return Decoded::kMalformed;
  constexpr uint16_t kValid =
      NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE;  // NUD_VALID
  neighbor.ifindex = header->ndm_ifindex;
  neighbor.state = header->ndm_state;
  neighbor.usable = has_mac && (header->ndm_state & kValid) != 0;
  // Without ARP the kernel itself has groups, broadcasts and what lies behind devices without MAC:
  // nobody to send to.
  const bool nobody = (header->ndm_state & NUD_NOARP) != 0 && !is_station(neighbor.mac);
  out.removed = message.header.nlmsg_type == RTM_DELNEIGH || nobody;
  return Decoded::kEvent;
}

Decoded decode_nexthop(const Message& message, NextHopEvent& out) {
  const auto header = read_pod<nhmsg>(message.body);
  if (!header) return Decoded::kMalformed;
  out.object.id = 0;
  out.object.blackhole = false;
  out.object.next_hop.reset();
  out.object.members.clear();
  out.removed = message.header.nlmsg_type == RTM_DELNEXTHOP;

  NextHop hop;
  Encapsulation encapsulation;
  AttributeWalker walker(attributes_of<nhmsg>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    switch (attribute.type) {
      case NHA_ID:
        out.object.id = attribute.as<uint32_t>().value_or(0);
        break;
      case NHA_GROUP:
        if (!read_group(attribute.payload, out.object.members)) return Decoded::kMalformed;
        break;
      case NHA_BLACKHOLE:
        out.object.blackhole = true;
        break;
      case NHA_OIF:
        hop.ifindex = attribute.as<int32_t>().value_or(0);
        break;
      case NHA_GATEWAY: {
        const int family = attribute.payload.size() == 4 ? AF_INET : AF_INET6;
        hop.gateway = read_address(attribute.payload, family);
        if (!hop.gateway) return Decoded::kMalformed;
        break;
      }
      case NHA_ENCAP_TYPE:
        encapsulation.type = attribute.as<uint16_t>().value_or(0);
        break;
      case NHA_ENCAP:
        encapsulation.bytes = attribute.payload;
        break;
      case NHA_FDB:
        return Decoded::kIgnored;
      default:
        break;
    }
  }
  if (walker.malformed() || out.object.id == 0) return Decoded::kMalformed;
  const Decoded encapsulated = read_encapsulation(encapsulation, hop.labels);
  if (encapsulated == Decoded::kMalformed) return encapsulated;
  const bool ours = encapsulated == Decoded::kEvent;
  // An object that encapsulates otherwise is told without a next hop: the fast path cannot use it.
  if (out.object.members.empty() && !out.object.blackhole && hop.ifindex > 0 && ours) {
    hop.dead = (header->nh_flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)) != 0;
    out.object.next_hop = hop;
  }
  return Decoded::kEvent;
}

}  // namespace hecto::router
