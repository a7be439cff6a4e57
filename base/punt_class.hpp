// What a packet for Linux is to the control plane, whatever its reason: each class has rates of its
// own, by ingress interface and in all, and a place in the order in which the slow path takes
// packets. The order here is that of worth; numbers are not stable between versions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hecto {

enum class PuntClass : uint8_t {
  kSessions,     // of a TCP connection that Linux has to or from a port of routing protocols
  kBfd,          // RFC 5881, RFC 5883, RFC 7130
  kRouting,      // OSPF, IS-IS, VRRP, LDP, PIM, RIP, EIGRP, LACP; TCP of known peers
  kNeighbor,     // ARP replies, neighbor and router advertisements
  kConnections,  // of other TCP connections and connected UDP sockets that Linux has
  kRequests,     // ARP requests, neighbor and router solicitations, IGMP, MLD
  kIke,          // UDP 500 and 4500
  kManagement,   // TCP to ports on which somebody listens
  kLocal,        // anything else to the router itself
  kTransit,      // what Linux forwards: by a device that only Linux has, or by its rules
  kGlean,        // waits for its neighbor
  kStrangers,    // TCP to ports of routing protocols, from hosts that are no known peers
  kFragments,    // fragments to the router itself
  kClosed,       // to ports at which nobody is
  kTtl,
  kTooBig,
  kNoRoute,  // also unreachable and prohibit
  kOptions,
  kBroadcast,
  kLinkLocal,
  kMulticast,  // data
  kOther,      // any other EtherType
  kCount
};
inline constexpr size_t kPuntClassCount = static_cast<size_t>(PuntClass::kCount);
// Queues between a worker and the slow path; the slow path empties the first one first.
inline constexpr unsigned kPuntPriorities = 4;
// A class may take this many times its interface's rate over all interfaces, so that one that is
// flooded leaves room for the others.
inline constexpr uint32_t kPuntShares = 4;

struct PuntClassInfo {
  std::string_view name;  // snake_case, as in the file and in `hecto show punt`
  uint8_t priority;       // 0: first; below kPuntPriorities
  uint32_t default_pps;   // of one ingress interface
  std::string_view description;
};

const PuntClassInfo& info(PuntClass punt_class) noexcept;

}  // namespace hecto
