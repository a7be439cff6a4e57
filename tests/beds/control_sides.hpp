// Control's two sides, played: both only say what they were asked to do, in one list, in order.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "router/control/forwarding_plane.hpp"
#include "router/control/interface_table.hpp"
#include "router/control/linux_side.hpp"
#include "router/dataplane/core/bridge_views.hpp"
#include "router/dataplane/core/tunnel_tables.hpp"
#include "router/dataplane/flow/flow_tables.hpp"
#include "router/dataplane/port_spread.hpp"

namespace hecto::router::test {

using Said = std::vector<std::string>;

// Every port is there, at 10 Gbit/s, unless the test says otherwise.
class FakePlane final : public ForwardingPlane {
 public:
  explicit FakePlane(Said& said) : said_(said) {}

  Result<void> check_device(const config::PortConfig& config) const override {
    if (absent.contains(config.name)) return fail("port " + config.name + ": it is not there");
    return {};
  }
  Result<config::PortCapability> probe(const config::PortConfig& config) override {
    said_.push_back("probe " + config.name);
    if (missing.contains(config.name)) return fail("port " + config.name + ": there is no device");
    return config::PortCapability{max_rx_queues, 0};
  }
  void forget_probed(const std::string& name) override { said_.push_back("forget " + name); }
  bool spread(const std::string& port, QueueId queue, const SpreadCosts& costs) override {
    said_.push_back(fmt::format("spread {}:{} at {:.0f} and {:.0f}, free {:.2f}", port,
                                queue.value(), costs.receive, costs.rest,
                                fmt::join(costs.free, " ")));
    return !refused.contains(port);
  }
  std::vector<std::string> mend_ports() override { return std::exchange(mended, {}); }
  Result<PortStatus> add_port(const config::PortConfig& config,
                              const config::Placement& placement) override {
    said_.push_back("add port " + config.name);
    if (refused.contains(config.name)) return fail("port " + config.name + ": the driver refused");
    PortStatus port;
    while (port_name(port.id)) ++port.id;
    port.config = config;
    port.driver = !xdp ? "net_fake" : config.vlans.empty() ? "net_af_xdp" : "net_af_packet";
    port.link = {true, 10000};
    port.mac = {0x02, 0, 0, 0, 0, static_cast<uint8_t>(port.id)};
    port.mtu = config.mtu;
    for (const config::PortPlacement& placed : placement.ports)
      if (placed.port == config.name) port.rx_queues = placed.rx_queues;
    running[config.name] = port;
    return port;
  }
  void remove_port(const std::string& name) override {
    said_.push_back("remove port " + name);
    running.erase(name);
  }
  Result<void> set_mtu(const std::string& port, uint16_t mtu) override {
    said_.push_back(fmt::format("mtu {} {}", port, mtu));
    if (mtu > most_mtu) return fail(fmt::format("port {}: MTU {} is too large", port, mtu));
    running.at(port).mtu = mtu;
    return {};
  }
  Result<void> set_promiscuous(const std::string& port, bool on) override {
    said_.push_back(fmt::format("promiscuous {} {}", port, on));
    return {};
  }
  void update_config(const config::PortConfig& config) override {
    running.at(config.name).config = config;
  }

  struct Seen {
    std::string name;
    uint16_t mtu = 0;
    bool up = false;
    std::vector<IpPrefix> addresses;
    InterfaceSwitches switches;
  };
  void set_interface(const Interface& interface, bool up,
                     std::vector<IpPrefix> addresses) override {
    interfaces[interface.id] = {interface.name, interface.mtu, up, std::move(addresses),
                                interface.switches};
  }
  void remove_interface(InterfaceId id) override { interfaces.erase(id); }
  bool interface_up(InterfaceId id) const override {
    const auto found = published.find(id);
    return found != published.end() && found->second.up;
  }
  std::vector<IpPrefix> interface_addresses(InterfaceId id) const override {
    return interfaces.at(id).addresses;
  }

