#include "router/linux/decode_tunnel.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/bytes.hpp"
#include "router/linux/decode.hpp"
#include "router/linux/tunnel_attributes.hpp"

namespace hecto::router {
namespace {

using namespace tunnel_attributes;

constexpr uint16_t kChecksum = 0x8000, kWithKey = 0x2000, kSequence = 0x1000;  // RFC 2890
constexpr uint32_t kTrafficClass = 0x0ff00000, kFlowLabel = 0x000fffff;  // of IPv6's first word
constexpr uint8_t kInherit = 1;  // in a TOS: it is the inner packet's

// What both families of attributes come to; those that say nothing stay as they are.
struct TunnelFields {
  bool outer6 = false;
  uint16_t flags_in = 0, flags_out = 0;
  uint32_t key_in = 0, key_out = 0;
  uint8_t tos = 0, limit = 0;
  uint32_t flow = 0;    // host order
  uint32_t flags6 = 0;  // IP6_TNL_F_*
  uint8_t protocol = 0;
  bool has_protocol = false;
  uint32_t mark = 0;
  uint16_t in_udp = 0;
  bool external = false, ignores_df = false;
};

uint16_t be16(const Attribute& attribute) {
  return ntohs(attribute.as<uint16_t>().value_or(0));
}
uint32_t be32(const Attribute& attribute) {
  return ntohl(attribute.as<uint32_t>().value_or(0));
}
uint8_t byte(const Attribute& attribute) {
  return attribute.as<uint8_t>().value_or(0);
}

bool read_end(const Attribute& attribute, const TunnelFields& fields, IpAddress& out) {
  const auto address = read_address(attribute.payload, fields.outer6 ? AF_INET6 : AF_INET);
  if (address) out = *address;
  return address.has_value();
}

// False: malformed.
bool read_gre(const Attribute& attribute, TunnelFields& fields, LinuxTunnel& out) {
  switch (attribute.type) {
    case kGreLink:
      out.link = attribute.as<int32_t>().value_or(0);
      break;
    case kGreFlagsIn:
      fields.flags_in = be16(attribute);
      break;
    case kGreFlagsOut:
      fields.flags_out = be16(attribute);
      break;
    case kGreKeyIn:
      fields.key_in = be32(attribute);
      break;
    case kGreKeyOut:
      fields.key_out = be32(attribute);
      break;
    case kGreLocal:
      return read_end(attribute, fields, out.local);
    case kGreRemote:
      return read_end(attribute, fields, out.remote);
    case kGreTtl:
      out.ttl = byte(attribute);
      break;
    case kGreTos:
      fields.tos = byte(attribute);
      break;
    case kGrePmtuDiscovery:
      out.sets_df = byte(attribute) != 0;
      break;
    case kGreEncapLimit:
      fields.limit = byte(attribute);
      break;
    case kGreFlowInfo:
      fields.flow = be32(attribute);
      break;
    case kGreFlags6:
      fields.flags6 = attribute.as<uint32_t>().value_or(0);
      break;
    case kGreEncapType:
      fields.in_udp = attribute.as<uint16_t>().value_or(0);
      break;
    case kGreCollectMetadata:
      fields.external = true;
      break;
    case kGreIgnoreDf:
      fields.ignores_df = byte(attribute) != 0;
      break;
    case kGreMark:
      fields.mark = attribute.as<uint32_t>().value_or(0);
      break;
    default:
      break;
  }
  return true;
}

bool read_ip(const Attribute& attribute, TunnelFields& fields, LinuxTunnel& out) {
  switch (attribute.type) {
    case kIpLink:
      out.link = attribute.as<int32_t>().value_or(0);
      break;
    case kIpLocal:
      return read_end(attribute, fields, out.local);
    case kIpRemote:
      return read_end(attribute, fields, out.remote);
    case kIpTtl:
      out.ttl = byte(attribute);
      break;
    case kIpTos:
      fields.tos = byte(attribute);
      break;
    case kIpEncapLimit:
      fields.limit = byte(attribute);
      break;
    case kIpFlowInfo:
      fields.flow = be32(attribute);
      break;
    case kIpFlags:  // of sit two bytes, of ISATAP
      fields.flags6 = attribute.as<uint32_t>().value_or(0);
      break;
    case kIpProtocol:
      fields.protocol = byte(attribute);
      fields.has_protocol = true;
      break;
    case kIpPmtuDiscovery:
      out.sets_df = byte(attribute) != 0;
      break;
    case kIpEncapType:
      fields.in_udp = attribute.as<uint16_t>().value_or(0);
      break;
    case kIpCollectMetadata:
      fields.external = true;
      break;
    case kIpMark:
      fields.mark = attribute.as<uint32_t>().value_or(0);
      break;
    default:
      break;
  }
  return true;
}

bool is_any(const IpAddress& address) {
  return address.bytes == IpAddress{}.bytes;
}
bool is_group(const IpAddress& address) {
  return address.family == Family::kIpv4 ? address.bytes[0] >> 4 == 0xe : address.bytes[0] == 0xff;
}

// IP in IP: which protocols it carries. `any` is 0; MPLS is neither.
void take_protocol(std::string_view kind, const TunnelFields& fields, LinuxTunnel& out) {
  const uint8_t otherwise = kind == "ipip" ? IPPROTO_IPIP : IPPROTO_IPV6;
  const uint8_t protocol = fields.has_protocol ? fields.protocol : otherwise;
  const bool any = protocol == 0;
  // An ipip device takes no IPv6, whatever its mode (ipip_tunnel_xmit).
  out.carries4 = any || protocol == IPPROTO_IPIP;
  out.carries6 = kind != "ipip" && (any || protocol == IPPROTO_IPV6);
}

void take_ipv6(const TunnelFields& fields, LinuxTunnel& out) {
  if ((fields.flags6 & kIgnoresEncapLimit) == 0) out.encap_limit = fields.limit;
  out.inherits_tos = (fields.flags6 & kCopiesTrafficClass) != 0;
  out.tos = static_cast<uint8_t>((fields.flow & kTrafficClass) >> 20);
  out.flow_label = fields.flow & kFlowLabel;
}

// What Linux's device does and the fast path does not; empty: nothing.
std::string beyond_of(const TunnelFields& fields, const LinuxTunnel& tunnel) {
  constexpr uint32_t kOthers6 = kMobile | kCopiesDscpIn | kCopiesMark;
  const uint16_t flags = fields.flags_in | fields.flags_out;
  if (fields.external) return "it is external: each route says its ends";
  if (is_any(tunnel.local) || is_any(tunnel.remote)) return "it has no local or no remote address";
  if (is_group(tunnel.remote)) return "its remote is a group";
  if ((flags & kChecksum) != 0) return "it has checksums";
  if ((flags & kSequence) != 0) return "it has sequence numbers";
  if ((flags & ~(kChecksum | kWithKey | kSequence)) != 0) return "it has flags beyond GRE's";
  if (fields.in_udp != 0) return "it goes in UDP (fou, gue)";
  if (fields.mark != 0) return "its packets have a mark (fwmark)";
  if (fields.ignores_df) return "it ignores DF";
  if (fields.outer6 && (fields.flags6 & kOthers6) != 0)
    return "it copies DSCP or marks, or is of Mobile IPv6";
  if (fields.outer6 && (fields.flags6 & kCopiesFlowLabel) != 0) return "it copies flow labels";
  if (!tunnel.carries4 && !tunnel.carries6) return "it carries MPLS alone";
  return "";
}

}  // namespace

bool is_tunnel_kind(std::string_view kind) noexcept {
  return kind == "gre" || kind == "ip6gre" || kind == "ipip" || kind == "sit" || kind == "ip6tnl";
}

bool read_tunnel(std::string_view kind, Bytes data, LinuxTunnel& out) {
  TunnelFields fields;
  fields.outer6 = kind == "ip6gre" || kind == "ip6tnl";
  out = LinuxTunnel{};
  out.gre = kind == "gre" || kind == "ip6gre";
  out.local.family = out.remote.family = fields.outer6 ? Family::kIpv6 : Family::kIpv4;
  AttributeWalker walker(data);
  Attribute attribute;
  while (walker.next(attribute))
    if (!(out.gre ? read_gre : read_ip)(attribute, fields, out)) return false;
  if (walker.malformed()) return false;
  if ((fields.flags_in & kWithKey) != 0) out.key_in = fields.key_in;
  if ((fields.flags_out & kWithKey) != 0) out.key_out = fields.key_out;
  out.inherits_tos = (fields.tos & kInherit) != 0;
  out.tos = fields.tos & 0xfc;
  if (!out.gre) take_protocol(kind, fields, out);
  if (fields.outer6) take_ipv6(fields, out);
  out.beyond = beyond_of(fields, out);
  return true;
}

}  // namespace hecto::router
