#include "router/control/router.hpp"

#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <utility>

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
#include "router/process/privileges/privileges.hpp"
#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

constexpr int kSoon_ms = 1;  // while a device takes updates, or notifications gather
constexpr unsigned kTicksPerSecond = 1000 / Router::kTick_ms;
constexpr unsigned kLinkTicks = 4;                        // ports are asked for their link
constexpr unsigned kProbeTicks = 15 * kTicksPerSecond;    // stale neighbors are confirmed
constexpr unsigned kNeighborTicks = 5 * kTicksPerSecond;  // Linux's table is looked at
constexpr unsigned kRoomTicks = 10 * kTicksPerSecond;     // room for policies that were left out
constexpr std::chrono::seconds kFirstAnswer{2};           // to the API, where not all is known yet
constexpr size_t kMirrorBudget = 4096;                    // netlink messages a turn

}  // namespace

Router::~Router() {
  commands_.close();
  // While packets still pass: a million routes are freed, and a socket or a device of the kernel's
  // goes in grace periods of RCU.
  late_files_.reset();
  reloads_.reset();  // filters that wait to come back lie in DPDK's memory
  xfrm_.reset();
  punt_.reset();
  neighbors_.reset();
  if (plane_ && plane_->started()) plane_->dataplane().stop();
  if (ran_) restart_->keep(*running_, interfaces_->table(), ipsec(), RestartControl::When::kEnded);
  if (ran_) persist_->end();
  if (ran_) spdlog::info("stopped");
}

void Router::watch(int fd) {
  epoll_event event{EPOLLIN, {.fd = fd}};
  epoll_ctl(poll_.get(), EPOLL_CTL_ADD, fd, &event);
}

// A daemon that writes a full table would wake control for every route or two; what comes within a
// millisecond of the last reading is read together. A change after a quiet time is read at once.
void Router::rest_mirror(bool rest) {
  if (rest == mirror_rests_) return;
  mirror_rests_ = rest;
  epoll_event event{rest ? 0U : EPOLLIN, {.fd = linux_->fd()}};
  epoll_ctl(poll_.get(), EPOLL_CTL_MOD, linux_->fd(), &event);
}

void Router::stop() noexcept {
  stop_.store(true, std::memory_order_relaxed);
}

void Router::run() {
  // However it ends: who waits for an answer gets one, so that the API can end, too.
  struct End {
    Router& router;
    ~End() {
      router.commands_.close();
      router.routes_->drop_loads();
    }
  } end{*this};
  dataplane().start();
  ran_ = true;
  bool soon = false;
  const auto next = [&] {
    turn(routes_->loading() ? 0 : soon ? kSoon_ms : kTick_ms);
    soon = offload_ && offload_->tick();
  };
  while (!stop_.load(std::memory_order_relaxed)) next();
  // A thread that waits for a disk cannot be called off. Packets pass meanwhile, so policies are
  // followed, too.
  if (late_files_->reading())
    spdlog::info("restart: route files are still being read: all goes on till they are");
  while (late_files_->reading()) next();
}

void Router::turn(int timeout_ms) {
  // Who is answered takes it that packets flow.
  if (gate_->open() || uptime() >= kFirstAnswer) commands_.release();
  epoll_event events[8];
  if (mirror_rests_) timeout_ms = std::min(timeout_ms, kSoon_ms);
  const int count = epoll_wait(poll_.get(), events, 8, timeout_ms);
  times_.begins();
  rest_mirror(false);
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == commands_.fd()) {
      // Twins have the carrier of their ports before anybody is answered.
      if (!std::exchange(answered_, true)) interfaces_->poll_links();
      filters_->tick();  // of what came before in this turn: a command may publish it
      commands_.run_pending();
    } else if (fd == timer_.get()) {
      uint64_t expirations = 0;
      if (read(fd, &expirations, sizeof expirations) > 0) housekeeping();
    } else if (fd == PortNews::of_process().fd()) {
      PortNews::of_process().take();
      interfaces_->poll_links();
    } else if (fd == carriers_->fd()) {
      carriers_->take();
      interfaces_->poll_links();
    } else if (linux_ && fd == linux_->fd()) {
      times_.reads_routes();
      rest_mirror(!read_mirror(*linux_));
    } else if (xfrm_ && fd == xfrm_->fd()) {
      read_mirror(*xfrm_);
    }
  }
  late_files_->tick(parts());
  if (linux_ && linux_->mirror_known()) {
    bridges_->tick();
    tunnels_->tick();
    labels_->tick();
  }
  if (!linux_ || linux_->mirror_known()) rules_->tick(filters_->gives_marks());
  filters_->tick();
  flows_->follow(running_->config.flows);
  routes_->continue_loads();
  routing().commit();
  times_.committed();
  dataplane().release_gleans();
  publish_ipsec();
  times_.ends();
}

