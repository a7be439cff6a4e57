// What control hands down: one immutable object, replaced as a whole by RCU. A worker loads the
// pointer once per loop; control frees the old one after every worker has been through a
// quiescent state. Routes and neighbors are not in here: those change inside the FIBs and the
// next-hop table, which readers see at once.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/idle_mode.hpp"
#include "base/net.hpp"
#include "base/punt_class.hpp"
#include "lookup/fib.hpp"
#include "lookup/nexthop.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/tag_table.hpp"

struct rte_mempool;
struct rte_ring;

namespace hecto::router {

class Wakeup;

// Features a pipeline is compiled for. The first three are those of the port that packets come in
// by; a snapshot's are those of all ports.
enum Feature : unsigned {
  kFeatureVlan = 1,  // it has tagged interfaces
  // Some interface checks the way back to the source, does not forward, or clamps MSS; packets that
  // leave by one that clamps come in by any port.
  kFeatureUrpf = 2,
  kFeatureCounters = 4,  // some interface counts packets and bytes
  kFeatureOffload = 8,   // the worker has a device (a worker's own, not a snapshot's)
  kFeatureIpsec = 16,    // there is an SA or a policy
  kFeatureSets = 32
};

struct InterfaceView {
  bool up = false;
  UrpfMode urpf = UrpfMode::kOff;
  bool counters = false;
  // Linux's switches.
  UrpfMode rp_filter = UrpfMode::kOff;  // of IPv4, beside `urpf`
  bool forwards4 = true, forwards6 = true;
  bool linux_only = false;  // a port of a bridge or a bond of Linux: what is no VRF's is Linux's
  bool redirects4 = false, redirects6 = false;  // senders are told of better first hops
  // By accept_local: our own IPv4 addresses there, which uRPF takes as sources; loose any of ours.
  bool accepts_own = false;
  std::vector<uint32_t> own4 = {};  // host order
  uint16_t mtu = 0;                 // bytes of L3 packet
  bool clamps_mss = false;          // of TCP that comes in or leaves here
  bool labels = false;              // MPLS that comes in there is forwarded
  bool service_tag = false;         // its first tag is of 802.1ad
  // Our own there, from which senders are answered; 0 and ::, where there is none.
  uint32_t address4 = 0;  // host order
  lookup::Ipv6Address address6{};
};

// Interfaces by their tags.
struct TaggedInterfaces {
  std::shared_ptr<const std::array<InterfaceId, 4096>> vlans;  // with one of 802.1Q; empty: none
  std::shared_ptr<const TagTable> stacked;                     // all others; empty: none

  InterfaceId find(const VlanTags& tags) const noexcept {
    if (tags.stacked()) return stacked ? stacked->find(tags) : kNoInterface;
    return vlans ? (*vlans)[tags.vlan] : kNoInterface;
  }
};

// A MAC address beside the port's own, that a macvlan or a VLAN device of Linux has, and by which
// interfaces what is for it comes in.
struct StationView {
  uint64_t mac = 0;  // as of PortView
  InterfaceId untagged = kNoInterface;
  TaggedInterfaces tagged;

  InterfaceId interface(const VlanTags& tags) const noexcept {
    return tags.vlan == 0 ? untagged : tagged.find(tags);
  }
};

// What classify must know of a receive port. `mac` holds the address in the low 48 bits, as a
// little-endian load of its six bytes gives it.
struct PortView {
  bool present = false;
  // What comes in is looked at: of a kernel interface for what its offloads make of packets, of a bond
  // for their order.
  bool watched = false;
  bool bond = false;
  // Of a kernel interface: what is longer is no single frame. 0: it is none.
  uint32_t longest_frame = 0;
  bool opens_esp = false;         // by its NIC, for SAs that say so (NicSa)
  bool trusts_checksums = false;  // of IPv4 headers, that its NIC has found right
  bool labels = false;            // some interface of it forwards MPLS
  unsigned features = 0;          // of its interfaces
  uint64_t mac = 0;
  InterfaceId untagged = kNoInterface;
  TaggedInterfaces tagged;
  // Interfaces that are down are only here; VLAN 0: untagged. Empty: none is.
  TaggedInterfaces down;
  // By MAC address, of interfaces that are up; empty: it has one address, as nearly all have.
  std::shared_ptr<const std::vector<StationView>> stations;

  InterfaceId down_untagged() const noexcept {
    return down.vlans ? (*down.vlans)[0] : kNoInterface;
  }
  // Whether a frame's second tag is one of an interface, and not of what it carries.
  bool has_within(const VlanTags& outer) const noexcept {
    const auto within = [&](const TaggedInterfaces& some) {
      return some.stacked && some.stacked->has_within(outer.service, outer.vlan);
    };
    return within(tagged) || within(down);
  }
  bool has_stacked() const noexcept { return tagged.stacked || down.stacked; }

