#include "router/control/dpdk_forwarding_plane.hpp"

#include "router/dataplane/dataplane.hpp"
#include "router/ipsec/ipsec.hpp"

namespace hecto::router {

DpdkForwardingPlane::DpdkForwardingPlane() = default;
DpdkForwardingPlane::~DpdkForwardingPlane() = default;

void DpdkForwardingPlane::start(std::unique_ptr<Dataplane> dataplane, Ipsec& ipsec) {
  dataplane_ = std::move(dataplane);
  ipsec_ = &ipsec;
}

Result<config::PortCapability> DpdkForwardingPlane::probe(const config::PortConfig& config) {
  auto port = Port::probe(config);
  if (!port) return tl::unexpected(port.error());
  const config::PortCapability capability{(*port)->max_rx_queues(), (*port)->socket()};
  probed_[config.name] = std::move(*port);
  return capability;
}

Result<PortStatus> DpdkForwardingPlane::add_port(const config::PortConfig& config,
                                                 const config::Placement& placement) {
  if (!probed_.contains(config.name))
    if (auto found = probe(config); !found) return tl::unexpected(found.error());
  std::unique_ptr<Port> port = std::move(probed_.extract(config.name).mapped());
  if (auto done = dataplane_->add_port(std::move(port), placement); !done)
    return tl::unexpected(done.error());
  ipsec_->offer_to_nics();
  return status(*dataplane_->port(config.name));
}

void DpdkForwardingPlane::remove_port(const std::string& name) {
  dataplane_->remove_port(name);
}

Result<void> DpdkForwardingPlane::set_mtu(const std::string& port, uint16_t mtu) {
  Port* const found = dataplane_->port(port);
  return found == nullptr ? fail("there is no port " + port) : found->set_mtu(mtu);
}

Result<void> DpdkForwardingPlane::set_promiscuous(const std::string& port, bool on) {
  Port* const found = dataplane_->port(port);
  return found == nullptr ? fail("there is no port " + port) : found->set_promiscuous(on);
}

void DpdkForwardingPlane::update_config(const config::PortConfig& config) {
  if (Port* port = dataplane_->port(config.name)) port->update(config);
}

void DpdkForwardingPlane::set_interface(const Interface& interface, bool up,
                                        std::vector<IpPrefix> addresses) {
  InterfaceSetup setup;
  setup.id = interface.id;
  setup.port = interface.port;
  setup.vlan = interface.vlan;
  setup.up = up;
  setup.urpf = interface.urpf;
  setup.counters = interface.counters;
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
  settings.idle_sleep_us = config.idle == config::IdleMode::kPoll ? 0 : config.idle_sleep_us;
  for (size_t i = 0; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    const auto found = config.punt_pps.find(std::string(reason.name));
    settings.punt_pps[i] = found == config.punt_pps.end() ? reason.default_pps : found->second;
  }
}

void DpdkForwardingPlane::use_ipsec(bool used) {
  changed_ |= dataplane_->settings().ipsec != used;
  dataplane_->settings().ipsec = used;
}

void DpdkForwardingPlane::set_trace(std::shared_ptr<TraceSession> trace) {
  dataplane_->settings().trace = std::move(trace);
}

void DpdkForwardingPlane::set_capture(std::shared_ptr<CaptureUse> capture) {
  dataplane_->settings().capture = std::move(capture);
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
  s.link = port.link();
  s.mac = port.mac();
  s.mtu = port.mtu();
  s.rx_queues = port.rx_queues();
  s.tx_queues = port.tx_queues();
  s.asked = port.asked();
  s.given = port.given();
  s.refused = port.refused();
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

std::optional<std::string> DpdkForwardingPlane::port_name(uint16_t id) const {
  const Port* found = dataplane_->port(id);
  return found == nullptr ? std::nullopt : std::optional(found->name());
}

PortStatistics DpdkForwardingPlane::statistics(const std::string& port) const {
  const Port* found = dataplane_->port(port);
  return found == nullptr ? PortStatistics{} : found->statistics();
}

std::vector<WorkerStatus> DpdkForwardingPlane::workers() const {
  std::vector<WorkerStatus> all;
  for (const auto& worker : dataplane_->workers()) {
    const Worker::Options& options = worker->options();
    WorkerStatus status{options.id, options.cpu, options.socket, {}, 0};
    for (const ReceiveQueue& queue : dataplane_->snapshot().workers[options.id].queues) {
      const Port* port = dataplane_->port(queue.port);
      status.queues.push_back({port == nullptr ? "" : port->name(), queue.queue});
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

uint64_t DpdkForwardingPlane::unfinished_checksums() const {
  uint64_t packets = 0;
  for (const auto& worker : dataplane_->workers())
    packets += worker->counters().unfinished_checksums.get();
  return packets;
}

}  // namespace hecto::router
