// The packet's way through one thread, from a receive queue to a transmit queue.
//
//   receive()       a burst of one receive queue, or of what another worker has [spread] to this one
//     received()      [bridge]     between stations of a bridge: on to transmit
//                     [labels]     MPLS: on to transmit, or into the VRF that a label leads to
//                     classify     which interface, which family, is it fit to be forwarded
//                     filter       the file's, of where it came in
//                     flows        by entries of the flow table, where it is on: on, out, or refused
//                     tunnels      GRE and IP in IP for us, where there are tunnels: likewise
//                     [decap]      ESP for us comes out as what was inside
//     after_decap()   [urpf]       is there a way back to the source
//                     [NAT]        outside address -> inside one
//                     look-up      destination -> next-hop group
//     after_lookup()  policy rules what Linux's rules send elsewhere, where there are some
//                     filter       the file's, of where it leaves
//                     [NAT]        inside address -> outside one
//                     [policy check, encap]  what a policy protects goes on as ESP
//     after_encap()   rewrite      next hop's header, TTL, checksum; egress port; or into a tunnel
//                     transmit     that port's buffer; flush() sends
//
//   check_linux(), from_linux()    [policy check, encap] ─► rewrite ─► transmit, for what Linux sends
//   transmit()      that port's buffer, for what needs nothing more
//
// Each function of the left column does its own stages and all below it. receive() is the worker's
// way in; the others are for packets that come from elsewhere: a device's answers (look-ups, ESP),
// the slow path, tests. Stages in brackets, tags and counters are compiled in or not: the whole way
// exists once for each set of features, and use() chooses for each port that packets come in by, so
// that what is off there costs nothing.
//
// A stage that refuses a packet leaves it in the chunk with its reason. What is there when the
// chunk has been through goes to the RefusedSink; what is for the router itself meets its filter
// before.
//
// One for each worker, and one for the slow path. Not thread-safe; counters may be read from any
// thread.
#pragma once

#include <optional>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/stage_timer.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/observe/observer.hpp"
#include "router/dataplane/stages/answer_limit.hpp"
#include "router/dataplane/stages/filter.hpp"
#include "router/dataplane/stages/flow_switch.hpp"
#include "router/dataplane/stages/icmp_answers.hpp"
#include "router/dataplane/stages/labels.hpp"
#include "router/dataplane/stages/nat.hpp"
#include "router/dataplane/stages/reordering.hpp"
#include "router/dataplane/stages/spreader.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "router/dataplane/stages/tunnel.hpp"

namespace hecto::router {

class IpsecStages;
class WorkerOffload;
struct FramedIp;
struct Telling;

// Who owns what the stages refuse: a worker punts or frees it.
class RefusedSink {
 public:
  // Takes all of chunk.refused and leaves it empty.
  virtual void take_refused(Chunk& chunk) noexcept = 0;

 protected:
  ~RefusedSink() = default;
};

struct PipelineCounters {
  std::array<PortCounters, kMaxPorts> ports;
  std::array<InterfaceCounters, kMaxInterfaces> interfaces;
  ReasonCounters reasons;
  CycleCounters cycles;
};

class Pipeline {
 public:
  struct Options {
    unsigned thread = 0;  // of observers: the worker's id; for the slow path the number of workers
    TableViews tables;
    WorkerOffload* offload = nullptr;  // null: all is done on this core
    IpsecStages* ipsec = nullptr;      // null: this router has no IPsec
    int socket = 0;                    // whose filters it reads
  };
  Pipeline(const Options& options, RefusedSink& refused_sink);
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  // From now on by this snapshot; both must stay until the next use(). `transmit`: by port.
  void use(const Snapshot& snapshot, const std::array<TransmitPath, kMaxPorts>& transmit) noexcept;
  // Nothing is in flight on a device.
  void use(const TableViews& tables) noexcept { options_.tables = tables; }

  // ---- The packet's way ----
  unsigned receive(const ReceiveQueue& queue, Chunk& chunk) noexcept;  // packets received
  // What another worker has spread to this one; from there on as if it had been received here.
  unsigned receive_spread(const SpreadQueue& queue, Chunk& chunk) noexcept;  // packets taken
  void received(Chunk& chunk, const ReceiveQueue& queue) noexcept;
  // What other threads have handed over because its mapping is this worker's.
  unsigned receive_handed(rte_ring* ring, Chunk& chunk) noexcept;  // packets taken
  void after_decap(Chunk& chunk) noexcept { complete(entries_.after_decap, chunk); }
  void after_lookup(Chunk& chunk) noexcept { complete(entries_.after_lookup, chunk); }
  void after_encap(Chunk& chunk) noexcept { complete(entries_.after_encap, chunk); }
  // Of what was held for its neighbor: no filter judges it once more.
  void after_hold(Chunk& chunk) noexcept {
    held_ = true;
    after_lookup(chunk);
    held_ = false;
  }
  // Whether check_linux() may refuse anything.
  bool checks_linux() const noexcept {
    return snapshot_->closed || (features_ & kFeatureIpsec) != 0;
  }
  // Of a frame that Linux sends: kNone where it may leave. `by_policy`: it goes to from_linux(),
  // which asks the policies.
  Reason check_linux(const FramedIp& frame, InterfaceId interface, bool by_policy) const noexcept;
  // Packets in their lanes, as Linux sends them to the ingress interface given there: outbound
  // policies only. Nothing where none holds, and all are as they were; else how many reached
  // rewrite.
  std::optional<unsigned> from_linux(Chunk& chunk) noexcept;
  void transmit(PortId port, rte_mbuf* packet) noexcept { transmitter_.enqueue(port, packet); }
  // What other threads handed over for a queue of this one. Returns packets taken.
  unsigned transmit_handoff(const HandoffQueue& handoff) noexcept {
    return transmitter_.drain(handoff);
  }
  void flush() noexcept { transmitter_.flush_all(); }

