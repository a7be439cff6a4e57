#include "router/control/dpdk_forwarding_plane.hpp"

#include <spdlog/spdlog.h>

#include "router/control/ecmp_seed.hpp"
#include "router/control/instance.hpp"
#include "router/dataplane/core/tunnel_tables.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/idle_policy.hpp"
#include "router/dataplane/ports/bond.hpp"
#include "router/dataplane/punt/sessions.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {

DpdkForwardingPlane::DpdkForwardingPlane(InstanceLocks* locks) : devices_(locks) {}

// The devices are let go once their ports are closed.
DpdkForwardingPlane::~DpdkForwardingPlane() {
  std::vector<config::PortConfig> configs = running();
  for (const auto& [name, port] : probed_) configs.push_back(port->config());
  for (const config::PortConfig& config : configs) devices_.stopping(config.name);
  probed_.clear();
  dataplane_.reset();
  for (const config::PortConfig& config : configs) devices_.release(config, {});
}

void DpdkForwardingPlane::start(std::unique_ptr<Dataplane> dataplane, Ipsec& ipsec) {
  dataplane_ = std::move(dataplane);
  ipsec_ = &ipsec;
}

std::vector<config::PortConfig> DpdkForwardingPlane::running() const {
  std::vector<config::PortConfig> configs;
  if (dataplane_)
    for (const auto& [name, port] : dataplane_->ports()) configs.push_back(port->config());
  return configs;
}

Result<void> DpdkForwardingPlane::check_device(const config::PortConfig& config) const {
  return PortDevices::check(config);
}

Result<config::PortCapability> DpdkForwardingPlane::probe(const config::PortConfig& config) {
  if (auto taken = devices_.take(config, running()); !taken) return tl::unexpected(taken.error());
  std::vector<std::string> stays_on = devices_.turn_off_offloads(config);
  auto port = Port::probe(config);
  if (!port) {
    devices_.release(config, running());
    return tl::unexpected(port.error());
  }
  // A kernel interface by its own name has seen to it itself.
  if (config.kind == config::DeviceKind::kVdev)
    for (std::string& sentence : stays_on) (*port)->refuse(std::move(sentence));
  const config::PortCapability capability{(*port)->max_rx_queues(), (*port)->socket()};
  probed_[config.name] = std::move(*port);
  return capability;
}

Result<PortStatus> DpdkForwardingPlane::add_port(const config::PortConfig& config,
                                                 const config::Placement& placement) {
  if (!probed_.contains(config.name))
    if (auto found = probe(config); !found) return tl::unexpected(found.error());
  std::unique_ptr<Port> port = std::move(probed_.extract(config.name).mapped());
  if (auto done = dataplane_->add_port(std::move(port), placement); !done) {
    devices_.release(config, running());
    return tl::unexpected(done.error());
  }
  if (dataplane_->port(config.name)->af_xdp()) devices_.started(config);
  ipsec_->offer_to_nics();
  return status(*dataplane_->port(config.name));
}

void DpdkForwardingPlane::forget_probed(const std::string& name) {
  const auto port = probed_.extract(name);
  if (port.empty()) return;
  const config::PortConfig config = port.mapped()->config();
  port.mapped()->close();
  devices_.release(config, running());
}

void DpdkForwardingPlane::remove_port(const std::string& name) {
  const Port* port = dataplane_->port(name);
  if (port == nullptr) return;
  const config::PortConfig config = port->config();
  devices_.stopping(name);
  dataplane_->remove_port(name);
  devices_.release(config, running());
}

Result<void> DpdkForwardingPlane::set_mtu(const std::string& port, uint16_t mtu) {
  return dataplane_->set_mtu(port, mtu);
}

Result<void> DpdkForwardingPlane::set_promiscuous(const std::string& port, bool on) {
  Port* const found = dataplane_->port(port);
  return found == nullptr ? fail("there is no port " + port) : found->set_promiscuous(on);
}

bool DpdkForwardingPlane::follow_members() {
  return dataplane_->follow_members();
}

std::vector<BondStatus> DpdkForwardingPlane::bonds() const {
  std::vector<BondStatus> all;
  for (const auto& [name, port] : dataplane_->ports())
    if (port->bond() != nullptr) all.push_back(port->bond()->status());
  return all;
}

bool DpdkForwardingPlane::spread(const std::string& port, QueueId queue, const SpreadCosts& costs) {
  return dataplane_->spread(port, queue, costs);
}

