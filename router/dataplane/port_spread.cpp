#include "router/dataplane/port_spread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "config/file/words.hpp"
#include "config/placement/placement.hpp"

namespace hecto::router {
namespace {

using config::SpreadMode;

static_assert(config::kMostTakers == kSpreadLanes);

// How long the head and its takers need for a packet of each bucket, in cycles, by the time that each may
// give.
class PartTimes {
 public:
  PartTimes(const SpreadCosts& costs, const std::vector<double>& free)
      : costs_(costs), free_(free), parts_(free.size() + 1) {}

  double of(size_t lane, unsigned more = 0) const {
    const double buckets = parts_[lane] + more;
    if (lane == 0)
      return kSpreadBuckets * (costs_.receive + kHandOver_cycles) + buckets * costs_.rest;
    return buckets == 0 ? 0 : buckets * (costs_.rest + kTake_cycles) / free_[lane - 1];
  }
  void give(size_t lane) { ++parts_[lane]; }
  void take(size_t lane) { --parts_[lane]; }
  // Of which of them it is done first.
  size_t soonest() const {
    size_t best = 0;
    for (size_t lane = 1; lane < parts_.size(); ++lane)
      if (of(lane, 1) < of(best, 1)) best = lane;
    return best;
  }

 private:
  const SpreadCosts& costs_;
  const std::vector<double>& free_;
  std::vector<unsigned> parts_;
};

}  // namespace

SpreadBuckets equal_buckets(unsigned takers) {
  SpreadBuckets lane_of{};
  const unsigned own = (kSpreadBuckets + takers / 2) / (takers + 1);
  for (unsigned bucket = own; bucket < kSpreadBuckets; ++bucket)
    lane_of[bucket] = static_cast<uint8_t>(1 + (bucket - own) % takers);
  return lane_of;
}

std::optional<SpreadBuckets> weighed_buckets(const SpreadCosts& costs,
                                             const std::vector<double>& free) {
  if (costs.receive <= 0) return std::nullopt;
  PartTimes times(costs, free);
  SpreadBuckets lane_of{};
  for (uint8_t& lane : lane_of) {
    lane = static_cast<uint8_t>(times.soonest());
    times.give(lane);
  }
  // The head has to be the first that is at its limit.
  for (uint8_t& lane : lane_of)
    if (times.of(lane) > times.of(0)) {
      times.take(lane);
      times.give(lane = 0);
    }
  const double alone = kSpreadBuckets * (costs.receive + costs.rest);
  if (alone < costs.least_gain * times.of(0)) return std::nullopt;
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
    made.alone = std::count(sockets.begin(), sockets.end(), sockets[made.head]) == 1;
    for (const unsigned worker : config::takers_of(mode, heads.size(), made.head, sockets)) {
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
    made.lane_of = equal_buckets(static_cast<unsigned>(made.lanes.size()));
    made.begun = made.drained = true;
  }
  return spread;
}

bool PortSpread::waits(QueueId queue) const {
  return queue < queues_.size() && !queues_[queue].begun && !queues_[queue].lanes.empty();
}

bool PortSpread::begin(QueueId queue, const SpreadCosts& costs) {
  Queue& spread = queues_[queue];
  std::vector<double> free;
  for (const Lane& lane : spread.lanes)
    free.push_back(lane.worker < costs.free.size() ? costs.free[lane.worker] : 0);
  const auto buckets = weighed_buckets(costs, free);
  if (!buckets) return false;
  spread.lane_of = *buckets;
  return spread.begun = true;
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
                       spread.alone ? "no other worker is on its socket"
                                    : "there is a queue for each worker of its socket");
  if (!spread.begun)
    return fmt::format("is spread once its worker is at its limit and others have time ({})",
                       asked);
  std::vector<unsigned> cpus;
  for (size_t i = 0; i < spread.lanes.size(); ++i)
    if (std::find(spread.lane_of.begin(), spread.lane_of.end(), i + 1) != spread.lane_of.end())
      cpus.push_back(cpu(spread.lanes[i].worker));
  const auto own = std::count(spread.lane_of.begin(), spread.lane_of.end(), 0);
  return fmt::format("is spread by flow, {} % here, the rest to core {} ({})",
                     std::lround(100.0 * static_cast<double>(own) / kSpreadBuckets),
                     fmt::join(cpus, ", "), asked);
}

bool PortSpread::half_full(QueueId queue) const {
  const std::vector<Lane>& lanes = queues_[queue].lanes;
  return std::any_of(lanes.begin(), lanes.end(), [](const Lane& lane) {
    return rte_ring_count(lane.ring.get()) >= config::kSpreadRing / 2;
  });
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
