// From a configuration to a router that is ready to run.
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "router/control/router.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/ipsec/ipsec_config.hpp"

namespace hecto::router {
namespace {

constexpr int kTick_ms = 50;

void log_routing(LogLevel level, const std::string& line) {
  spdlog::log(level == LogLevel::kWarning ? spdlog::level::warn : spdlog::level::info, line);
}

bool uses_memif(const config::Config& config) {
  for (const config::PortConfig& port : config.ports)
    if (port.device.starts_with("net_memif")) return true;
  return false;
}

// Buffers and what DPDK itself needs; the tables have memory of their own.
uint64_t pool_bytes(const config::Placement& placement, bool hugepages) {
  uint64_t bytes = 64u << 20;  // rings, queues, DPDK's own
  for (const config::PoolPlacement& pool : placement.pools)
    bytes += hugepages ? uint64_t{pool.mbufs} * (pool.data_room_bytes + sizeof(rte_mbuf) + 128)
                       : Mempool::ordinary_page_bytes(pool.mbufs, pool.data_room_bytes);
  return bytes + bytes / 16;
}

}  // namespace

// Worker ids follow the cores of the placement that DPDK was started with.
void keep_worker_ids(config::Placement& placement, const config::Placement& running) {
  for (config::WorkerPlacement& worker : placement.workers)
    for (const config::WorkerPlacement& w : running.workers)
      if (w.cpu == worker.cpu) worker.id = w.id;
  std::sort(placement.workers.begin(), placement.workers.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
}

Result<std::unique_ptr<Router>> Router::create(const config::Config& config) {
  auto topology = config::read_topology();
  if (!topology) return fail("topology: " + topology.error());
  return create(config, std::move(*topology));
}

Result<std::unique_ptr<Router>> Router::create(const config::Config& config,
                                               config::Topology topology) {
  std::unique_ptr<Router> router(new Router(config, std::move(topology)));
  if (auto done = router->start_environment(); !done) return tl::unexpected(done.error());
  std::vector<std::unique_ptr<Port>> ports;
  if (auto done = router->probe_ports(ports); !done) return tl::unexpected(done.error());
  if (auto done = router->start_tables(); !done) return tl::unexpected(done.error());
  if (auto done = router->start_linux_side(); !done) return tl::unexpected(done.error());
  router->apply_settings();
  for (auto& port : ports)
    if (auto done = router->bring_up(std::move(port)); !done) return tl::unexpected(done.error());
  router->update_twins();
  if (auto done = router->apply_static_state(); !done) return tl::unexpected(done.error());
  router->sampler_ = std::make_unique<Sampler>(*router->dataplane_);
  router->dataplane_->publish();
  router->log_start();
  return router;
}

Router::Router(const config::Config& config, config::Topology topology)
    : config_(config),
      topology_(std::move(topology)),
      loaded_unix_s_(std::time(nullptr)),
      started_(std::chrono::steady_clock::now()) {}

Result<void> Router::start_environment() {
  auto placement = config::place(config_, topology_);
  if (!placement) return fail(placement.error());
  placement_ = std::move(*placement);

  EalOptions options;
  options.control_cpu = placement_.control_cpu;
  for (const config::WorkerPlacement& worker : placement_.workers)
    options.worker_cpus.push_back(worker.cpu);
  options.memory_bytes = config_.memory_bytes.value_or(pool_bytes(placement_, true));
  options.ordinary_bytes = config_.memory_bytes.value_or(pool_bytes(placement_, false));
  options.memory_key = config_.memory_line.number == 0
                           ? fmt::format("{}: memory: auto", config_.file)
                           : fmt::format("{}:{}: memory", config_.file, config_.memory_line.number);
  options.shared_memory = uses_memif(config_);
  for (const config::PortConfig& port : config_.ports)
    if (port.kind == config::DeviceKind::kPci) options.pci.push_back(port.device);
  auto eal = Eal::start(options);
  if (!eal) return tl::unexpected(eal.error());
  eal_ = std::move(*eal);

  poll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const timespec tick{0, kTick_ms * 1'000'000};
  const itimerspec period{tick, tick};
  timerfd_settime(timer_.get(), 0, &period, nullptr);
  watch(commands_.fd());
  watch(timer_.get());
  return {};
}

// Once the ports are known the placement is made again with what they can do.
Result<void> Router::probe_ports(std::vector<std::unique_ptr<Port>>& ports) {
  std::vector<config::PortCapability> capabilities;
  for (const config::PortConfig& config : config_.ports) {
    auto port = Port::probe(config);
    if (!port) return tl::unexpected(port.error());
    capabilities.push_back({(*port)->max_rx_queues(), (*port)->socket()});
    ports.push_back(std::move(*port));
  }
  // DPDK has its cores already: they stay, only the queues may come out differently.
  config::Config pinned = config_;
  pinned.workers.clear();
  for (const config::WorkerPlacement& worker : placement_.workers)
    pinned.workers[worker.socket].push_back(worker.cpu);
  pinned.control_core = placement_.control_cpu;
  auto placement = config::place(pinned, topology_, capabilities);
  if (!placement) return fail(placement.error());
  keep_worker_ids(*placement, placement_);
  placement_ = std::move(*placement);
  return {};
}

Result<void> Router::start_tables() {
  const auto threads = static_cast<unsigned>(placement_.workers.size() + 1);
  try {
    tables_ = std::make_unique<Tables>(
        config_.tables, placement_.sockets, threads, log_routing,
        [this](const LinuxLink& link, bool removed) { on_linux_link(link, removed); });
    auto offload = Offload::create(config_.offload, placement_, *tables_, offload_found_);
    if (!offload) return tl::unexpected(offload.error());
    offload_ = std::move(*offload);
    dataplane_ = std::make_unique<Dataplane>(
        Dataplane::Options{placement_.workers, config_.linux_side.enabled, offload_.get(),
                           start_ipsec(), nic_.get()},
        *tables_);
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  return {};
}

Result<void> Router::start_linux_side() {
  if (!config_.linux_side.enabled) return {};
  if (geteuid() != 0)
    return fail(
        "the Linux side needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN): run as root, or "
        "write \"linux: off\" for a router that runs from its file alone",
        EPERM);
  events_ = std::make_unique<FilteredEvents>(routing(), config_.linux_side);
  auto side = LinuxSide::open(config_.linux_side, *events_);
  if (!side) return tl::unexpected(side.error());
  linux_side_ = std::move(*side);
  watch(linux_side_->mirror().fd());
  return mirror_ipsec();
}

void Router::watch(int fd) {
  epoll_event event{EPOLLIN, {.fd = fd}};
  epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event);
}

Result<void> Router::bring_up(std::unique_ptr<Port> port) {
  const std::string name = port->name();
  const config::PortConfig config = port->config();
  if (auto done = dataplane_->add_port(std::move(port), placement_); !done) return done;
  ipsec_->offer_to_nics();
  Port& running = *dataplane_->port(name);
  if (sampler_) sampler_->reset_port(running.id());
  return add_interfaces(running, config);
}

void Router::apply_settings() {
  Dataplane::Settings& settings = dataplane_->settings();
  settings.burst = config_.burst;
  settings.idle_sleep_us = config_.idle == config::IdleMode::kPoll ? 0 : config_.idle_sleep_us;
  for (size_t i = 0; i < kReasonCount; ++i) {
    const ReasonInfo& reason = info(static_cast<Reason>(i));
    const auto found = config_.punt_pps.find(std::string(reason.name));
    settings.punt_pps[i] = found == config_.punt_pps.end() ? reason.default_pps : found->second;
  }
  spdlog::set_level(spdlog::level::from_str(config_.log_level));
}

Result<void> Router::apply_static_state() {
  for (const config::NeighborConfig& neighbor : config_.neighbors) {
    Interface* interface = interfaces_.find(neighbor.interface);
    if (interface == nullptr)
      return fail(fmt::format("neighbor {}: there is no interface {}", neighbor.address.to_string(),
                              neighbor.interface));
    if (auto done = routing().add_neighbor(interface->id, neighbor.address, neighbor.mac); !done)
      return done;
  }
  for (const config::RouteConfig& route : config_.routes)
    if (auto done = add_route(route, RouteOrigin::kFile); !done)
      return tl::unexpected(done.error());
  for (const auto& [id, interface] : interfaces_.all()) restore_linux_state(interface);
  write_file_routes(config_.routes, false);
  if (auto done = load_route_files(); !done) return done;
  if (const auto refused = apply_ipsec(*ipsec_, config_.ipsec); !refused.empty())
    return fail(refused.front());
  routing().commit();
  return {};
}

Result<void> Router::load_route_files() {
  for (const std::string& file : config_.route_files) {
    auto table = read_route_file(file);
    if (!table) return tl::unexpected(table.error());
    if (auto done = load_route_file(file, *table); !done) return done;
  }
  return {};
}

Result<void> Router::load_route_file(const std::string& file,
                                     std::shared_ptr<const RouteTable> table) {
  LoadOptions options;
  options.origin = RouteOrigin::kFile;
  auto id = routing().begin_load(std::move(table), options);
  if (!id) return fail(fmt::format("{}: {}", file, id.error().message));
  while (routing().continue_load(*id, 65536) > 0) {
  }
  const LoadCounts counts = routing().end_load(*id);
  if (counts.refused > 0)
    note(fmt::format("{}: {} routes did not fit: {}", file, counts.refused, counts.first_error));
  file_loads_[file] = *id;
  spdlog::info("routes: {} of {}", counts.added + counts.replaced + counts.unchanged, file);
  return {};
}

void Router::log_start() {
  spdlog::info("hecto on {}; {}", Eal::version(), eal_->note());
  spdlog::info("control on cpu {}; workers: {}", placement_.control_cpu, placement_.workers.size());
  for (const config::WorkerPlacement& worker : placement_.workers)
    spdlog::info("worker {}: cpu {}, socket {}", worker.id, worker.cpu, worker.socket);
  for (const auto& [name, port] : dataplane_->ports()) {
    spdlog::info("port {}: {} ({}), {} receive and {} transmit queues, MTU {}", name,
                 port->config().device, port->driver(), port->rx_queues(), port->tx_queues(),
                 port->mtu());
    for (const std::string& sentence : port->refused()) spdlog::info("port {}: {}", name, sentence);
  }
  spdlog::info("offload: {}", offload_found_);
  spdlog::info("ipsec: {}", ipsec_found_);
  if (config_.ipsec.export_keys)
    note(
        "ipsec.export_keys: root can have the keys of all SAs by hecto capture --esp-keys; switch "
        "it off when they are no longer needed");
  if (linux_side_)
    spdlog::info("Linux side: namespace {}", linux_side_->space().name());
  else
    spdlog::info("Linux side: off; what would be punted is dropped as no_linux");
  for (const std::string& warning : placement_.warnings) spdlog::warn("plan: {}", warning);
}

}  // namespace hecto::router