  // Null: none has this address.
  const StationView* station(uint64_t address) const noexcept {
    if (!stations) [[likely]]
      return nullptr;
    const auto found =
        std::lower_bound(stations->begin(), stations->end(), address,
                         [](const StationView& one, uint64_t wanted) { return one.mac < wanted; });
    return found == stations->end() || found->mac != address ? nullptr : &*found;
  }
};

// How one worker (or the slow path) reaches a port: by a transmit queue of its own, or, where the
// driver has too few, through a ring to the worker that owns the queue.
struct TransmitPath {
  static constexpr QueueId kNone = 0xffff;
  QueueId queue = kNone;    // kNone: there is no such port (any more)
  bool linear = false;      // the driver sends packets of one segment only
  bool plain_only = false;  // the driver was promised plain mbufs of `pool`, and others may come
  rte_ring* handoff = nullptr;
  Wakeup* owner = nullptr;      // of that worker, where it may wait for us
  rte_mempool* pool = nullptr;  // the port's: what cannot leave as it is is copied into its mbufs
};

// How the packets of a receive queue go over workers: by flow into buckets, and each bucket to one
// worker. Its head, who polls the queue, fills the rings, and each worker drains its own.
inline constexpr unsigned kSpreadBuckets = 128;
inline constexpr unsigned kSpreadLanes = 15;  // workers beside the head
struct SpreadTable {
  struct Lane {
    rte_ring* ring = nullptr;
    Wakeup* owner = nullptr;  // of that worker, where it may wait for us
  };
  std::array<uint8_t, kSpreadBuckets> lane_of{};  // by bucket; 0: the head's own, else a lane and 1
  std::array<Lane, kSpreadLanes> lanes{};
  unsigned lane_count = 0;
};

struct ReceiveQueue {
  PortId port = 0;
  QueueId queue = 0;
  bool interrupts = false;              // the driver has to be asked for them before each wait
  const SpreadTable* spread = nullptr;  // null: all of its packets are this worker's
};

// This worker's share of another one's receive queue.
struct SpreadQueue {
  rte_ring* ring = nullptr;
  PortId port = 0;
  QueueId queue = 0;
};

// A transmit queue that another thread reaches through `ring`, which only that one fills; its owner
// drains it.
struct HandoffQueue {
  rte_ring* ring = nullptr;
  PortId port = 0;
};

// A transmit queue of a bond with LACP, whose LACPDUs leave with a burst, be it an empty one.
struct LacpQueue {
  PortId port = 0;
  QueueId queue = 0;
};

struct WorkerView {
  std::vector<ReceiveQueue> queues;
  std::vector<HandoffQueue> handoffs;
  std::vector<SpreadQueue> spreads;
  std::vector<LacpQueue> lacp;
  rte_ring* handed =
      nullptr;  // what others hand over because its mapping is here (NAT); null: none
  std::array<TransmitPath, kMaxPorts> transmit{};
  IdleMode idle = IdleMode::kSleep;
  bool can_wait = true;  // each of its queues says when something came
};

struct BridgeViews;
class CaptureUse;
class FilterTables;
struct FlowSamplingUse;
struct FlowView;
class InheritedTables;
struct NatTables;
class PuntSessions;
class TraceSession;
class TunnelTables;
struct RuleTables;

struct Snapshot {
  uint64_t generation = 0;
  unsigned features = 0;
  bool linux_side = false;
  bool closed = false;      // nothing is forwarded: not all routes and policies are known
  bool observed = false;    // somebody traces or captures
  bool seals_esp = false;   // some port's NIC does
  bool clamps_mss = false;  // some interface does
  uint16_t burst = 64;
  uint32_t idle_sleep_us = 50;  // the longest
  uint32_t ecmp_seed = 0;       // of the flow hash
  std::array<PortView, kMaxPorts> ports{};
  std::array<InterfaceView, kMaxInterfaces> interfaces{};
  std::array<uint32_t, kReasonCount> punt_pps{};
  std::array<uint32_t, kPuntClassCount> punt_class_pps{};
  std::shared_ptr<const PuntSessions> punt_sessions;        // null: the sockets are not known
  std::vector<WorkerView> workers;                          // by worker id
  std::vector<std::shared_ptr<const SpreadTable>> spreads;  // of its receive queues
  std::array<TransmitPath, kMaxPorts> slow_path{};          // how the slow path injects
  // By which packets are forwarded till those of this process are whole; null: its own.
  std::shared_ptr<const InheritedTables> inherited;
  std::shared_ptr<const BridgeViews> bridges;   // null: no port is one of a bridge
  std::shared_ptr<const TunnelTables> tunnels;  // null: none
  // A flag of mbufs of our own, for what came out of labels; 0: MPLS is Linux's.
  uint64_t label_flag = 0;
  std::shared_ptr<const RuleTables> rules;          // null: Linux's usual ones
  std::shared_ptr<const FilterTables> filters;      // null: none
  std::shared_ptr<const NatTables> nat;             // null: nothing is translated
  std::shared_ptr<const FlowView> flows;            // null: no interface has the flow table on
  std::shared_ptr<TraceSession> trace;              // null unless `hecto trace` is waiting
  std::shared_ptr<CaptureUse> capture;              // null unless `hecto capture` runs
  std::shared_ptr<const FlowSamplingUse> sampling;  // null: nobody wants samples
};

}  // namespace hecto::router
