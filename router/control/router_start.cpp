// Router's birth: what is made in which order (README.md).
#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <ctime>
#include <utility>

#include "config/file/words.hpp"
#include "router/control/bridge_control.hpp"
#include "router/control/capture_control.hpp"
#include "router/control/dpdk_forwarding_plane.hpp"
#include "router/control/environment.hpp"
#include "router/control/filter_control.hpp"
#include "router/control/flow_control.hpp"
#include "router/control/gate.hpp"
#include "router/control/idle_shortfalls.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/ipsec_control.hpp"
#include "router/control/label_control.hpp"
#include "router/control/late_route_files.hpp"
#include "router/control/linux_events.hpp"
#include "router/control/linux_namespace.hpp"
#include "router/control/liveness.hpp"
#include "router/control/nat_control.hpp"
#include "router/control/neighbor_control.hpp"
#include "router/control/notes.hpp"
#include "router/control/offload_watch.hpp"
#include "router/control/persist_control.hpp"
#include "router/control/punt_control.hpp"
#include "router/control/reload_control.hpp"
#include "router/control/reorder_watch.hpp"
#include "router/control/restart_control.hpp"
#include "router/control/route_control.hpp"
#include "router/control/router.hpp"
#include "router/control/rule_control.hpp"
#include "router/control/running.hpp"
#include "router/control/sample_control.hpp"
#include "router/control/spread_control.hpp"
#include "router/control/startup.hpp"
#include "router/control/tunnel_control.hpp"
#include "router/control/xfrm_control.hpp"
#include "router/dataplane/dataplane.hpp"
#include "router/dataplane/offload/offload.hpp"
#include "router/dataplane/ports/carrier_news.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/ports/memif_guard.hpp"
#include "router/dataplane/ports/port_news.hpp"
#include "router/dataplane/sampler.hpp"
#include "router/dataplane/tables/reserved_pages.hpp"
#include "router/dataplane/tables/tables.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

void log_routing(LogLevel level, const std::string& line) {
  spdlog::log(level == LogLevel::kWarning ? spdlog::level::warn : spdlog::level::info, line);
}

}  // namespace

Result<std::unique_ptr<Router>> Router::create(const config::Config& config, InstanceLocks* locks) {
  auto topology = config::read_topology();
  if (!topology) return fail("topology: " + topology.error());
  return create(config, std::move(*topology), locks);
}

Result<std::unique_ptr<Router>> Router::create(const config::Config& config,
                                               config::Topology topology, InstanceLocks* locks,
                                               ServiceManager* service) {
  std::unique_ptr<Router> router(new Router(config, std::move(topology), service));
  if (auto done = router->start_environment(); !done) return tl::unexpected(done.error());
  router->plane_ = std::make_unique<DpdkForwardingPlane>(locks);
  if (auto done = probe_ports(*router->running_, *router->plane_); !done)
    return tl::unexpected(done.error());
  if (auto done = router->start_tables(); !done) return tl::unexpected(done.error());
  router->start_interfaces();
  if (auto done = router->start_linux_side(); !done) return tl::unexpected(done.error());
  const std::vector<SaNumbers> left = router->continue_sas();
  router->restart_->foresee(config);
  // Forwarding by the tables of the run before does not wait for files of a million routes.
  const bool later = router->restart_->inherits() && !config.route_files.empty();
  if (auto done =
          bring_up(router->parts(), later ? StartRouteFiles::kLater : StartRouteFiles::kNow);
      !done)
    return tl::unexpected(done.error());
  router->persist_->restore(left, router->plane_->has_ipsec());
  router->restart_->take_over(*router->running_, router->interfaces_->table(), router->linux_.get(),
                              router->tables(), router->plane());
  if (later)
    if (auto done = router->read_left_out_files(); !done) return tl::unexpected(done.error());
  router->restart_->keep(*router->running_, router->interfaces_->table(), router->ipsec(),
                         RestartControl::When::kRunning);
  router->publish_ipsec();
  router->sampler_->sample();
  router->log_start();
  return router;
}

