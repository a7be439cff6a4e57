#include "router/control/router.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {
namespace {

constexpr int kTick_ms = 50;
constexpr int kSoon_ms = 1;  // while a device takes updates
constexpr unsigned kTicksPerSecond = 1000 / kTick_ms;
constexpr unsigned kLinkTicks = 4;                      // ports are asked for their link
constexpr unsigned kProbeTicks = 15 * kTicksPerSecond;  // stale neighbors are confirmed
constexpr size_t kMirrorBudget = 4096;                  // netlink messages a turn
constexpr size_t kMaxNotes = 50;
constexpr uint16_t kNudStale = 0x04;

}  // namespace

Router::~Router() {
  commands_.close();
  if (dataplane_) dataplane_->stop();
  spdlog::info("stopped");
}

void Router::stop() noexcept {
  stop_.store(true, std::memory_order_relaxed);
}

std::chrono::seconds Router::uptime() const {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() -
                                                          started_);
}

void Router::note(const std::string& line) {
  spdlog::warn(line);
  if (std::find(notes_.begin(), notes_.end(), line) != notes_.end()) return;
  if (notes_.size() >= kMaxNotes) notes_.erase(notes_.begin());
  notes_.push_back(line);
}

std::vector<std::string> Router::warnings() const {
  std::vector<std::string> lines = placement_.warnings;
  lines.insert(lines.end(), notes_.begin(), notes_.end());
  return lines;
}

void Router::run() {
  dataplane_->start();
  bool soon = false;
  while (!stop_.load(std::memory_order_relaxed)) {
    turn(!loads_.empty() ? 0 : soon ? kSoon_ms : kTick_ms);
    soon = offload_ && offload_->tick();
  }
  commands_.close();
  loads_.clear();  // who waits for one is told, and the API can end
}

void Router::turn(int timeout_ms) {
  epoll_event events[8];
  const int count = epoll_wait(poll_.get(), events, 8, timeout_ms);
  for (int i = 0; i < count; ++i) {
    const int fd = events[i].data.fd;
    if (fd == commands_.fd()) {
      commands_.run_pending();
    } else if (fd == timer_.get()) {
      uint64_t expirations = 0;
      if (read(fd, &expirations, sizeof expirations) > 0) housekeeping();
    } else if (linux_side_ && fd == linux_side_->mirror().fd()) {
      if (auto done = linux_side_->mirror().process(kMirrorBudget); !done) {
        note("mirror: " + done.error().message + "; routing goes on with what is known");
        epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
      }
    } else if (xfrm_mirror_ && fd == xfrm_mirror_->fd()) {
      if (auto done = xfrm_mirror_->process(kMirrorBudget); !done) {
        note("ipsec: " + done.error().message + "; it goes on with the SAs that are known");
        epoll_ctl(poll_.get(), EPOLL_CTL_DEL, fd, nullptr);
      }
    }
  }
  continue_loads();
  routing().commit();
  commit_ipsec();
  publish_if_dirty();
}

void Router::publish_if_dirty() {
  if (!snapshot_dirty_) return;
  snapshot_dirty_ = false;
  dataplane_->publish();
}

void Router::housekeeping() {
  ++ticks_;
  if (ticks_ % kLinkTicks == 0) poll_links();
  if (ticks_ % kTicksPerSecond == 0) {
    sampler_->sample();
    watch_for_trouble();
    watch_capture();
    watch_ipsec();
  }
  if (ticks_ % kProbeTicks == 0) probe_stale_neighbors();
  dataplane_->reclaim();
}

// The fast path does not tell Linux which neighbors it uses: Linux is asked to confirm those that
// it thinks idle, so that a host that changed its MAC without a word is noticed.
void Router::probe_stale_neighbors() {
  if (!linux_side_) return;
  for (const NeighborView& neighbor : routing().neighbors()) {
    if (neighbor.configured || neighbor.state != kNudStale || neighbor.ifindex == 0) continue;
    (void)linux_side_->requests().probe_neighbor(neighbor.ifindex, neighbor.address);
  }
}

void Router::watch_for_trouble() {
  if (linux_side_ && !namespace_lost_) {
    if (auto held = linux_side_->space().check(); !held) {
      namespace_lost_ = true;
      note("Linux side: " + held.error().message +
           "; forwarding goes on, restart hectod to be seen under that name again");
    }
  }
  for (const auto& [name, port] : dataplane_->ports()) {
    bool& gone = port_gone_[name];
    const bool now = !port->present();
    if (now && !gone)
      note(fmt::format("port {}: {} is gone; its interfaces are down, the other ports go on", name,
                       port->config().device));
    gone = now;
  }
  for (auto& [id, interface] : interfaces_.all()) {
    if (!interface.twin || interface.twin_gone) continue;
    interface.twin_gone = interface.twin->gone.load(std::memory_order_relaxed);
    if (interface.twin_gone)
      note(fmt::format("interface {}: its TAP was deleted; nothing is punted there any more",
                       interface.name));
  }
  if (checksums_told_) return;
  uint64_t unfinished = 0;
  for (const auto& worker : dataplane_->workers())
    unfinished += worker->counters().unfinished_checksums.get();
  if (unfinished >= 3) {
    checksums_told_ = true;
    note(
        "packets arrive with unfinished TCP or UDP checksums: a sender on the far end of a veth "
        "leaves them to its NIC; run \"ethtool -K INTERFACE tx off\" there");
  }
}

void Router::set_trace(std::shared_ptr<TraceSession> trace) {
  dataplane_->settings().trace = std::move(trace);
  dataplane_->publish();
}

}  // namespace hecto::router
