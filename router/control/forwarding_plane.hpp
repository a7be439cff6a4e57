// The data plane as control's objects and `show` see it: ports by name, interfaces by id, and what
// the next snapshot says. DpdkForwardingPlane is the one that forwards; tests bring their own.
//
// Control only. Orders take effect with the next publish(), but for those of ports, which act at
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ether.hpp"
#include "base/idle_mode.hpp"
#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "base/result.hpp"
#include "config/placement/placement.hpp"
#include "router/control/interface_table.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/ports/bond_status.hpp"
#include "router/dataplane/ports/port.hpp"

namespace hecto::lookup {
class MacTable;
}

namespace hecto::router {

struct BridgeViews;
struct NatTables;
class CaptureUse;
class FilterTables;
struct FlowSamplingUse;
class FlowTables;
class PuntSessions;
class TraceSession;
struct FlowView;
struct RuleTables;
struct SpreadCosts;
struct TunnelSetup;

// A port that runs.
struct PortStatus {
  PortId id = 0;  // DPDK's number
  config::PortConfig config;
  std::string driver;
  int socket = 0;  // of its buffers
  bool present = true;
  bool device_back = false;  // not present, but another device of its name is
  LinkState link;
  MacAddress mac{};
  uint16_t mtu = 1500;
  uint16_t largest_mtu = 9000;  // that driver and buffers take as they were set up
  uint16_t tag_bytes = 8;       // of VLAN tags that its frames may have beside the MTU
  // A tag of 802.1ad comes in as one of 802.1Q, and counts as part of what the MTU holds.
  bool hides_service_tags = false;
  uint16_t device_mtu = 0;  // of a kernel interface, as the kernel has it; 0: it is none
  uint16_t rx_queues = 1, tx_queues = 1;
  std::vector<std::string> asked, given, refused;  // offloads, and what became of them
  std::string receive_path, transmit_path;         // the driver's words for its loops; empty: none
  std::string trouble;                             // of its device, in words; empty: none

  const std::string& name() const { return config.name; }
  bool up() const { return present && link.up; }
  // The longest packet that it carries behind these tags.
  uint16_t mtu_behind(const VlanTags& tags) const {
    const unsigned room = tags.service && hides_service_tags ? 0 : tag_bytes;
    const unsigned wanted = tags.count() * kVlanTagBytes;
    return static_cast<uint16_t>(wanted > room ? mtu - (wanted - room) : mtu);
  }
};

struct WorkerStatus {
  struct Queue {
    std::string port;
    QueueId queue = 0;
    std::string spread{};  // how it goes over workers, or why not, in words; empty: not asked for
    bool waits_to_spread = false;  // until this worker is at its limit
  };
  unsigned id = 0;
  unsigned cpu = 0;
  int socket = 0;
  std::vector<Queue> queues;
  unsigned remote_queues = 0;  // of ports on another socket
  IdleMode idle = IdleMode::kSleep, idle_in_force = IdleMode::kSleep;
  std::vector<std::string> no_wakeup{};  // why it does not wait as its mode says, by port
};

struct PoolStatus {
  std::string name;
  int socket = 0;
  uint32_t size = 0, in_use = 0, data_room_bytes = 0;
  std::vector<std::string> ports;
  const rte_mempool* pool = nullptr;
};

class ForwardingPlane {
 public:
  virtual ~ForwardingPlane() = default;

  // Whether the device is there, without touching it.
  virtual Result<void> check_device(const config::PortConfig& config) const = 0;
  // Finds or creates the port's device and keeps it for add_port().
  virtual Result<config::PortCapability> probe(const config::PortConfig& config) = 0;
  // A port that was probed and is not added after all.
  virtual void forget_probed(const std::string& name) = 0;
  // Configures and starts the port, which is probed first if it was not. Packets flow after the
  // next publish().
  virtual Result<PortStatus> add_port(const config::PortConfig& config,
                                      const config::Placement& placement) = 0;
  // Publishes without it, waits for readers, then stops and closes it.
  virtual void remove_port(const std::string& name) = 0;
  // While running. A refusal leaves the port as it was.
  virtual Result<void> set_mtu(const std::string& port, uint16_t mtu) = 0;
  virtual Result<void> set_promiscuous(const std::string& port, bool on) = 0;
  virtual void update_config(const config::PortConfig& config) = 0;
  // The queue goes over the workers of its socket from now on; takes its turn at once. False: it does not
  // wait for that.
  virtual bool spread(const std::string& port, QueueId queue, const SpreadCosts& costs) = 0;
  // Members of bonds whose link or device came or went, in or out. True: some did.
  virtual bool follow_members() { return false; }
  virtual std::vector<BondStatus> bonds() const { return {}; }  // by name
  // Once a second: what somebody did to the ports' devices, a line each, mended where it can be.
  virtual std::vector<std::string> mend_ports() = 0;