Router::Router(const config::Config& config, config::Topology topology, ServiceManager* service)
    : nobody_(service ? nullptr : std::make_unique<ServiceManager>()),
      service_(service ? *service : *nobody_),
      running_(std::make_unique<Running>()),
      notes_(std::make_unique<Notes>()),
      reloads_(std::make_unique<ReloadControl>()),
      restart_(std::make_unique<RestartControl>(service_, *notes_)),
      gate_(std::make_unique<Gate>(Gate::Clock::now(), log_routing)),
      late_files_(std::make_unique<LateRouteFiles>()),
      offload_watch_(std::make_unique<OffloadWatch>()),
      reorder_watch_(std::make_unique<ReorderWatch>()),
      nat_(std::make_unique<NatControl>()) {
  running_->config = config;
  running_->topology = std::move(topology);
  running_->loaded_unix_s = std::time(nullptr);
  commands_.hold();
}

Result<void> Router::start_environment() {
  auto placement = config::place(running_->config, running_->topology);
  if (!placement) return fail(placement.error());
  running_->placement = std::move(*placement);
  auto eal = Eal::start(eal_options(running_->config, running_->placement));
  if (!eal) return tl::unexpected(eal.error());
  eal_ = std::move(*eal);

  poll_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  timer_ = FileDescriptor(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  const timespec tick{0, kTick_ms * 1'000'000};
  const itimerspec period{tick, tick};
  timerfd_settime(timer_.get(), 0, &period, nullptr);
  watch(commands_.fd());
  watch(timer_.get());
  watch(PortNews::of_process().fd());
  carriers_ = std::make_unique<CarrierNews>();
  if (carriers_->fd() >= 0) watch(carriers_->fd());
  return {};
}

Result<void> Router::start_tables() {
  const config::Config& config = running_->config;
  const config::Placement& placement = running_->placement;
  const auto threads = static_cast<unsigned>(placement.workers.size() + 1);
  ReservedPages::of_process().spare(spare_hugepages(config, placement, eal_->hugepages()));
  try {
    restart_->find_tables(placement.sockets, config.tables.groups);
    tables_ =
        std::make_unique<Tables>(config.tables, placement.sockets, threads, log_routing, &service_);
    memif_guard_ = std::make_unique<MemifGuard>([qsbr = &tables_->qsbr()] { qsbr->synchronize(); });
    auto offload = Offload::create(config.offload, placement, *tables_, offload_found_);
    if (!offload) return tl::unexpected(offload.error());
    offload_ = std::move(*offload);
    if (offload_) restart_->drop_tables("look-ups go to a device");
    ipsec_ = std::make_unique<IpsecControl>(config.ipsec, routing(), tables_->qsbr(),
                                            offload_ ? offload_->keys() : nullptr);
    plane_->start(std::make_unique<Dataplane>(
                      Dataplane::Options{placement.workers, config.linux_side.enabled,
                                         offload_.get(), ipsec_->stages(), ipsec_->nic()},
                      *tables_),
                  ipsec_->ipsec());
  } catch (const std::exception& error) {
    return fail(error.what());
  }
  plane_->close(true);
  if (!plane_->has_ipsec() && !(config.ipsec.sas.empty() && config.ipsec.policies.empty()))
    return fail(
        fmt::format("ipsec: the file has SAs or policies, and nothing here can hold them: "
                    "{}",
                    ipsec_->found()));
  return {};
}

void Router::start_interfaces() {
  sampler_ = std::make_unique<Sampler>(dataplane());
  liveness_ = std::make_unique<Liveness>(*running_, *plane_, routing(), *sampler_);
  liveness_->report_to(service_);
  spread_ = std::make_unique<SpreadControl>(*plane_, *sampler_);
  interfaces_ =
      std::make_unique<InterfaceControl>(*running_, routing(), *plane_, *sampler_, *notes_);
  rules_ = std::make_unique<RuleControl>(routing(), *plane_);
  filters_ = std::make_unique<FilterControl>(*running_, routing(), *plane_, &service_);
  routes_ = std::make_unique<RouteControl>(*running_, routing(), interfaces_->table(), *notes_);
  flows_ = std::make_unique<FlowControl>(interfaces_->table(), routing(), *plane_, *notes_);
  persist_ = std::make_unique<PersistControl>(state_directory(), running_->config.api_socket,
                                              *routes_, routing(), ipsec());
  captures_ = std::make_unique<CaptureControl>(*plane_);
  samples_ = std::make_unique<SampleControl>(*plane_, interfaces_->table(), routing(), *sampler_);
  samples_->attach(*flows_);
  linux_events_ = std::make_unique<LinuxEventFanOut>(
      running_->config.linux_side, routing(),
      [this](const LinuxLink& link, bool removed) {
        if (interfaces_->follow_link(link, removed)) routes_->write_to_linux();
      },
      [this] { dataplane().hold_gleans(); });
}

Result<void> Router::start_linux_side() {
  const config::LinuxConfig& config = running_->config.linux_side;
  if (!config.enabled) return {};
  if (auto done = check_user(running_->config); !done) return done;
  auto linux_side = LinuxNamespace::open(config, dataplane(), *notes_, *linux_events_, service_);
  if (!linux_side) return tl::unexpected(linux_side.error());
  linux_ = std::move(*linux_side);
  interfaces_->attach(*linux_);
  samples_->attach(linux_->space());
  routes_->attach(*linux_);
  watch(linux_->fd());
  bridges_ =
      std::make_unique<BridgeControl>(routing(), *interfaces_, *plane_, *linux_, running_->config);
  tunnels_ = std::make_unique<TunnelControl>(routing(), *interfaces_, *plane_);
  labels_ = std::make_unique<LabelControl>(routing(), *interfaces_, *plane_, *linux_);
  neighbors_ = std::make_unique<NeighborControl>(*linux_, routing(), *notes_);
  neighbors_->raise_limits();
  punt_ = std::make_unique<PuntControl>(linux_->space(), *plane_, *notes_);
  return config.mirror_ipsec && plane_->has_ipsec() ? start_xfrm() : Result<void>{};
}

// Where the kernel has no XFRM the SAs are those of the file and the API.
Result<void> Router::start_xfrm() {
  auto xfrm = XfrmControl::open(linux_->space(), ipsec(), *notes_);
  if (!xfrm) return tl::unexpected(xfrm.error());
  if (*xfrm == nullptr) {
    ipsec_->add_to_found("; this Linux has no XFRM to mirror");
    return {};
  }
  xfrm_ = std::move(*xfrm);
  linux_->exempt_twins_from_xfrm();
  watch(xfrm_->fd());
  return {};
}

// Before SAs are added: those of the run before go on behind what it sent.
std::vector<SaNumbers> Router::continue_sas() {
  std::vector<SaNumbers> left = persist_->numbers_left();
  for (const SaNumbers& one : restart_->sa_numbers()) left.push_back(one);
  ipsec().continue_from(left);
  return left;
}

// Where those tables are not used after all nothing is forwarded meanwhile: as at a first start.
Result<void> Router::read_left_out_files() {
  if (restart_->inherits()) {
    late_files_->expect();
    return {};
  }
  auto done = load_route_files(parts());
  routing().commit();
  return done;
}

void Router::log_start() {
  const config::Placement& placement = running_->placement;
  spdlog::info("hecto on {}; {}", Eal::version(), eal_->note());
  spdlog::info("control on cpu {}; workers: {}", placement.control_cpu, placement.workers.size());
  for (const config::WorkerPlacement& worker : placement.workers)
    spdlog::info("worker {}: cpu {}, socket {}, idle {}", worker.id, worker.cpu, worker.socket,
                 idle_words(running_->config.idle_of(worker.cpu)));
  for (const PortStatus& port : plane_->ports()) {
    spdlog::info("port {}: {} ({}), {} receive and {} transmit queues, MTU {}", port.name(),
                 device_words(port.config), port.driver, port.rx_queues, port.tx_queues, port.mtu);
    for (const std::string& sentence : port.refused)
      spdlog::info("port {}: {}", port.name(), sentence);
  }
  for (const std::string& line : idle_shortfalls(plane_->workers())) spdlog::warn(line);
  spdlog::info("offload: {}", offload_found_);
  spdlog::info("ipsec: {}", ipsec_->found());
  if (running_->config.ipsec.export_keys)
    notes_->add(
        "ipsec.export_keys: root can have the keys of all SAs by hecto capture --esp-keys; switch "
        "it off when they are no longer needed");
  if (linux_)
    spdlog::info("Linux side: namespace {}", linux_->name());
  else
    spdlog::info("Linux side: off; what would be punted is dropped as no_linux");
  for (const std::string& warning : placement.warnings) spdlog::warn("plan: {}", warning);
}

}  // namespace hecto::router