  void configure(const config::Config& config) override {
    said_.push_back("configure");
    burst_ = config.burst;
  }
  void set_punt_sessions(std::shared_ptr<const PuntSessions> known) override {
    sessions = std::move(known);
  }
  void set_rules(std::shared_ptr<const RuleTables> now) override {
    said_.push_back(now ? "rules" : "no rules");
    rules = std::move(now);
  }
  void set_filters(std::shared_ptr<const FilterTables> now) override {
    said_.push_back(now ? "filters" : "no filters");
    filters = std::move(now);
  }
  void set_flows(std::shared_ptr<const FlowView> now) override { flows = std::move(now); }
  Result<std::shared_ptr<FlowTables>> make_flow_tables(uint32_t entries) override {
    return FlowTables::create({entries, 1, 0, random_flow_seed()}, lookup::Memory::system(),
                              lookup::Reclaimer::none());
  }
  void set_bridges(std::shared_ptr<const BridgeViews> now) override { bridges = std::move(now); }
  void set_labels(bool on) override { labels = on; }
  void set_tunnels(const std::vector<TunnelSetup>& now, bool known) override {
    tunnels = now;
    gre_is_known = known;
  }
  std::shared_ptr<lookup::MacTable> make_station_table(size_t entries) override {
    if (no_station_table) return nullptr;
    return std::make_shared<lookup::MacTable>(entries, 0x9e3779b97f4a7c15, lookup::Memory::system(),
                                              0, lookup::Reclaimer::none());
  }
  void use_ipsec(bool used) override { ipsec = used; }
  void close(bool closes) override { closed = closes; }
  void set_trace(std::shared_ptr<TraceSession> session) override { trace = std::move(session); }
  void set_capture(std::shared_ptr<CaptureUse> use) override { capture = std::move(use); }
  void set_sampling(std::shared_ptr<const FlowSamplingUse> use) override {
    sampling = std::move(use);
  }
  void publish() override {
    said_.push_back("publish");
    published = interfaces;
  }
  void publish_changes() override { publish(); }
  void reclaim() override {}

  std::vector<PortStatus> ports() const override {
    std::vector<PortStatus> all;
    for (const auto& [name, port] : running) all.push_back(port);
    return all;
  }
  std::optional<PortStatus> port(const std::string& name) const override {
    const auto found = running.find(name);
    return found == running.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<std::string> port_name(PortId id) const override {
    for (const auto& [name, port] : running)
      if (port.id == id) return name;
    return std::nullopt;
  }
  std::vector<BondStatus> bonds() const override { return bond_list; }
  PortStatistics statistics(const std::string& port) const override {
    const auto found = counted.find(port);
    return found == counted.end() ? PortStatistics{} : found->second;
  }
  std::vector<WorkerStatus> workers() const override { return worker_list; }
  std::vector<PoolStatus> pools() const override { return pool_list; }
  bool has_ipsec() const override { return true; }
  bool uses_ipsec() const override { return ipsec; }
  unsigned features() const override { return feature_bits; }
  uint16_t burst() const override { return burst_; }
  uint32_t punt_pps(Reason reason) const override { return info(reason).default_pps; }
  uint32_t punt_class_pps(PuntClass punt_class) const override {
    return info(punt_class).default_pps;
  }
  std::shared_ptr<const PuntSessions> punt_sessions() const override { return sessions; }
  std::optional<ExamplePacket> example(Reason reason) const override {
    const auto found = examples.find(reason);
    return found == examples.end() ? std::nullopt : std::optional(found->second);
  }
  unsigned in_flight() const override { return 3; }
  uint64_t fragments_made() const override { return 4; }

  std::set<std::string> absent, missing, refused;  // ports
  std::vector<std::string> mended;                 // what mend_ports() has to say
  uint16_t max_rx_queues = 0, most_mtu = 9000;
  bool xdp = false;  // its ports are kernel interfaces
  std::map<std::string, PortStatus> running;
  std::map<std::string, PortStatistics> counted;
  std::map<InterfaceId, Seen> interfaces, published;
  std::vector<WorkerStatus> worker_list;
  std::vector<PoolStatus> pool_list;
  std::vector<BondStatus> bond_list;
  std::map<Reason, ExamplePacket> examples;
  std::shared_ptr<const PuntSessions> sessions;
  std::shared_ptr<TraceSession> trace;
  std::shared_ptr<CaptureUse> capture;
  std::shared_ptr<const FlowSamplingUse> sampling;
  unsigned feature_bits = 0;
  std::shared_ptr<const RuleTables> rules;
  std::shared_ptr<const FilterTables> filters;
  std::vector<TunnelSetup> tunnels;
  bool gre_is_known = true;
  bool labels = false;
  std::shared_ptr<const BridgeViews> bridges;
  std::shared_ptr<const FlowView> flows;
  bool no_station_table = false;
  bool ipsec = false;
  bool closed = false;

 private:
  Said& said_;
  uint16_t burst_ = 0;
};

// Twins have ifindexes from 11 on.
class FakeLinux final : public LinuxSide {
 public:
  explicit FakeLinux(Said& said) : said_(said) {}

