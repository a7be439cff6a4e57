// Why a packet left the fast path: every drop and every punt has a name, a place and a counter.
//
// A punt reason doubles as the drop reason of packets over its token bucket. The order is the
// order of `hecto show drops` among equals; numbers are not stable between versions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hecto {

enum class Stage : uint8_t {
  kReceive,
  kClassify,
  kFilter,
  kDecap,
  kLookup,
  kEncap,
  kRewrite,
  kTransmit,
  kPunt,
  kNat
};

enum class Reason : uint8_t {
  kNone = 0,
  // Punts: Linux knows what to do.
  kArp,            // RFC 826
  kLocal,          // to one of the router's own addresses
  kMulticast,      // 224.0.0.0/4, ff00::/8: routing protocols, ND
  kBroadcast,      // 255.255.255.255 or a link's broadcast address: DHCP
  kLinkLocal,      // 169.254.0.0/16 and fe80::/10 are never forwarded (RFC 3927, RFC 4291)
  kOptions,        // IPv4 options, IPv6 hop-by-hop header
  kTtlExpired,     // RFC 1812 §5.3.1, RFC 8200 §3
  kTooBig,         // does not fit the egress MTU and is not cut here: ICMP to the sender
  kGlean,          // on-link, neighbor not resolved yet
  kNoRoute,        // Linux answers "network unreachable"
  kUnreachable,    // a route of type unreachable
  kProhibit,       // a route of type prohibit
  kPolicyRule,     // a policy rule of Linux may send it by another table
  kRedirect,       // leaves by the interface that it came in by: Linux tells its sender so
  kOtherProtocol,  // any other EtherType: LLDP, LACP, MPLS
  // Of a port of a bridge of Linux (IEEE 802.1Q §8).
  kBridgeLearn,  // from a station that is not known there: Linux learns it
  kBridgeFlood,  // to a group, or to a station that is not known: Linux floods it
  // Drops.
  kTruncated,        // shorter than its headers, or than its headers say
  kBadVersion,       // IP version does not match the EtherType
  kBadHeaderLength,  // IHL below 5
  kBadTotalLength,   // below the header length, or beyond the bytes there are
  kBadChecksum,      // IPv4 header checksum
  kMartianSource,    // RFC 1812 §5.3.7, RFC 6890
  kMartianDestination,
  kLooped,          // our own source MAC, or source equals destination
  kNotForUs,        // another station's MAC
  kBridgeBlocked,   // by the state of a port of a bridge (STP), or between isolated ones
  kBridgeSamePort,  // its station is on the port that it came in by
  kBridgeVlan,      // its VLAN is not one of the port's, ingress or egress
  kBridgeFull,      // from a station that is not known, and no more are learned there
  kBridgeTooLong,   // longer than the egress port takes
  kUnknownVlan,     // no interface for this tag
  kInterfaceDown,   // ingress or egress interface is down
  kBlackhole,       // a route of type blackhole
  kUrpf,            // no (strict: no such) route back to the source
  kNotForwarding,   // Linux's switches say that its ingress interface forwards nothing
  kSplitHeader,     // headers not in the first segment
  kNoLinux,         // to be punted, but there is no Linux side
  kPuntQueueFull,   // the slow path does not keep up
  kTapFull,         // Linux did not take the packet from the TAP
  kBadFragment,     // to be cut, and its last byte would lie beyond 65,535 (RFC 791 §3.2)
  kFragmentMbuf,    // to be cut, and the pool had no buffers for its fragments
  kTransmitFull,    // the port's transmit queue is full
  kSpreadFull,      // the worker that its flow is spread to does not keep up
  // Filters of the file.
  kFilter,          // its verdict is drop
  kFilterRejected,  // its verdict is reject; the sender is told, but not too often
  kPoliced,         // over the rate of a policer
  kFilterNotReady,  // rules that ask for its interface are not compiled yet
  // Led by a rule's table, VRF or mark, of which Linux knows nothing: it would send them elsewhere.
  kFilterNoTable,     // there is no such table or VRF (now), or no room for it
  kFilterLed,         // it leads nowhere, or to what only Linux could do
  kFilterUnresolved,  // the neighbor is not known yet; Linux is asked to find it
  // Network address translation.
  kNatNoSession,  // to an outside address, and no mapping lets it in
  kNatNoPort,     // no block of ports is left for its host
  kNatLimit,      // its host has as many sessions or blocks as it may
  kNatFull,       // the pool has as many sessions as it may
  kNatFragment,   // a later fragment whose first one was not seen
  kNatUnknown,    // neither TCP, UDP nor ICMP that can be translated, or cut short
  kNatHandover,   // the worker that has its mapping does not keep up
  // The flow table.
  kFlow,         // its entry's action is drop, or it has none and such are dropped
  kFlowTooLong,  // longer than the interface takes that its entry sends it by
  // Tunnels: GRE and IP in IP (RFC 2784, 2890, 2003, 2473).
  kTunnelMalformed,  // what is inside is cut short, or no IP packet
  kTunnelKey,        // with a key that no tunnel between these ends has
  kTunnelEcn,        // congestion was met that the packet inside cannot be told (RFC 6040 §4.2)
  kTunnelLoop,       // a tunnel that leads into itself, or too many one in another
  kTunnelNoRoom,     // no room in the buffer for the outer header, or for labels
  // Labels of MPLS (RFC 3031, 3032, 3443).
  kMplsMalformed,  // the stack is cut or has no bottom, or no IP packet is behind it
  kMplsLabel,      // nothing is said of this label
  kMplsTtl,        // the label's TTL is at its end
  kMplsTooBig,     // longer than the way out takes
  // IPsec (RFC 4301, RFC 4303). The sender of a packet is never told which.
  kEspUnknownSpi,      // ESP to one of our addresses, no such SA
  kEspMalformed,       // shorter than its headers, wrong padding, or not what its SA says
  kEspReplay,          // number seen, or older than the window
  kEspBadIcv,          // forged, damaged, or another key
  kEspExpired,         // the SA's hard lifetime is over, or its sequence numbers used up
  kEspDummy,           // traffic flow confidentiality (RFC 4303 §2.6)
  kEspKeepalive,       // NAT keep-alive (RFC 3948 §2.3)
  kEspFragment,        // ESP in fragments that were not put together
  kEspJoined,          // a fragment of ESP: it went on as part of another packet
  kEspNoRoom,          // no room in the buffer for ESP's headers or trailer
  kEspOfLinux,         // Linux made it by an SA that hectod has: its numbers must not go out twice
  kTunnelTooBig,       // does not fit the tunnel, and its sender is told too often or not at all
  kPolicyNoSa,         // a policy asks for an SA that is not there (yet)
  kPolicyMismatch,     // came in without the protection that its policy asks for, or with another
  kPolicyDiscard,      // a policy of action discard
  kPolicyUnjudged,     // a policy may protect or discard it, which cannot be seen, or not be done
  kPolicyLeftOut,      // no policy outranks one that found no room, which may hold for it
  kTunnelUnreachable,  // no port leads to the end of its tunnel
  kNotReady,           // routes and policies are not all known (yet)
  // Copies of packets that rules of the filters want at a port; of the packet itself nothing is lost.
  kMirrorMbuf,     // the pool had no buffer for it
  kMirrorTooLong,  // longer than that port takes
  kCount
};
inline constexpr size_t kReasonCount = static_cast<size_t>(Reason::kCount);

struct ReasonInfo {
  std::string_view name;  // snake_case, as in `hecto show drops`
  Stage stage;
  bool punt;
  uint32_t default_pps;          // of the punt's token bucket; 0 for drops
  std::string_view description;  // one line
};

const ReasonInfo& info(Reason reason) noexcept;
std::string_view to_string(Stage stage) noexcept;
// kNone when there is no such name.
Reason reason_by_name(std::string_view name) noexcept;

}  // namespace hecto
