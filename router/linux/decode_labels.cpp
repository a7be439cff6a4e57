#include "router/linux/decode_labels.hpp"

#include <linux/lwtunnel.h>
#include <linux/mpls_iptunnel.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>

#include "base/bytes.hpp"

namespace hecto::router {
namespace {

constexpr uint32_t kBottom = 0x100;
constexpr uint8_t kLabelBits = 20;

enum class Labels : uint8_t { kRead, kTooMany, kMalformed };

// Whole entries as on the wire, the last one with the bottom-of-stack bit, and it alone.
Labels read_labels(Bytes payload, LabelStack& out) {
  if (payload.empty() || payload.size() % 4 != 0) return Labels::kMalformed;
  const size_t count = payload.size() / 4;
  out.count = 0;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t entry = load32_be(payload.data() + i * 4);
    if (((entry & kBottom) != 0) != (i + 1 == count)) return Labels::kMalformed;
    if (i < LabelStack::kMost) out.labels[i] = entry >> 12;
  }
  if (count > LabelStack::kMost) return Labels::kTooMany;
  out.count = static_cast<uint8_t>(count);
  return Labels::kRead;
}

// What a route and each leg of its RTA_MULTIPATH share. False: the attribute is malformed.
bool read_leg_attribute(const Attribute& attribute, NextHop& hop, std::string& beyond) {
  if (attribute.type == RTA_NEWDST) {
    const Labels read = read_labels(attribute.payload, hop.labels);
    if (read == Labels::kTooMany) beyond = "it puts on more than 4 labels";
    return read != Labels::kMalformed;
  }
  if (attribute.type != RTA_VIA) return true;
  const auto family = read_pod<uint16_t>(attribute.payload);
  if (!family) return false;
  const Bytes address = attribute.payload.subspan(sizeof *family);
  if (*family == AF_PACKET) {
    // That of lo is what the kernel's own routes of the reserved labels have.
    const bool none = std::all_of(address.begin(), address.end(), [](uint8_t b) { return b == 0; });
    if (!none) beyond = "its next hop is a MAC address";
    return true;
  }
  hop.gateway = read_address(address, *family);
  return hop.gateway.has_value();
}

bool dead_by(unsigned flags) {
  return (flags & (RTNH_F_DEAD | RTNH_F_LINKDOWN)) != 0;
}

bool read_multipath(Bytes bytes, LabelRoute& route) {
  while (!bytes.empty()) {
    const auto header = read_pod<rtnexthop>(bytes);
    if (!header || header->rtnh_len < sizeof(rtnexthop) || header->rtnh_len > bytes.size())
      return false;
    NextHop hop;
    hop.ifindex = header->rtnh_ifindex;
    hop.weight = static_cast<uint16_t>(header->rtnh_hops + 1);
    hop.dead = dead_by(header->rtnh_flags);
    AttributeWalker walker(bytes.subspan(sizeof(rtnexthop), header->rtnh_len - sizeof(rtnexthop)));
    Attribute attribute;
    while (walker.next(attribute))
      if (!read_leg_attribute(attribute, hop, route.beyond)) return false;
    if (walker.malformed()) return false;
    route.next_hops.push_back(hop);
    const size_t step = RTNH_ALIGN(static_cast<size_t>(header->rtnh_len));
    bytes = step < bytes.size() ? bytes.subspan(step) : Bytes{};
  }
  return !route.next_hops.empty();
}

}  // namespace

Decoded read_encapsulation(const Encapsulation& encapsulation, LabelStack& out) {
  if (encapsulation.type == LWTUNNEL_ENCAP_NONE) return Decoded::kEvent;
  if (encapsulation.type != LWTUNNEL_ENCAP_MPLS) return Decoded::kIgnored;
  Labels read = Labels::kMalformed;
  AttributeWalker walker(encapsulation.bytes);
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type == MPLS_IPTUNNEL_DST) read = read_labels(attribute.payload, out);
    if (attribute.type != MPLS_IPTUNNEL_TTL) continue;
    out.ttl = attribute.as<uint8_t>();
    if (!out.ttl) return Decoded::kMalformed;
  }
  if (walker.malformed() || read == Labels::kMalformed) return Decoded::kMalformed;
  return read == Labels::kRead ? Decoded::kEvent : Decoded::kIgnored;
}

Decoded decode_label_route(const Message& message, LabelRouteEvent& out) {
  const auto header = read_pod<rtmsg>(message.body);
  if (!header) return Decoded::kMalformed;
  if (header->rtm_family != AF_MPLS || header->rtm_type != RTN_UNICAST) return Decoded::kIgnored;
  if (header->rtm_dst_len != kLabelBits) return Decoded::kMalformed;
  LabelRoute& route = out.route;
  route.next_hops.clear();
  route.beyond.clear();
  route.protocol = header->rtm_protocol;
  LabelStack in;
  NextHop hop;
  Bytes multipath;
  std::optional<uint8_t> ttl;
  AttributeWalker walker(message.body.subspan(sizeof(rtmsg)));
  Attribute attribute;
  while (walker.next(attribute)) {
    switch (attribute.type) {
      case RTA_DST:
        if (read_labels(attribute.payload, in) != Labels::kRead || in.count != 1)
          return Decoded::kMalformed;
        break;
      case RTA_OIF:
        hop.ifindex = attribute.as<int32_t>().value_or(0);
        break;
      case RTA_MULTIPATH:
        multipath = attribute.payload;
        break;
      case RTA_TTL_PROPAGATE:
        if (attribute.payload.size() != 1) return Decoded::kMalformed;
        ttl = attribute.payload[0] != 0 ? uint8_t{0} : uint8_t{255};
        break;
      default:
        if (!read_leg_attribute(attribute, hop, route.beyond)) return Decoded::kMalformed;
    }
  }
  if (walker.malformed() || in.count == 0) return Decoded::kMalformed;
  route.label = in.labels[0];
  if (!multipath.empty()) {
    if (!read_multipath(multipath, route)) return Decoded::kMalformed;
  } else {
    hop.dead = dead_by(header->rtm_flags);
    route.next_hops.push_back(hop);
  }
  for (NextHop& each : route.next_hops) each.labels.ttl = ttl;
  if (!route.beyond.empty()) route.next_hops.clear();
  out.removed = message.header.nlmsg_type == RTM_DELROUTE;
  return Decoded::kEvent;
}

}  // namespace hecto::router