// The mirrors mend themselves and say so (MirrorBase): what they could not read they try again.
template <typename Mirror>
bool Router::read_mirror(Mirror& mirror) {
  const auto messages = mirror.process(kMirrorBudget);
  if (!messages) notes_->add(messages.error().message);
  return messages.value_or(0) >= kMirrorBudget;
}

void Router::publish_ipsec() {
  ipsec_->commit(*plane_);
  update_gate();
  plane_->publish_changes();
}

// Routes of our own that an earlier run wrote and the file has no more must not win over what it has.
void Router::sweep_linux() {
  swept_ = true;
  if (!linux_->adopted()) return;
  const auto removed = routes_->sweep_linux();
  if (!removed)
    notes_->add("Linux side: " + removed.error().message);
  else if (*removed > 0)
    spdlog::info("Linux side: {} routes of the run before are removed", *removed);
}

void Router::update_gate() {
  Gate::Known known;
  known.routes = (!linux_ || (linux_->mirror_known() && swept_)) && !late_files_->pending();
  if (linux_ && linux_->mirror_known() && !swept_) sweep_linux();  // and what it changes is read
  restart_->watch(*running_, interfaces_->table(), *plane_);
  restart_->rules_hold(rules_->any() || filters_->leads());
  known.inherited = restart_->inherits();
  known.policies = !xfrm_ || xfrm_->whole();
  known.policies_wanted = xfrm_ || !ipsec().empty();
  if (known.routes && !tables_known_) {
    tables_known_ = true;
    restart_->tables_known(*tables_, *plane_, *running_, interfaces_->table(), ipsec());
  }
  plane_->close(!gate_->update(known, Gate::Clock::now()));
}

void Router::housekeeping() {
  ++ticks_;
  (void)plane_->follow_members();  // packets go by one that has lost its link, till that is seen
  if (ticks_ % kLinkTicks == 0) {
    interfaces_->poll_links();
    if (linux_) linux_->settle();
  }
  if (ticks_ % kTicksPerSecond == 0) {
    sampler_->sample();
    liveness_->sampled(std::time(nullptr));
    spread_->sampled();
    watch_for_trouble();
    filters_->tick();  // captures may publish, and what has come goes with it
    captures_->watch();
    reloads_->tick(parts(), ReloadControl::Clock::now());
    // Also where nothing is to be read: a socket that has gone wakes nobody.
    if (linux_) read_mirror(*linux_);
    if (xfrm_) read_mirror(*xfrm_);
    if (bridges_) bridges_->tick_second();
    if (labels_) labels_->tick_second();
    watch_ipsec();
    restart_->keep(*running_, interfaces_->table(), ipsec(), RestartControl::When::kRunning);
    persist_->tick();
  }
  filters_->sampled(std::chrono::steady_clock::now());
  samples_->tick(running_->config, std::chrono::steady_clock::now());
  filters_->write_log(std::chrono::steady_clock::now());
  flows_->tick(static_cast<uint32_t>(uptime().count() + 1));
  if (punt_) punt_->tick(running_->config);
  // Published at the end of the turn, with the filters of what has come.
  (void)nat_->tick(running_->config.nat, interfaces_->table(), *plane_);
  if (neighbors_) {
    if (ticks_ % kProbeTicks == 0) neighbors_->find_stale();
    if (ticks_ % kNeighborTicks == 0) neighbors_->watch();
    neighbors_->probe_some();
    for (const auto& [ifindex, address] : filters_->take_wanted())
      (void)linux_->probe_neighbor(ifindex, address);
  }
  if (ticks_ % kRoomTicks == 0) read_left_out_policies();
  liveness_->tick(gate_->open(), std::chrono::steady_clock::now());
  plane_->reclaim();
}