  // `up`, `addresses`: with what Linux says of its twin.
  virtual void set_interface(const Interface& interface, bool up,
                             std::vector<IpPrefix> addresses) = 0;
  virtual void remove_interface(InterfaceId id) = 0;
  virtual bool interface_up(InterfaceId id) const = 0;  // as published
  virtual std::vector<IpPrefix> interface_addresses(InterfaceId id) const = 0;

  // Burst, idle sleep and punt rates.
  virtual void configure(const config::Config& config) = 0;
  // Who the router itself talks to; null: not known.
  virtual void set_punt_sessions(std::shared_ptr<const PuntSessions> sessions) = 0;
  // Linux's policy rules; null: its usual ones.
  virtual void set_rules(std::shared_ptr<const RuleTables> rules) = 0;
  // The file's filters; null: none.
  virtual void set_filters(std::shared_ptr<const FilterTables> filters) = 0;
  // NAT of the file. `interface`: its id by name, kNoInterface where it is not there. An error: as before.
  virtual Result<void> set_nat(
      const config::NatConfig&,
      const std::function<InterfaceId(const std::string&)>& /*interface*/) {
    return {};
  }
  virtual std::shared_ptr<const NatTables> nat() const { return nullptr; }  // null: none
  virtual void set_flows(std::shared_ptr<const FlowView> flows) = 0;  // null: the flow table is off
  // Fails where there is no memory.
  virtual Result<std::shared_ptr<FlowTables>> make_flow_tables(uint32_t entries) = 0;
  // Bridges of Linux whose ports switch; null: none.
  virtual void set_bridges(std::shared_ptr<const BridgeViews> bridges) = 0;
  // Tunnels that are up; `gre_is_known`: as TunnelTables has it.
  virtual void set_tunnels(const std::vector<TunnelSetup>&, bool /*gre_is_known*/) {}
  virtual void set_labels(bool /*on*/) {}  // whether MPLS is forwarded where it is let in
  // Null: there is no memory.
  virtual std::shared_ptr<lookup::MacTable> make_station_table(size_t entries) = 0;
  virtual void use_ipsec(bool used) = 0;  // whether workers run its stages
  virtual void close(bool closed) = 0;    // whether all that comes in is dropped as not_ready
  virtual void set_trace(std::shared_ptr<TraceSession> trace) = 0;                 // null: none
  virtual void set_capture(std::shared_ptr<CaptureUse> capture) = 0;               // null: none
  virtual void set_sampling(std::shared_ptr<const FlowSamplingUse> sampling) = 0;  // null: none
  virtual void publish() = 0;
  virtual void
  publish_changes() = 0;       // only if interfaces, sessions, rules or IPsec's use have changed
  virtual void reclaim() = 0;  // what nobody reads any more

  virtual std::vector<PortStatus> ports() const = 0;  // by name
  virtual std::optional<PortStatus> port(const std::string& name) const = 0;
  virtual std::optional<std::string> port_name(PortId id) const = 0;
  virtual PortStatistics statistics(const std::string& port) const = 0;
  virtual std::vector<WorkerStatus> workers() const = 0;  // by id
  virtual std::vector<PoolStatus> pools() const = 0;
  virtual bool has_ipsec() const = 0;   // this machine can
  virtual bool uses_ipsec() const = 0;  // workers run its stages
  virtual unsigned features() const = 0;
  virtual uint16_t burst() const = 0;
  virtual uint32_t punt_pps(Reason reason) const = 0;
  virtual uint32_t punt_class_pps(PuntClass punt_class) const = 0;  // of one interface
  virtual std::shared_ptr<const PuntSessions> punt_sessions() const = 0;
  // The newest packet that met the reason, on whichever worker.
  virtual std::optional<ExamplePacket> example(Reason reason) const = 0;
  virtual unsigned in_flight() const = 0;
  virtual uint64_t fragments_made() const = 0;
};

}  // namespace hecto::router
