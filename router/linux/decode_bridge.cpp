#include "router/linux/decode_bridge.hpp"

#include <arpa/inet.h>
#include <linux/if_bridge.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

namespace hecto::router {
namespace {

#ifndef BR_STATE_FORWARDING
constexpr uint8_t BR_STATE_LEARNING = 2, BR_STATE_FORWARDING = 3;
#endif
constexpr uint16_t kLastVlan = 4094;

bool set(const Attribute& attribute) {
  return attribute.as<uint8_t>().value_or(0) != 0;
}

}  // namespace

bool read_bridge(Bytes data, LinuxBridge& out) {
  AttributeWalker walker(data);
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type == IFLA_BR_AGEING_TIME)
      out.ageing_cs = attribute.as<uint32_t>().value_or(out.ageing_cs);
    if (attribute.type == IFLA_BR_VLAN_FILTERING) out.filters_vlans = set(attribute);
    if (attribute.type == IFLA_BR_VLAN_PROTOCOL)
      out.service_tags = attribute.as<uint16_t>().value_or(0) == htons(ETH_P_8021AD);
  }
  return !walker.malformed();
}

bool read_bridge_port(Bytes data, LinuxBridgePort& out) {
  AttributeWalker walker(data);
  Attribute attribute;
  uint8_t state = BR_STATE_FORWARDING;
  bool learns = true;
  while (walker.next(attribute)) {
    switch (attribute.type) {
      case IFLA_BRPORT_STATE:
        state = attribute.as<uint8_t>().value_or(state);
        break;
      case IFLA_BRPORT_LEARNING:
        learns = set(attribute);
        break;
      case IFLA_BRPORT_MODE:
        out.hairpin = set(attribute);
        break;
      case IFLA_BRPORT_ISOLATED:
        out.isolated = set(attribute);
        break;
      case IFLA_BRPORT_NEIGH_SUPPRESS:
      case IFLA_BRPORT_VLAN_TUNNEL:
      case IFLA_BRPORT_LOCKED:
        out.beyond |= set(attribute);
        break;
      case IFLA_BRPORT_BACKUP_PORT:
        out.beyond = true;
        break;
      default:
        break;
    }
  }
  out.forwards = state == BR_STATE_FORWARDING;
  out.learns = learns && (state == BR_STATE_FORWARDING || state == BR_STATE_LEARNING);
  return !walker.malformed();
}

Decoded decode_bridge_port(const Message& message, BridgePortEvent& out) {
  const auto header = read_pod<ifinfomsg>(message.body);
  if (!header || header->ifi_index <= 0) return Decoded::kMalformed;
  // One that leaves is told by its link, too.
  if (header->ifi_family != AF_BRIDGE || message.header.nlmsg_type != RTM_NEWLINK)
    return Decoded::kIgnored;
  out = {};
  out.ifindex = header->ifi_index;
  bool of_port = false;
  AttributeWalker walker(attributes_of<ifinfomsg>(message));
  Attribute attribute;
  while (walker.next(attribute))
    if (attribute.type == IFLA_PROTINFO) {
      of_port = true;
      if (!read_bridge_port(attribute.payload, out.port)) return Decoded::kMalformed;
    }
  if (walker.malformed()) return Decoded::kMalformed;
  return of_port ? Decoded::kEvent : Decoded::kIgnored;
}

Decoded decode_bridge_vlans(const Message& message, BridgeVlansEvent& out) {
  const auto header = read_pod<br_vlan_msg>(message.body);
  if (!header) return Decoded::kMalformed;
  out.vlans.clear();
  out.removed = message.header.nlmsg_type == RTM_DELVLAN;
  AttributeWalker walker(attributes_of<br_vlan_msg>(message));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != BRIDGE_VLANDB_ENTRY) continue;  // settings of a VLAN for all ports
    LinuxBridgeVlans vlans;
    vlans.ifindex = static_cast<int>(header->ifindex);
    AttributeWalker inner(attribute.payload);
    Attribute part;
    while (inner.next(part)) {
      if (part.type == BRIDGE_VLANDB_ENTRY_INFO) {
        const auto info = part.as<bridge_vlan_info>();
        if (!info) return Decoded::kMalformed;
        vlans.first = info->vid;
        vlans.pvid = (info->flags & BRIDGE_VLAN_INFO_PVID) != 0;
        vlans.untagged = (info->flags & BRIDGE_VLAN_INFO_UNTAGGED) != 0;
      }
      if (part.type == BRIDGE_VLANDB_ENTRY_RANGE) vlans.last = part.as<uint16_t>().value_or(0);
    }
    vlans.last = std::max(vlans.last, vlans.first);
    if (inner.malformed() || vlans.first == 0 || vlans.last > kLastVlan) return Decoded::kMalformed;
    out.vlans.push_back(vlans);
  }
  if (walker.malformed()) return Decoded::kMalformed;
  return out.vlans.empty() ? Decoded::kIgnored : Decoded::kEvent;
}

Decoded decode_fdb_entry(const Message& message, FdbEvent& out) {
  const auto header = read_pod<ndmsg>(message.body);
  if (!header) return Decoded::kMalformed;
  if (header->ndm_family != AF_BRIDGE) return Decoded::kIgnored;
  out.entry = {};
  out.removed = message.header.nlmsg_type == RTM_DELNEIGH;
  LinuxFdbEntry& entry = out.entry;
  entry.port = header->ndm_ifindex;
  entry.local = (header->ndm_state & NUD_PERMANENT) != 0;
  entry.fixed = (header->ndm_state & (NUD_PERMANENT | NUD_NOARP)) != 0 ||
                (header->ndm_flags & NTF_EXT_LEARNED) != 0;
  AttributeWalker walker(attributes_of<ndmsg>(message));
  Attribute attribute;
  bool has_mac = false;
  while (walker.next(attribute)) {
    if (attribute.type == NDA_LLADDR && attribute.payload.size() == entry.mac.size()) {
      std::copy(attribute.payload.begin(), attribute.payload.end(), entry.mac.begin());
      has_mac = true;
    }
    if (attribute.type == NDA_VLAN) entry.vlan = attribute.as<uint16_t>().value_or(0);
    if (attribute.type == NDA_MASTER) entry.bridge = attribute.as<int32_t>().value_or(0);
  }
  if (walker.malformed() || entry.vlan > kLastVlan) return Decoded::kMalformed;
  // Without a bridge: a device's own list of addresses.
  const bool station = has_mac && entry.mac != MacAddress{} && (entry.mac[0] & 1) == 0;
  return station && entry.bridge > 0 && entry.port > 0 ? Decoded::kEvent : Decoded::kIgnored;
}

}  // namespace hecto::router