  // ---- What waits beside it ----
  // Takes on what the device has answered, and what waited behind it.
  void poll_offload() noexcept;
  void poll_decapped() noexcept;  // its parts: ESP in,
  void poll_lookups() noexcept;
  void poll_encapped() noexcept;  // and ESP out
  void drain() noexcept;          // until nothing is in flight; bounded by the batches' deadline
  unsigned take_delivered() noexcept { return std::exchange(delivered_, 0); }  // packets, by polls
  void expire_fragments() noexcept;

  NatStage& nat() noexcept { return nat_; }
  FilterStage& filter() noexcept { return filter_; }
  Observer& observer() noexcept { return observer_; }
  const IcmpAnswers& too_big_answers() const noexcept { return too_big_; }  // its count, to others
  const IcmpAnswers& rejects() const noexcept { return rejects_; }          // likewise
  PipelineCounters& counters() noexcept { return counters_; }
  const PipelineCounters& counters() const noexcept { return counters_; }

 private:
  using Entry = void (*)(Pipeline&, Chunk&) noexcept;
  using ReceivedEntry = void (*)(Pipeline&, Chunk&, const PortView&) noexcept;
  struct Entries {
    ReceivedEntry received;
    Entry after_decap, after_lookup, after_encap;
    Entry handed;  // to NAT of this worker
  };
  template <unsigned Features>
  struct Compiled;  // the entries of a set of features
  static Entries entries_for(unsigned features) noexcept;
  unsigned features_of(const PortView& port) const noexcept;
  static void receive_bridged(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept;
  static void receive_labelled(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept;
  static void receive_closed(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept;
  void complete(Entry entry, Chunk& chunk) noexcept {
    const bool within =
        observer_.samples().following();  // another chunk's, which waits for this one
    entry(*this, chunk);
    if (chunk.refused_count > 0 || !rejects_.empty()) hand_over(chunk);
    if (observer_.samples().following() && !within) [[unlikely]]
      finish_samples();
  }

  void finish_samples() noexcept;
  void hand_over(Chunk& chunk) noexcept;  // what is refused

  template <unsigned Features>
  void run_received(Chunk& chunk, const PortView& port) noexcept;
  template <unsigned Features>
  void run_after_decap(Chunk& chunk) noexcept;
  template <unsigned Features>
  void run_handed(Chunk& chunk) noexcept;
  template <unsigned Features>
  void run_after_lookup(Chunk& chunk) noexcept;
  template <unsigned Features>
  void run_after_encap(Chunk& chunk) noexcept;

  void open_frames(Chunk& chunk) noexcept;
  uint64_t opened_flag() const noexcept { return tunnels_.flag() | labels_.flag(); }
  void rewrite_lanes(Chunk& chunk, Telling telling) noexcept;

  void decap(Chunk& chunk, const PortView& port) noexcept;
  template <unsigned Features>
  void route(Chunk& chunk) noexcept;
  template <unsigned Features>
  void look_up_all(Chunk& chunk) noexcept;
  template <unsigned Features, typename Address, typename Fib>
  void look_up(Lane<Address>& lane, const Fib& fib) noexcept;
  template <typename Address, typename Fib>
  void look_up_beside_device(Lane<Address>& lane, const Fib& fib) noexcept;
  void encap(Chunk& chunk) noexcept;
  void deliver(Entry entry, Chunk& chunk, unsigned packets) noexcept;
  bool spread(Chunk& chunk, const ReceiveQueue& queue) noexcept;
  void watch(const ReceiveQueue& queue, const Chunk& chunk, const PortView& view) noexcept;
  void watch_offloads(const Chunk& chunk, uint32_t longest, PortCounters& port) noexcept;
  Observer* active_observer() noexcept { return observer_.active() ? &observer_ : nullptr; }

  Options options_;
  RefusedSink& refused_sink_;
  const Snapshot* snapshot_ = nullptr;
  const RuleTables* rules_ = nullptr;                // the snapshot's
  unsigned features_ = 0;                            // of all ports
  Entries entries_{};                                // for what comes from any port
  std::array<ReceivedEntry, kMaxPorts> received_{};  // by the port that it came in by
  unsigned delivered_ = 0;                           // packets, by the device's batches
  uint32_t lookups_ = 0;                             // on this core, with a device beside it
  uint32_t bursts_watched_ = 0;                      // of kernel interfaces
  PipelineCounters counters_;
  AnswerLimit redirects_;
  IcmpAnswers too_big_;
  NatStage nat_;
  Reordering reordering_;  // of bonds
  FilterStage filter_;
  IcmpAnswers rejects_;  // of filters
  bool held_ = false;    // what passes has been held
  Spreader spreader_;
  FlowSwitch flow_switch_;
  StageTimer timer_{counters_.cycles};
  Transmitter transmitter_{counters_.ports, counters_.reasons};
  TunnelStage tunnels_{transmitter_, counters_.interfaces};
  LabelStage labels_{transmitter_, counters_.interfaces};
  Observer observer_;
};

}  // namespace hecto::router