void Router::watch_ipsec() {
  for (const Expiry& expiry : ipsec_->tick())
    if (xfrm_) xfrm_->usage().expired(expiry);
  if (xfrm_) xfrm_->usage().report(ipsec_->now_s(), std::time(nullptr));
  // Addresses of interfaces, from which senders of what does not fit are answered.
  if (plane_->uses_ipsec()) interfaces_->refresh_addresses();
}

void Router::read_left_out_policies() {
  if (xfrm_ && ipsec().may_have_room())
    xfrm_->read_again("there may be room for policies that were left out");
}

void Router::watch_for_trouble() {
  for (const std::string& call : refused_calls())
    spdlog::warn("privileges: the system call {} is not on the list and was refused", call);
  if (linux_ && !namespace_lost_) {
    if (auto held = linux_->check(); !held) {
      namespace_lost_ = true;
      notes_->add("Linux side: " + held.error().message +
                  "; forwarding goes on, restart hectod to be seen under that name again");
    }
  }
  if (const uint64_t small = ReservedPages::of_process().small_bytes();
      small > 0 && !std::exchange(small_pages_told_, true))
    notes_->add(small_pages_line(small));
  if (interfaces_->watch()) routes_->write_to_linux();
  interfaces_->follow_switches();
  const auto now = std::chrono::steady_clock::now();
  for (const std::string& line : offload_watch_->sampled(*plane_, *sampler_, now))
    notes_->add(line);
  for (const std::string& line : reorder_watch_->sampled(*plane_, *sampler_, now))
    notes_->add(line);
}

Parts Router::parts() {
  return {*running_, *plane_,   routing(), *interfaces_, *routes_,
          *rules_,   *filters_, ipsec(),   *notes_};
}

const config::Config& Router::config() const {
  return running_->config;
}

const config::Placement& Router::placement() const {
  return running_->placement;
}

std::chrono::seconds Router::uptime() const {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                          running_->started);
}

std::vector<std::string> Router::warnings() const {
  std::vector<std::string> lines = running_->placement.warnings;
  lines.insert(lines.end(), notes_->lines().begin(), notes_->lines().end());
  const std::vector<std::string> troubled = liveness_->lines();
  lines.insert(lines.end(), troubled.begin(), troubled.end());
  const std::vector<std::string> by_interfaces = interfaces_->lines();
  lines.insert(lines.end(), by_interfaces.begin(), by_interfaces.end());
  if (bridges_) {
    const std::vector<std::string> by_bridges = bridges_->lines();
    lines.insert(lines.end(), by_bridges.begin(), by_bridges.end());
  }
  if (tunnels_) {
    const std::vector<std::string> by_tunnels = tunnels_->lines();
    lines.insert(lines.end(), by_tunnels.begin(), by_tunnels.end());
  }
  if (labels_) {
    const std::vector<std::string> by_labels = labels_->lines();
    lines.insert(lines.end(), by_labels.begin(), by_labels.end());
  }
  const std::vector<std::string> by_rules = rules_->lines();
  lines.insert(lines.end(), by_rules.begin(), by_rules.end());
  const std::vector<std::string> by_filters = filters_->lines();
  lines.insert(lines.end(), by_filters.begin(), by_filters.end());
  const std::vector<std::string> by_samples = samples_->lines();
  lines.insert(lines.end(), by_samples.begin(), by_samples.end());
  const std::vector<std::string> by_nat = nat_->lines();
  lines.insert(lines.end(), by_nat.begin(), by_nat.end());
  const std::vector<std::string> kept = persist_->lines();
  lines.insert(lines.end(), kept.begin(), kept.end());
  return lines;
}

Ipsec& Router::ipsec() {
  return ipsec_->ipsec();
}

Routing& Router::routing() {
  return tables_->routing();
}

Dataplane& Router::dataplane() {
  return plane_->dataplane();
}

}  // namespace hecto::router
