// The slow path: one thread on the control core between the workers and Linux.
//
//   workers ─► punt rings ─► token buckets ─► TAP of the ingress interface ─► Linux
//   Linux ─► TAP ─► mbuf ─► check_linux: may it leave? ─► from_linux: is it to be ESP? ─ no ─► port
//                                                                              └ yes ─► rewrite ─┘
//
// Buckets here hold reasons and classes to their rates over all workers; the workers' own keep the
// rings free. Rings of the first priority are emptied first, those of all workers. Every frame either reaches the other side or is a drop by name.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/punt_queue.hpp"
#include "router/dataplane/core/reason_table.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/pipeline.hpp"
#include "router/dataplane/punt/punt_meter.hpp"
#include "router/linux/tap.hpp"

namespace hecto::router {

// An interface's twin. A VLAN of the file has a TAP of its own, and its tags are put on and taken
// off here; a VLAN device that Linux made sits on another one's TAP and sees tagged frames.
struct Twin {
  Tap tap;
  InterfaceId interface = kNoInterface;
  PortId port = 0;
  VlanTags tags;                // none: frames pass as they are
  rte_mempool* pool = nullptr;  // for frames from Linux
  Counter no_mbuf;              // frames from Linux for which the pool had nothing
  std::atomic<bool> gone{false};

  explicit Twin(Tap device) : tap(std::move(device)) {}
};

struct TwinList {
  std::vector<std::shared_ptr<Twin>> twins;
  std::vector<Twin*> by_interface;  // where to deliver; null: by the port, or nowhere
  // Of what comes in by an interface of a bridge, which has no twin: its port's.
  std::array<Twin*, kMaxPorts> by_port{};
};

class SlowPath final : RefusedSink {
 public:
  struct Options {
    std::vector<PuntQueues> punts;  // one a worker
    rte_rcu_qsbr* qsbr = nullptr;
    unsigned qsbr_thread = 0;
    const std::atomic<const Snapshot*>* snapshot = nullptr;
    // For what Linux sends and a policy protects; null: no IPsec.
    IpsecStages* ipsec = nullptr;
    TableViews tables;
    int socket = 0;  // of the tables
  };
  explicit SlowPath(const Options& options);
  ~SlowPath();  // stops
  SlowPath(const SlowPath&) = delete;
  SlowPath& operator=(const SlowPath&) = delete;

  void start();
  void stop();
  // Control only. The thread takes the new list at its next turn.
  void set_twins(std::shared_ptr<const TwinList> twins);
  const IcmpAnswers& too_big_answers() const { return pipeline_.too_big_answers(); }
  const PipelineCounters& counters() const { return pipeline_.counters(); }  // punted: delivered
  const PuntMeter& punt_meter() const { return meter_; }                     // passed: delivered
  const ReasonTable& dropped_at() const { return dropped_at_; }
  const ReasonTable& punted_at() const { return punted_at_; }  // delivered
  uint64_t injected() const { return injected_.get(); }        // frames taken from Linux
  Turns turns() const { return {turns_.get(), busy_turns_.get()}; }
  uint64_t injected_handed() const { return injected_handed_.get(); }  // of those, given to a port
  unsigned queued() const;                                             // punted, not yet looked at

 private:
  void run();
  unsigned deliver_punts();
  unsigned deliver_first(uint64_t now);
  void deliver(const PuntEntry& entry, uint64_t now);
  Reason write(const PuntEntry& entry);
  void drop(const rte_mbuf* packet, Reason reason, InterfaceId interface);
  unsigned inject(Twin& twin);
  void send(Twin& twin, rte_mbuf* packet);
  InterfaceId by_tags(const Twin& twin, const rte_mbuf* packet) const noexcept;
  void enter_lane(const Twin& twin, rte_mbuf* packet, const FramedIp& frame) noexcept;
  void take_refused(Chunk& chunk) noexcept override;
  void refresh();
  void wait_for_work(unsigned idle_turns);

  Options options_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
  Pipeline pipeline_;
  Counter injected_, injected_handed_;
  Counter turns_, busy_turns_;
  const Snapshot* snapshot_ = nullptr;
  uint64_t generation_ = 0;  // of the snapshot
  PuntMeter meter_;
  ReasonTable dropped_at_, punted_at_;
  std::mutex twins_mutex_;
  std::shared_ptr<const TwinList> next_twins_;
  std::shared_ptr<const TwinList> twins_;
  std::vector<uint8_t> buffer_;
  std::unique_ptr<Chunk> chunk_;  // of one packet that a policy may protect
};

}  // namespace hecto::router
