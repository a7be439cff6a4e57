// A snapshot made of what control knows of ports, queues and interfaces. No EAL, no threads: plain
// values in, tables out. Control thread.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/net.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

// An L3 interface as the data plane needs it.
struct InterfaceSetup {
  InterfaceId id = kNoInterface;
  PortId port = 0;  // kNoPort: a bridge's, or a tunnel's
  VlanTags tags;
  MacAddress mac{};  // zero: the port's
  bool tunnel = false;
  bool macvlan = false;  // another one has what comes for the port's address
  bool bridged = false;  // its port's frames are a bridge's
  // Of a bridge's interface: by which ports, and with which VLAN's tag (0: none), it has packets.
  std::vector<Attachment> attached = {};
  bool up = false;
  UrpfMode urpf = UrpfMode::kOff;
  bool counters = false;
  UrpfMode rp_filter = UrpfMode::kOff;  // and the following: as in InterfaceView
  bool forwards4 = true, forwards6 = true;
  bool redirects4 = false, redirects6 = false, accept_local = false;
  bool linux_only = false;
  uint16_t mtu = 0;
  bool clamps_mss = false;
  bool labels = false;              // as in InterfaceView
  std::vector<IpPrefix> addresses;  // our own there, host bits kept
};

// What a snapshot says of everything else.
struct SnapshotSettings {
  uint16_t burst = 64;
  std::vector<IdleMode> idle;  // by worker; of those without: sleep
  uint32_t idle_sleep_us = 50;
  uint32_t ecmp_seed = 0;
  std::array<uint32_t, kReasonCount> punt_pps{};
  std::array<uint32_t, kPuntClassCount> punt_class_pps{};
  std::shared_ptr<const PuntSessions> punt_sessions;
  std::shared_ptr<const BridgeViews> bridges;
  std::shared_ptr<const TunnelTables> tunnels;
  uint64_t label_flag = 0;                      // as in Snapshot
  std::shared_ptr<const RuleTables> rules;      // null: Linux's usual ones
  std::shared_ptr<const FilterTables> filters;  // null: none
  std::shared_ptr<const NatTables> nat;         // null: nothing is translated
  std::shared_ptr<const FlowView> flows;
  std::shared_ptr<TraceSession> trace;
  std::shared_ptr<CaptureUse> capture;
  std::shared_ptr<const FlowSamplingUse> sampling;
  bool ipsec = false;                                // there is an SA or a policy
  bool closed = false;                               // not all routes and policies are known
  std::shared_ptr<const InheritedTables> inherited;  // in the place of this process's own
};

class SnapshotBuilder {
 public:
  explicit SnapshotBuilder(size_t workers);

  struct PortSetup {
    PortId id = 0;
    MacAddress mac{};
    uint32_t longest_frame = 0;                 // as in PortView
    bool bond = false;                          // likewise
    bool opens_esp = false, seals_esp = false;  // by its NIC
    bool sends_lacp = false;                    // a bond's LACPDUs leave by a transmit queue
    bool checks_ipv4 = false;                   // its NIC, and says so
    bool hides_service_tags = false;            // what had one comes in with one of 802.1Q
    std::vector<unsigned> queue_workers;        // by receive queue
    std::vector<TransmitPath> transmit;         // by worker, the slow path's behind them
    // With fewer transmit queues than threads: each ring, and the worker that drains it.
    std::vector<std::pair<rte_ring*, unsigned>> handoffs;
    // By receive queue: how it is spread, none of it without lanes; and each ring with the worker that
    // drains it.
    struct Spread {
      SpreadTable table;
      std::vector<std::pair<rte_ring*, unsigned>> readers;
    };
    std::vector<Spread> spreads;
    bool wakes = false;       // its queues say when something came
    bool interrupts = false;  // if the driver is asked to
  };
  void add_port(const PortSetup& port);
  // After its port; without one it is left out.
  void add_interface(const InterfaceSetup& interface);
  // The builder is empty then.
  std::unique_ptr<Snapshot> finish(const SnapshotSettings& settings, bool linux_side,
                                   uint64_t generation);

 private:
  using ByVlan = std::array<InterfaceId, 4096>;
  // TaggedInterfaces to be.
  struct Tagged {
    std::shared_ptr<ByVlan> vlans;
    std::vector<TagTable::Entry> stacked;
    std::vector<TagTable::Entry> hidden;  // with a tag of 802.1ad that comes in as one of 802.1Q

    void put(const VlanTags& tags, InterfaceId interface);
    TaggedInterfaces finish();
  };
  void add_spread(const PortSetup& port, QueueId queue, const PortSetup::Spread& spread);
  void attach(const InterfaceSetup& interface, PortId to, const VlanTags& tags);
  void put(Tagged& table, PortId port, const VlanTags& tags, InterfaceId interface);
  void put_station(const InterfaceSetup& interface, PortId to, const VlanTags& tags);

  std::unique_ptr<Snapshot> snapshot_;
  bool tunnels_check_ = false;  // some tunnel's interface checks sources, or does not forward
  std::array<Tagged, kMaxPorts> tagged_, down_;
  std::array<bool, kMaxPorts> hides_service_tags_{};
  struct Station {
    InterfaceId untagged = kNoInterface;
    Tagged tagged;
  };
  std::array<std::map<uint64_t, Station>, kMaxPorts> stations_;  // by MAC
};

}  // namespace hecto::router
