// Which workers take which share of a port's receive queues: what its `spread` makes of the box, and the
// rings for it. The map of a queue is made once, when its spread begins, and never moves.
//
// Begun while packets flow it takes two snapshots, so that each flow keeps its order: with the first its
// head fills the rings, which nobody drains before all that it held is on its way; with the second they
// are drained.
//
// Control thread.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/snapshot_builder.hpp"

namespace hecto::router {

// Cycles of a packet in its head: what it takes to receive one and, of those that go on there, the rest.
struct SpreadCosts {
  double receive = 0, rest = 0;  // 0: not known
};

// By bucket, 0 for the head and then `others` workers. The head gets less by what it has to do for the
// packets of all others.
std::array<uint8_t, kSpreadBuckets> spread_buckets(unsigned others, const SpreadCosts& costs);

class PortSpread {
 public:
  // `heads`: the worker of each receive queue; `sockets`: of each worker. With kAlways all queues are
  // spread from the first packet on.
  static Result<PortSpread> create(const std::string& name, PortId port, config::SpreadMode mode,
                                   const std::vector<unsigned>& heads,
                                   const std::vector<int>& sockets);

  // Whether begin() may be called for the queue.
  bool waits(QueueId queue) const;
  void begin(QueueId queue, const SpreadCosts& costs);          // then a snapshot,
  void drain(QueueId queue) { queues_[queue].drained = true; }  // and one more
  unsigned head(QueueId queue) const { return queues_[queue].head; }

  // Workers that may hold its packets beside its heads.
  std::vector<unsigned> takers() const;
  // By queue. `wakeup`: of a worker that may wait for its ring; null of others.
  std::vector<SnapshotBuilder::PortSetup::Spread> views(
      const std::function<Wakeup*(unsigned worker)>& wakeup) const;
  // How a queue is spread, or why it is not, in words; empty: nobody asked for it. `cpu`: of a worker.
  std::string describe(QueueId queue, const std::function<unsigned(unsigned worker)>& cpu) const;
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
    std::array<uint8_t, kSpreadBuckets> lane_of{};
    bool begun = false, drained = false;
  };
  config::SpreadMode mode_ = config::SpreadMode::kNever;
  bool queues_suffice_ = false;  // for kAuto
  std::vector<Queue> queues_;
};

}  // namespace hecto::router
