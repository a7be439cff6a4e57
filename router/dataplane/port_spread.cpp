#include "router/dataplane/port_spread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "config/file/words.hpp"

namespace hecto::router {
namespace {

using config::SpreadMode;

// Of a packet that is handed over: its key, and its part of the ring's two ends (hecto-bench scale).
constexpr double kHandOver_cycles = 15;

// Workers of the head's socket from its next one on, so that heads with more of them than lanes do
// not all choose the same.
std::vector<unsigned> takers_of(unsigned head, const std::vector<int>& sockets) {
  std::vector<unsigned> takers;
  const auto count = static_cast<unsigned>(sockets.size());
  for (unsigned i = 1; i < count && takers.size() < kSpreadLanes; ++i)
    if (const unsigned worker = (head + i) % count; sockets[worker] == sockets[head])
      takers.push_back(worker);
  return takers;
}

}  // namespace

// With n others, p cycles to receive and hand over and r for the rest, all are done at once where
// p + share * r = (1 - share) / n * r.
std::array<uint8_t, kSpreadBuckets> spread_buckets(unsigned others, const SpreadCosts& costs) {
  double share = 1.0 / (others + 1);
  if (costs.rest > 0) {
    const double pass = costs.receive + kHandOver_cycles;
    const double each = costs.rest / others;
    share = std::clamp((each - pass) / (each + costs.rest), 0.0, share);
  }
  const auto own = static_cast<unsigned>(std::lround(share * kSpreadBuckets));
  std::array<uint8_t, kSpreadBuckets> lane_of{};
  for (unsigned bucket = own; bucket < kSpreadBuckets; ++bucket)
    lane_of[bucket] = static_cast<uint8_t>(1 + (bucket - own) % others);
  return lane_of;
}

Result<PortSpread> PortSpread::create(const std::string& name, PortId port, SpreadMode mode,
                                      const std::vector<unsigned>& heads,
                                      const std::vector<int>& sockets) {
  PortSpread spread;
  spread.mode_ = mode;
  spread.queues_.resize(heads.size());
  for (QueueId queue = 0; queue < heads.size(); ++queue) {
    Queue& made = spread.queues_[queue];
    made.head = heads[queue];
    if (mode == SpreadMode::kNever) continue;
    const auto workers = std::count(sockets.begin(), sockets.end(), sockets[made.head]);
    spread.queues_suffice_ |= heads.size() >= static_cast<size_t>(workers);
    for (const unsigned worker : takers_of(made.head, sockets)) {
      if (mode == SpreadMode::kAuto && spread.queues_suffice_) break;
      const std::string ring_name = fmt::format("spread-{}-{}-{}", port, queue, worker);
      const int where = rte_eal_has_hugepages() ? sockets[worker] : SOCKET_ID_ANY;
      Ring ring(rte_ring_create(ring_name.c_str(), config::kSpreadRing, where,
                                RING_F_SP_ENQ | RING_F_SC_DEQ),
                rte_ring_free);
      if (!ring) {
        const int code = rte_errno;
        return fail(fmt::format("port {}: no memory for the rings of its spread: {}", name,
                                rte_strerror(code)),
                    code);
      }
      made.lanes.push_back({worker, std::move(ring)});
    }
    if (mode != SpreadMode::kAlways || made.lanes.empty()) continue;
    spread.begin(queue, {});
    spread.drain(queue);
  }
  return spread;
}

bool PortSpread::waits(QueueId queue) const {
  return queue < queues_.size() && !queues_[queue].begun && !queues_[queue].lanes.empty();
}

void PortSpread::begin(QueueId queue, const SpreadCosts& costs) {
  Queue& spread = queues_[queue];
  spread.lane_of = spread_buckets(static_cast<unsigned>(spread.lanes.size()), costs);
  spread.begun = true;
}

std::vector<unsigned> PortSpread::takers() const {
  std::vector<unsigned> workers;
  for (const Queue& queue : queues_)
    for (const Lane& lane : queue.lanes) workers.push_back(lane.worker);
  return workers;
}

std::vector<SnapshotBuilder::PortSetup::Spread> PortSpread::views(
    const std::function<Wakeup*(unsigned)>& wakeup) const {
  std::vector<SnapshotBuilder::PortSetup::Spread> views(queues_.size());
  for (size_t i = 0; i < queues_.size(); ++i) {
    const Queue& queue = queues_[i];
    if (!queue.begun) continue;
    SpreadTable& table = views[i].table;
    table.lane_of = queue.lane_of;
    for (const Lane& lane : queue.lanes) {
      table.lanes[table.lane_count++] = {lane.ring.get(), wakeup(lane.worker)};
      if (queue.drained) views[i].readers.emplace_back(lane.ring.get(), lane.worker);
    }
  }
  return views;
}

std::string PortSpread::describe(QueueId queue,
                                 const std::function<unsigned(unsigned)>& cpu) const {
  if (mode_ == SpreadMode::kNever || queue >= queues_.size()) return {};
  const Queue& spread = queues_[queue];
  const std::string asked = fmt::format("spread: {}", config::to_string(mode_));
  if (spread.lanes.empty())
    return fmt::format("is not spread ({}): {}", asked,
                       queues_suffice_ && queues_.size() > 1
                           ? "there is a queue for each worker of its socket"
                           : "no other worker is on its socket");
  if (!spread.begun) return fmt::format("is spread once its worker is at its limit ({})", asked);
  std::vector<unsigned> cpus;
  for (const Lane& lane : spread.lanes) cpus.push_back(cpu(lane.worker));
  const auto own = std::count(spread.lane_of.begin(), spread.lane_of.end(), 0);
  return fmt::format("is spread by flow, {} % here, the rest to core {} ({})",
                     std::lround(100.0 * static_cast<double>(own) / kSpreadBuckets),
                     fmt::join(cpus, ", "), asked);
}

unsigned PortSpread::queued() const {
  unsigned count = 0;
  for (const Queue& queue : queues_)
    for (const Lane& lane : queue.lanes) count += rte_ring_count(lane.ring.get());
  return count;
}

uint64_t PortSpread::drop() {
  uint64_t dropped = 0;
  void* packet = nullptr;
  for (const Queue& queue : queues_)
    for (const Lane& lane : queue.lanes)
      while (rte_ring_sc_dequeue(lane.ring.get(), &packet) == 0) {
        rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
        ++dropped;
      }
  return dropped;
}

}  // namespace hecto::router
