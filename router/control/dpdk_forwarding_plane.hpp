// The data plane of DPDK, as control's objects use it: probed ports on their way into Dataplane,
// and snapshots published when something has changed. Owns Dataplane. Control only.
#pragma once

#include <map>

#include "router/control/forwarding_plane.hpp"
#include "router/control/port_devices.hpp"

namespace hecto::router {

class Dataplane;
class InheritedTables;
class Ipsec;

class DpdkForwardingPlane final : public ForwardingPlane {
 public:
  // `locks` may be null: then devices are not locked.
  explicit DpdkForwardingPlane(InstanceLocks* locks = nullptr);
  ~DpdkForwardingPlane() override;
  // Once, before anything but probe(). `ipsec` outlives it: its SAs are offered to new NICs.
  void start(std::unique_ptr<Dataplane> dataplane, Ipsec& ipsec);
  bool started() const { return dataplane_ != nullptr; }
  Dataplane& dataplane() { return *dataplane_; }

  Result<void> check_device(const config::PortConfig& config) const override;
  Result<config::PortCapability> probe(const config::PortConfig& config) override;
  void forget_probed(const std::string& name) override;
  Result<PortStatus> add_port(const config::PortConfig& config,
                              const config::Placement& placement) override;
  void remove_port(const std::string& name) override;
  Result<void> set_mtu(const std::string& port, uint16_t mtu) override;
  Result<void> set_promiscuous(const std::string& port, bool on) override;
  void update_config(const config::PortConfig& config) override;
  bool follow_members() override;
  std::vector<BondStatus> bonds() const override;
  bool spread(const std::string& port, QueueId queue, const SpreadCosts& costs) override;
  std::vector<std::string> mend_ports() override { return devices_.mend(); }

  void set_interface(const Interface& interface, bool up, std::vector<IpPrefix> addresses) override;
  void remove_interface(InterfaceId id) override;
  bool interface_up(InterfaceId id) const override;
  std::vector<IpPrefix> interface_addresses(InterfaceId id) const override;

  void configure(const config::Config& config) override;
  void set_punt_sessions(std::shared_ptr<const PuntSessions> sessions) override;
  void set_rules(std::shared_ptr<const RuleTables> rules) override;
  void set_filters(std::shared_ptr<const FilterTables> filters) override;
  Result<void> set_nat(const config::NatConfig& nat,
                       const std::function<InterfaceId(const std::string&)>& interface) override;
  std::shared_ptr<const NatTables> nat() const override;
  void set_flows(std::shared_ptr<const FlowView> flows) override;
  Result<std::shared_ptr<FlowTables>> make_flow_tables(uint32_t entries) override;
  void set_bridges(std::shared_ptr<const BridgeViews> bridges) override;
  void set_labels(bool on) override;
  void set_tunnels(const std::vector<TunnelSetup>& tunnels, bool gre_is_known) override;
  std::shared_ptr<lookup::MacTable> make_station_table(size_t entries) override;
  void use_ipsec(bool used) override;
  void close(bool closed) override;
  // Packets are forwarded by them; null: by this run's own.
  void inherit(std::shared_ptr<const InheritedTables> tables);
  void set_trace(std::shared_ptr<TraceSession> trace) override;
  void set_capture(std::shared_ptr<CaptureUse> capture) override;
  void set_sampling(std::shared_ptr<const FlowSamplingUse> sampling) override;
  void publish() override;
  void publish_changes() override;
  void reclaim() override;

  std::vector<PortStatus> ports() const override;
  std::optional<PortStatus> port(const std::string& name) const override;
  std::optional<std::string> port_name(PortId id) const override;
  PortStatistics statistics(const std::string& port) const override;
  std::vector<WorkerStatus> workers() const override;
  std::vector<PoolStatus> pools() const override;
  bool has_ipsec() const override;
  bool uses_ipsec() const override;
  unsigned features() const override;
  uint16_t burst() const override;
  uint32_t punt_pps(Reason reason) const override;
  uint32_t punt_class_pps(PuntClass punt_class) const override;
  std::shared_ptr<const PuntSessions> punt_sessions() const override;
  std::optional<ExamplePacket> example(Reason reason) const override;
  unsigned in_flight() const override;
  uint64_t fragments_made() const override;

 private:
  PortStatus status(const Port& port) const;
  std::vector<config::PortConfig> running() const;

  PortDevices devices_;
  std::map<std::string, std::unique_ptr<Port>> probed_;  // and not added yet
  std::unique_ptr<Dataplane> dataplane_;
  Ipsec* ipsec_ = nullptr;
  bool changed_ = false;  // since the last publish()
};

}  // namespace hecto::router
