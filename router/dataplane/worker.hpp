// A worker: one core, one loop. It polls its receive queues through its pipeline (pipeline.hpp),
// punts or frees what the stages refuse, reports a quiescent state, and rests when idle.
//
// Everything in it is written by the worker alone; control reads the counters. It is one object
// without memory of its own elsewhere: make_on_socket puts all of it on the worker's socket.
#pragma once

#include <atomic>
#include <chrono>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/punt_queue.hpp"
#include "router/dataplane/core/reason_table.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/core/wakeup.hpp"
#include "router/dataplane/cpu_pause.hpp"
#include "router/dataplane/idle_policy.hpp"
#include "router/dataplane/pipeline.hpp"
#include "router/dataplane/punt/punt_gate.hpp"

namespace hecto::router {

class Worker final : public RefusedSink {
 public:
  struct Options {
    unsigned id = 0;  // also its QSBR thread id
    unsigned cpu = 0;
    int socket = 0;
    TableViews tables;
    PuntQueues punts{};  // of PuntEntry; null without a Linux side
    rte_rcu_qsbr* qsbr = nullptr;
    const std::atomic<const Snapshot*>* snapshot = nullptr;
    WorkerOffload* offload = nullptr;  // null: all is done here
    IpsecStages* ipsec = nullptr;      // null: this router has no IPsec
    // Set: what waits for a neighbor is held here, not punted. Null: never.
    const std::atomic<bool>* holds_gleans = nullptr;
    // A port that forgets to wake its worker delays packets by so much, no more.
    std::chrono::milliseconds longest_wait{10};
  };
  explicit Worker(const Options& options);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() noexcept;  // until stop(); on the worker's own core
  void stop() noexcept {
    stop_.store(true, std::memory_order_relaxed);
    wakeup_.ring();
  }
  Wakeup& wakeup() { return wakeup_; }
  // One pass over all queues, for benchmarks that bring their own loop. Returns packets received.
  unsigned poll_once() noexcept;
  void refresh() noexcept;  // takes the newest snapshot
  // Until nothing is in flight on a device; bounded by the batches' deadline.
  void drain() noexcept { pipeline_.drain(); }

  const Options& options() const { return options_; }
  const IcmpAnswers& too_big_answers() const { return pipeline_.too_big_answers(); }
  const PipelineCounters& counters() const { return pipeline_.counters(); }
  Turns turns() const {
    const CycleCounters& cycles = counters().cycles;
    return {cycles.iterations.get(), cycles.busy_iterations.get()};
  }
  int thread_id() const { return thread_id_.load(std::memory_order_relaxed); }  // 0: not running
  const PuntMeter& punt_meter() const { return gate_.meter(); }
  const ReasonTable& dropped_at() const { return dropped_at_; }
  unsigned held() const { return held_count_.load(std::memory_order_relaxed); }

  void take_refused(Chunk& chunk) noexcept override;

 private:
  bool holding() const noexcept;
  bool hold(const Refused& refused) noexcept;
  void release_held() noexcept;
  void drop_held(Reason reason) noexcept;
  bool punt(Refused& refused, uint64_t now) noexcept;
  void keep_example(const Refused& refused) noexcept;
  void send_lacp() noexcept;
  void report_quiescent() noexcept;
  unsigned rest(unsigned empty_polls) noexcept;
  void sleep(uint32_t us) noexcept;
  unsigned wait() noexcept;
  void ask_for_interrupts(bool on) noexcept;

  Options options_;  // `tables`: those in use
  const TableViews own_tables_;
  std::atomic<bool> stop_{false};
  std::atomic<int> thread_id_{0};
  const Snapshot* snapshot_ = nullptr;
  uint64_t generation_ = 0;  // of the snapshot
  const WorkerView* view_ = nullptr;
  uint64_t quiescent_token_ = 0;  // of the moment marked
  bool quiescence_marked_ = false;
  uint64_t lacp_sent_ = 0;  // when, by the TSC
  Chunk chunk_;
  Pipeline pipeline_;
  PuntGate gate_;
  ReasonTable dropped_at_;
  std::array<Refused, kChunkSize> held_;  // in order
  std::atomic<unsigned> held_count_{0};
  // With copies: needed after a quiescent state is reported, when the snapshot may be freed.
  IdlePolicy idle_;
  CpuPause cpu_;
  Wakeup wakeup_;
};

}  // namespace hecto::router