void DpdkForwardingPlane::update_config(const config::PortConfig& config) {
  if (Port* port = dataplane_->port(config.name)) port->update(config);
}

void DpdkForwardingPlane::set_interface(const Interface& interface, bool up,
                                        std::vector<IpPrefix> addresses) {
  InterfaceSetup setup;
  setup.id = interface.id;
  setup.port = interface.port;
  setup.tags = interface.tags;
  setup.mac = interface.mac;
  setup.tunnel = interface.tunnel;
  setup.macvlan = interface.parent != kNoInterface;
  setup.bridged = interface.bridged;
  setup.attached = interface.attached;
  setup.up = up;
  setup.urpf = interface.urpf;
  setup.counters = interface.counters;
  setup.rp_filter = interface.switches.rp_filter;
  setup.forwards4 = interface.switches.forwards4;
  setup.forwards6 = interface.switches.forwards6;
  setup.redirects4 = interface.switches.redirects4;
  setup.redirects6 = interface.switches.redirects6;
  setup.accept_local = interface.switches.accept_local;
  setup.linux_only = interface.linux_only;
  setup.mtu = interface.mtu;
  setup.clamps_mss = interface.clamps_mss;
  setup.labels = interface.switches.labels && interface.port != kNoPort && !interface.bridged;
  setup.addresses = std::move(addresses);
  dataplane_->set_interface(setup);
  changed_ = true;
}

void DpdkForwardingPlane::remove_interface(InterfaceId id) {
  dataplane_->remove_interface(id);
  changed_ = true;
}

bool DpdkForwardingPlane::interface_up(InterfaceId id) const {
  return dataplane_->snapshot().interfaces[id].up;
}

std::vector<IpPrefix> DpdkForwardingPlane::interface_addresses(InterfaceId id) const {
  return dataplane_->addresses_of(id);
}

void DpdkForwardingPlane::configure(const config::Config& config) {
  Dataplane::Settings& settings = dataplane_->settings();
  settings.burst = config.burst;
  settings.idle.clear();
  for (const auto& worker : dataplane_->workers())
    settings.idle.push_back(config.idle_of(worker->options().cpu));
  settings.idle_sleep_us = config.idle_sleep_us;
  settings.ecmp_seed = config.ecmp_seed.value_or(own_ecmp_seed(config.api_socket));
  for (size_t i = 0; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    const auto found = config.punt_pps.find(std::string(reason.name));
    settings.punt_pps[i] = found == config.punt_pps.end() ? reason.default_pps : found->second;
  }
  for (size_t i = 0; i < kPuntClassCount; ++i) {
    const PuntClassInfo& each = info(static_cast<PuntClass>(i));
    const auto found = config.punt_class_pps.find(std::string(each.name));
    settings.punt_class_pps[i] =
        found == config.punt_class_pps.end() ? each.default_pps : found->second;
  }
}

void DpdkForwardingPlane::set_punt_sessions(std::shared_ptr<const PuntSessions> sessions) {
  dataplane_->settings().punt_sessions = std::move(sessions);
  changed_ = true;
}

void DpdkForwardingPlane::set_rules(std::shared_ptr<const RuleTables> rules) {
  changed_ |= dataplane_->settings().rules != rules;
  dataplane_->settings().rules = std::move(rules);
}

void DpdkForwardingPlane::set_filters(std::shared_ptr<const FilterTables> filters) {
  changed_ |= dataplane_->settings().filters != filters;
  dataplane_->settings().filters = std::move(filters);
}
Result<void> DpdkForwardingPlane::set_nat(
    const config::NatConfig& nat, const std::function<InterfaceId(const std::string&)>& interface) {
  if (nat.empty()) {
    changed_ |= dataplane_->settings().nat != nullptr;
    return dataplane_->set_nat(nullptr);
  }
  auto made = make_nat_tables({nat, interface, dataplane_->worker_sockets(),
                               dataplane_->settings().nat.get(), dataplane_->memory()});
  if (!made) return tl::unexpected(made.error());
  changed_ = true;
  return dataplane_->set_nat(std::move(*made));
}

std::shared_ptr<const NatTables> DpdkForwardingPlane::nat() const {
  return dataplane_->settings().nat;
}
void DpdkForwardingPlane::set_flows(std::shared_ptr<const FlowView> flows) {
  changed_ |= dataplane_->settings().flows != flows;
  dataplane_->settings().flows = std::move(flows);
}

