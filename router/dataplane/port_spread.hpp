// Which workers take which share of a port's receive queues: what its `spread` makes of the box, and the
// rings for it. The map of a queue is made once, when its spread begins, and never moves.
//
// Begun while packets flow it takes two snapshots, so that each flow keeps its order: with the first its
// head fills the rings, which nobody drains before all that it held is on its way; with the second, made
// by then, they are drained.
//
// Control thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/snapshot_builder.hpp"

namespace hecto::router {

// What is known of a queue's worker and of all others when it is asked whether to spread.
struct SpreadCosts {
  // Cycles of a packet: what it takes to receive one and, of those that go on there, the rest.
  double receive = 0, rest = 0;  // 0: not known
  // By worker: the share of its time that it may give.
  std::vector<double> free{};
  // Times as many packets as without.
  double least_gain = 1.1;
};

// Of a packet beside what it costs unspread. At the head its key, its place in a ring, and mbufs that come
// back from other caches; at who takes it a packet and an mbuf that its caches do not have. Measured by
// `hecto-bench scale --skew 100` at the highest offer that is carried (Xeon VM, 2 cores, 64 bytes, IPv6).
inline constexpr double kHandOver_cycles = 80, kTake_cycles = 135;

// By bucket: 0 for the head, then its takers.
using SpreadBuckets = std::array<uint8_t, kSpreadBuckets>;
SpreadBuckets equal_buckets(unsigned takers);
// By what each has time for, `free` of the takers: when the head is at its limit, none of them is beyond
// what it may give. None: all of them together carry too little more than the head alone.
std::optional<SpreadBuckets> weighed_buckets(const SpreadCosts& costs,
                                             const std::vector<double>& free);

class PortSpread {
 public:
  // `heads`: the worker of each receive queue; `sockets`: of each worker. With kAlways all queues are
  // spread from the first packet on.
  static Result<PortSpread> create(const std::string& name, PortId port, config::SpreadMode mode,
                                   const std::vector<unsigned>& heads,
                                   const std::vector<int>& sockets);

  // Whether begin() may be called for the queue.
  bool waits(QueueId queue) const;
  // False: it would gain too little. Else then a snapshot,
  bool begin(QueueId queue, const SpreadCosts& costs);
  void drain(QueueId queue) { queues_[queue].drained = true; }  // and one more
  unsigned head(QueueId queue) const { return queues_[queue].head; }

  // Workers that may hold its packets beside its heads.
  std::vector<unsigned> takers() const;
  // By queue. `wakeup`: of a worker that may wait for its ring; null of others.
  std::vector<SnapshotBuilder::PortSetup::Spread> views(
      const std::function<Wakeup*(unsigned worker)>& wakeup) const;
  // How a queue is spread, or why it is not, in words; empty: nobody asked for it. `cpu`: of a worker.
  std::string describe(QueueId queue, const std::function<unsigned(unsigned worker)>& cpu) const;
  // Some ring of the queue is half full or more.
  bool half_full(QueueId queue) const;
  unsigned queued() const;
  uint64_t drop();  // what waits there, while nobody uses it; returns how many

 private:
  using Ring = std::unique_ptr<rte_ring, void (*)(rte_ring*)>;
  struct Lane {
    unsigned worker;
    Ring ring;
  };
  struct Queue {
    unsigned head = 0;
    std::vector<Lane> lanes;
    SpreadBuckets lane_of{};
    bool alone = false;  // no other worker is on its socket
    bool begun = false, drained = false;
  };
  config::SpreadMode mode_ = config::SpreadMode::kNever;
  std::vector<Queue> queues_;
};

}  // namespace hecto::router
