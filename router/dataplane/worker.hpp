// A worker: one core, one loop. It polls its receive queues, takes each chunk through the pipeline
// that its snapshot's features ask for, sends, reports a quiescent state, and rests when idle.
//
// Everything in it is written by the worker alone; control reads the counters. It is one object
// without memory of its own elsewhere: make_on_socket puts all of it on the worker's socket.
#pragma once

#include <atomic>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/punt_queue.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/core/token_bucket.hpp"
#include "router/dataplane/observe/observer.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {

struct WorkerCounters {
  std::array<PortCounters, kMaxPorts> ports;
  std::array<InterfaceCounters, kMaxInterfaces> interfaces;
  ReasonCounters reasons;
  CycleCounters cycles;
  Counter unfinished_checksums, checked_checksums;  // of kernel-interface ports, sampled
};

class WorkerOffload;
class IpsecStages;

class Worker {
 public:
  struct Options {
    unsigned id = 0;  // also its QSBR thread id
    unsigned cpu = 0;
    int socket = 0;
    TableViews tables;
    rte_ring* punts = nullptr;  // of PuntEntry; null without a Linux side
    rte_rcu_qsbr* qsbr = nullptr;
    const std::atomic<const Snapshot*>* snapshot = nullptr;
    WorkerOffload* offload = nullptr;  // null: all is done here
    IpsecStages* ipsec = nullptr;      // null: this router has no IPsec
  };
  explicit Worker(const Options& options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() noexcept;  // until stop(); on the worker's own core
  void stop() noexcept { stop_.store(true, std::memory_order_relaxed); }
  // One pass over all queues, for benchmarks that bring their own loop. Returns packets received.
  unsigned poll_once() noexcept;
  void refresh() noexcept;  // takes the newest snapshot
  // Until nothing is in flight on a device; bounded by the batches' deadline.
  void drain() noexcept;

  const Options& options() const { return options_; }
  const WorkerCounters& counters() const { return counters_; }

 private:
  using Pipeline = void (*)(Worker&, const PortView&, bool sampled);
  using Finish = void (*)(Worker&, Chunk&);

  unsigned poll(const ReceiveQueue& queue) noexcept;
  void dispose_refused(Chunk& chunk) noexcept;
  bool punt(Refused& refused, uint64_t now) noexcept;
  void keep_example(const Refused& refused) noexcept;
  void report_quiescent() noexcept;
  void poll_offload() noexcept;
  void poll_opened() noexcept;
  void poll_lookups() noexcept;
  void poll_sealed() noexcept;
  void decap(Chunk& chunk, const PortView& port) noexcept;
  void encap(Chunk& chunk) noexcept;
  Observer* watching() noexcept { return observer_.active() ? &observer_ : nullptr; }
  template <typename Address, typename Fib>
  void look_up_beside_device(Lane<Address>& lane, const Fib& fib) noexcept;
  template <unsigned Features, typename Address, typename Fib>
  void look_up(Lane<Address>& lane, const Fib& fib) noexcept;
  void rest(unsigned empty_polls) noexcept;
  template <unsigned Features>
  static void pipeline(Worker& worker, const PortView& port, bool sampled) noexcept;
  template <unsigned Features>
  static void inner(Worker& worker, Chunk& chunk) noexcept;
  template <unsigned Features>
  static void finish(Worker& worker, Chunk& chunk) noexcept;
  template <unsigned Features>
  static void leave(Worker& worker, Chunk& chunk) noexcept;
  struct Stages {
    Pipeline pipeline;
    Finish inner;   // what comes after decap
    Finish finish;  // what comes after a look-up
    Finish leave;   // what comes after encap
  };
  void hand_on(Finish stages, Chunk& chunk, unsigned packets) noexcept;
  static Stages stages_for(unsigned features) noexcept;

  Options options_;
  std::atomic<bool> stop_{false};
  const Snapshot* snapshot_ = nullptr;
  uint64_t generation_ = 0;  // of the snapshot
  const WorkerView* view_ = nullptr;
  unsigned features_ = 0;
  Stages stages_{};
  unsigned delivered_ = 0;        // packets, by the device's batches, in this turn of the loop
  uint32_t lookups_ = 0;          // on this core, with a device beside it
  uint64_t quiescent_token_ = 0;  // of the moment marked
  bool quiescence_marked_ = false;
  uint32_t chunks_ = 0;
  uint64_t stage_mark_ = 0;
  WorkerCounters counters_;
  Chunk chunk_;
  Transmitter transmitter_;
  Observer observer_;
  std::array<TokenBucket, kReasonCount> buckets_;
  // Copies: needed after a quiescent state is reported, when the snapshot may be freed.
  std::array<uint32_t, kReasonCount> punt_pps_{};
  uint32_t idle_sleep_us_ = 0;
};

}  // namespace hecto::router