Result<std::shared_ptr<FlowTables>> DpdkForwardingPlane::make_flow_tables(uint32_t entries) {
  return dataplane_->make_flow_tables(entries);
}
void DpdkForwardingPlane::set_bridges(std::shared_ptr<const BridgeViews> bridges) {
  changed_ |= bridges != nullptr || dataplane_->settings().bridges != nullptr;
  dataplane_->settings().bridges = std::move(bridges);
}

// A flag of mbufs of our own: what came out of a tunnel or of labels, for its interface's filter.
// Without one there are none of these here.
static int opened_bit() {
  static constexpr rte_mbuf_dynflag kFlag = {"hecto_by_tunnel", 0};
  return rte_mbuf_dynflag_register(&kFlag);
}

void DpdkForwardingPlane::set_labels(bool on) {
  const int bit = on ? opened_bit() : -1;
  if (on && bit < 0)
    spdlog::error("labels: no room in DPDK's mbufs ({}): MPLS is Linux's", dpdk_error(rte_errno));
  changed_ = true;
  dataplane_->settings().label_flag = bit < 0 ? 0 : uint64_t{1} << bit;
}

void DpdkForwardingPlane::set_tunnels(const std::vector<TunnelSetup>& tunnels, bool gre_is_known) {
  const int bit = tunnels.empty() ? -1 : opened_bit();
  if (!tunnels.empty() && bit < 0)
    spdlog::error("tunnels: no room in DPDK's mbufs ({}): their packets are Linux's",
                  dpdk_error(rte_errno));
  changed_ = true;
  dataplane_->settings().tunnels =
      bit < 0 ? nullptr
              : std::make_shared<const TunnelTables>(tunnels, gre_is_known, uint64_t{1} << bit);
}

std::shared_ptr<lookup::MacTable> DpdkForwardingPlane::make_station_table(size_t entries) {
  return dataplane_->make_station_table(entries);
}

void DpdkForwardingPlane::use_ipsec(bool used) {
  changed_ |= dataplane_->settings().ipsec != used;
  dataplane_->settings().ipsec = used;
}

void DpdkForwardingPlane::inherit(std::shared_ptr<const InheritedTables> tables) {
  changed_ = true;
  dataplane_->settings().inherited = std::move(tables);
}

void DpdkForwardingPlane::close(bool closed) {
  changed_ |= dataplane_->settings().closed != closed;
  dataplane_->settings().closed = closed;
}

void DpdkForwardingPlane::set_trace(std::shared_ptr<TraceSession> trace) {
  dataplane_->settings().trace = std::move(trace);
}

void DpdkForwardingPlane::set_capture(std::shared_ptr<CaptureUse> capture) {
  dataplane_->settings().capture = std::move(capture);
}

void DpdkForwardingPlane::set_sampling(std::shared_ptr<const FlowSamplingUse> sampling) {
  changed_ = true;
  dataplane_->settings().sampling = std::move(sampling);
}

void DpdkForwardingPlane::publish() {
  changed_ = false;
  dataplane_->publish();
}

void DpdkForwardingPlane::publish_changes() {
  if (changed_) publish();
}

void DpdkForwardingPlane::reclaim() {
  dataplane_->reclaim();
}

PortStatus DpdkForwardingPlane::status(const Port& port) const {
  const Mempool* pool = dataplane_->pool_of(port.name());
  PortStatus s;
  s.id = port.id();
  s.config = port.config();
  s.driver = port.driver();
  s.socket = pool == nullptr ? 0 : pool->socket();
  s.present = port.present();
  s.device_back =
      !s.present && port.kernel_interface() && KernelInterface(port.config().device).exists();
  s.link = port.link();
  s.mac = port.mac();
  s.mtu = port.mtu();
  s.largest_mtu = port.largest_mtu();
  s.tag_bytes = port.tag_bytes();
  s.hides_service_tags = port.hides_service_tags();
  if (const std::string device = kernel_interface_of(port.config()); !device.empty())
    s.device_mtu = KernelInterface(device).mtu().value_or(0);
  s.rx_queues = port.rx_queues();
  s.tx_queues = port.tx_queues();
  s.asked = port.asked();
  s.given = port.given();
  s.refused = port.refused();
  s.receive_path = port.receive_path();
  s.transmit_path = port.transmit_path();
  s.trouble = devices_.trouble(port.name());
  return s;
}

std::vector<PortStatus> DpdkForwardingPlane::ports() const {
  std::vector<PortStatus> all;
  for (const auto& [name, port] : dataplane_->ports()) all.push_back(status(*port));
  return all;
}