  Result<int> make_twin(const Interface& interface) override {
    if (refused.contains(interface.name)) return fail("no TAP for " + interface.name);
    said_.push_back("twin " + interface.name);
    twins[interface.id] = interface.name;
    return next_ifindex++;
  }
  Result<void> set_twin_name(const Interface& interface) override {
    said_.push_back("twin name " + interface.name);
    return {};
  }
  Result<void> set_twin_mac(const Interface& interface) override {
    said_.push_back("twin mac " + interface.name);
    return {};
  }
  void suspend_twin(InterfaceId id) override { suspended.insert(id); }
  void resume_twin(const Interface& interface) override { suspended.erase(interface.id); }
  void remove_twin(InterfaceId id) override {
    if (twins.contains(id)) said_.push_back("no twin " + twins[id]);
    twins.erase(id);
    suspended.erase(id);
  }
  void set_twin_mtu(InterfaceId id, uint16_t mtu) override {
    said_.push_back(fmt::format("twin mtu {} {}", twins.at(id), mtu));
  }
  void set_twin_carrier(InterfaceId id, bool on) override { carrier[twins.at(id)] = on; }
  bool twin_gone(InterfaceId id) const override {
    const auto twin = twins.find(id);
    return twin != twins.end() && gone.contains(twin->second);
  }
  std::optional<TapState> twin_state(InterfaceId id) const override {
    const auto state = states.find(id);
    return state == states.end() ? std::nullopt : std::optional(state->second);
  }
  void deliver(const InterfaceTable& interfaces) override {
    delivered.clear();
    for (const auto& [id, interface] : interfaces.all())
      if (const auto twin = twins.find(interfaces.twin_of(interface));
          twin != twins.end() && !suspended.contains(twin->first))
        delivered[interface.name] = twin->second;
    said_.push_back("deliver");
  }

  Result<SwitchesOfAll> switches(const std::vector<std::string>& names) const override {
    SwitchesOfAll all;
    for (const std::string& name : names) {
      const auto found = switched.find(name);
      all.push_back(found == switched.end() ? InterfaceSwitches{} : found->second);
    }
    return all;
  }
  Result<LabelSwitches> label_switches() const override { return labels; }
  void read_labels(const std::string& why) override { labels_read_for = why; }
  Result<void> add_address(int ifindex, const IpPrefix& address) override {
    if (refused_addresses.contains(address.to_string()))
      return fail("Linux refused to add " + address.to_string());
    said_.push_back(fmt::format("address {} {}", ifindex, address.to_string()));
    return {};
  }
  Result<void> remove_address(int ifindex, const IpPrefix& address) override {
    said_.push_back(fmt::format("no address {} {}", ifindex, address.to_string()));
    return {};
  }
  Result<void> set_permanent_neighbor(int ifindex, const IpAddress& address,
                                      const MacAddress&) override {
    said_.push_back(fmt::format("neighbor {} {}", ifindex, address.to_string()));
    return {};
  }
  Result<void> remove_neighbor(int ifindex, const IpAddress& address) override {
    said_.push_back(fmt::format("no neighbor {} {}", ifindex, address.to_string()));
    return {};
  }
  Result<void> probe_neighbor(int, const IpAddress& address) override {
    ++probed[address];
    return {};
  }
  Result<void> hear_station(int port, uint16_t vlan, const MacAddress& mac) override {
    said_.push_back(fmt::format("heard {} {} {}", port, vlan, to_string(mac)));
    return {};
  }
  std::vector<std::string> write_routes(const std::vector<Route>& routes, bool remove) override {
    for (const Route& route : routes)
      said_.push_back(fmt::format("{}route {}", remove ? "no " : "", route.prefix.to_string()));
    return {};
  }

  const std::string& name() const override { return name_; }
  Result<void> check() const override { return {}; }
  const MirrorStats& mirror_stats() const override { return stats; }
  bool mirror_synchronized() const override { return true; }
  uint64_t frames_without_mbuf(const rte_mempool*) const override { return 5; }

  std::set<std::string> refused, gone;   // interfaces
  std::map<IpAddress, unsigned> probed;  // neighbors, and how often
  std::set<std::string> refused_addresses;
  int next_ifindex = 11;
  std::map<std::string, InterfaceSwitches> switched;  // interfaces; others: all by default
  LabelSwitches labels;
  std::string labels_read_for;
  std::map<InterfaceId, std::string> twins;
  std::set<InterfaceId> suspended;
  std::map<InterfaceId, TapState> states;  // of twins; none: as Linux's news say
  std::map<std::string, bool> carrier;
  std::map<std::string, std::string> delivered;  // interface, and whose twin takes its packets
  MirrorStats stats;

 private:
  Said& said_;
  std::string name_ = "blue";
};

}  // namespace hecto::router::test
