// "What becomes of a packet with these addresses?" The answer for `hecto show routes ADDRESS`.
//
// A packet is made in memory and led through the stages' own functions, from classify to the policy
// check, and then held against the record that rewrite would read: nothing is sent, nothing is
// counted, and no stage is told twice. It is a UDP packet, which may be cut where it is IPv4; small,
// with a TTL of 64, unless its length or its TTL is asked about.
//
// Control thread only.
#pragma once

#include <optional>
#include <vector>

#include "base/net.hpp"
#include "base/reason.hpp"
#include "lookup/prefix.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/explain_filters.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"

namespace hecto::router {

struct PacketQuestion {
  lookup::IpAddress destination;
  std::optional<lookup::IpAddress> source;  // of the same family; else an ordinary one stands in
  InterfaceId interface = kNoInterface;  // where it comes in; none: by any, and uRPF is not asked
  uint8_t ttl = 64;                      // or hop limit
  uint16_t length = 0;                   // bytes of IP packet, least_length() or more; 0: that
  static constexpr uint16_t least_length(lookup::Family family) {
    return family == lookup::Family::kIpv4 ? 28 : 48;
  }
  // Of UDP, for policies that ask for ports.
  static constexpr uint16_t kSourcePort = 49152, kDestinationPort = 33434;
};

// What an SA makes of the MTU on the way to its tunnel's end.
struct TunnelMtu {
  lookup::IpAddress end;
  uint32_t next_hop = 0;  // of the next hop to it
  uint32_t path = 0;      // that a router between has told; 0: none has
  uint32_t inner = 0;     // the longest packet that fits; 0: none
};

// A tunnel that it goes into, in order.
struct TunnelStep {
  InterfaceId tunnel = kNoInterface;
  lookup::IpAddress end;
  InterfaceId egress = kNoInterface;  // of the way there; kNoInterface: there is none
  uint32_t inner = 0;                 // the longest packet that fits whole
};

struct PacketAnswer {
  lookup::IpAddress source;       // that was asked for
  Reason reason = Reason::kNone;  // kNone: it is forwarded, or leaves as ESP
  Spi spi = 0;                    // of the SA that protects it; 0: none
  TunnelMtu tunnel = {};          // of that, where its end has a next hop
  // Of several next hops, whose choice its flow makes: those of them, in buckets, that refuse it
  // while others forward it, and the reason of one.
  uint32_t buckets = 1, refusing = 0;
  Reason refused_by = Reason::kNone;
  uint16_t length = 0;                  // that was asked about
  uint32_t mtu = 0;                     // that it does not fit, of next hop or tunnel; 0: it fits
  bool cut = false;                     // into fragments; with an SA each as ESP
  bool redirects = false;               // it goes back: at times Linux tells its sender
  bool punts = false;                   // the reason is why Linux gets it; else it is dropped
  bool policies = false, urpf = false;  // were asked
  std::vector<TunnelStep> tunnels = {};
  std::vector<FilterFinding> filters = {};  // that judged it, in order; of several next hops each
  bool filters_unasked = false;             // some of where it comes in, which is not known
  // In which table a filter's rule, or its mark, had it looked up; none: neither did.
  std::optional<lookup::TableId> led_table = {};
};

// `ipsec`: none in a router without.
PacketAnswer explain_packet(const PacketQuestion& question, const Snapshot& snapshot,
                            const TableViews& tables,
                            const std::optional<IpsecStages::Options>& ipsec);

}  // namespace hecto::router