std::optional<PortStatus> DpdkForwardingPlane::port(const std::string& name) const {
  const Port* found = dataplane_->port(name);
  return found == nullptr ? std::nullopt : std::optional(status(*found));
}

std::optional<std::string> DpdkForwardingPlane::port_name(PortId id) const {
  const Port* found = dataplane_->port(id);
  return found == nullptr ? std::nullopt : std::optional(found->name());
}

PortStatistics DpdkForwardingPlane::statistics(const std::string& port) const {
  const Port* found = dataplane_->port(port);
  return found == nullptr ? PortStatistics{} : found->statistics();
}

std::vector<WorkerStatus> DpdkForwardingPlane::workers() const {
  const auto cpu_of = [this](unsigned worker) {
    return dataplane_->workers()[worker]->options().cpu;
  };
  std::vector<WorkerStatus> all;
  for (const auto& worker : dataplane_->workers()) {
    const Worker::Options& options = worker->options();
    const WorkerView& view = dataplane_->snapshot().workers[options.id];
    WorkerStatus status;
    status.id = options.id;
    status.cpu = options.cpu;
    status.socket = options.socket;
    status.idle = view.idle;
    status.idle_in_force = in_force(view.idle, view.can_wait);
    for (const ReceiveQueue& queue : view.queues) {
      const Port* port = dataplane_->port(queue.port);
      if (port != nullptr && may_wait(view.idle) && port->wakeups().empty()) {
        std::string why = port->name() + ": " + port->no_wakeup();
        if (status.no_wakeup.empty() || status.no_wakeup.back() != why)
          status.no_wakeup.push_back(std::move(why));
      }
      status.queues.push_back({port == nullptr ? "" : port->name(), queue.queue});
      if (port != nullptr) {
        const PortSpread& spread = dataplane_->spread_of(port->name());
        status.queues.back().spread = spread.describe(queue.queue, cpu_of);
        status.queues.back().waits_to_spread = spread.waits(queue.queue);
      }
      status.remote_queues +=
          port != nullptr && port->socket() >= 0 && port->socket() != options.socket;
    }
    all.push_back(std::move(status));
  }
  return all;
}

std::vector<PoolStatus> DpdkForwardingPlane::pools() const {
  std::vector<PoolStatus> all;
  for (const auto& pool : dataplane_->pools()) {
    PoolStatus status;
    status.name = pool->name();
    status.socket = pool->socket();
    status.size = pool->size();
    status.in_use = pool->in_use();
    status.data_room_bytes = pool->data_room_bytes();
    status.pool = pool->get();
    for (const auto& [name, port] : dataplane_->ports())
      if (dataplane_->pool_of(name) == pool.get()) status.ports.push_back(name);
    all.push_back(std::move(status));
  }
  return all;
}

bool DpdkForwardingPlane::has_ipsec() const {
  return dataplane_->has_ipsec();
}

bool DpdkForwardingPlane::uses_ipsec() const {
  return dataplane_->settings().ipsec;
}

unsigned DpdkForwardingPlane::features() const {
  return dataplane_->snapshot().features;
}

uint16_t DpdkForwardingPlane::burst() const {
  return dataplane_->snapshot().burst;
}

uint32_t DpdkForwardingPlane::punt_pps(Reason reason) const {
  return dataplane_->settings().punt_pps[static_cast<size_t>(reason)];
}

uint32_t DpdkForwardingPlane::punt_class_pps(PuntClass punt_class) const {
  return dataplane_->settings().punt_class_pps[static_cast<size_t>(punt_class)];
}

std::shared_ptr<const PuntSessions> DpdkForwardingPlane::punt_sessions() const {
  return dataplane_->settings().punt_sessions;
}

std::optional<ExamplePacket> DpdkForwardingPlane::example(Reason reason) const {
  constexpr int kAttempts = 4;  // to meet it while it is not written
  for (const auto& worker : dataplane_->workers()) {
    const Example& newest = worker->counters().reasons.examples[static_cast<size_t>(reason)];
    for (int i = 0; i < kAttempts; ++i)
      if (auto packet = newest.get()) return packet;
  }
  return std::nullopt;
}

unsigned DpdkForwardingPlane::in_flight() const {
  return dataplane_->in_flight();
}

uint64_t DpdkForwardingPlane::fragments_made() const {
  return dataplane_->fragments_made();
}

}  // namespace hecto::router
