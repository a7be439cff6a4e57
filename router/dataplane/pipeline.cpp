// The stages composed for a feature set, at compile time: what is off costs nothing.
#include "router/dataplane/offload/worker_offload.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/ipsec.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/dataplane/stages/urpf.hpp"
#include "router/dataplane/worker.hpp"

namespace hecto::router {
namespace {

enum TimedStage : unsigned { kTimedReceive, kTimedClassify, kTimedLookup, kTimedRewrite };

template <unsigned Features, typename Address>
void count_ingress(const Lane<Address>& lane, const Snapshot& snapshot,
                   std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept {
  if constexpr (Features & kFeatureCounters) {
    for (unsigned i = 0; i < lane.count; ++i) {
      if (!snapshot.interfaces[lane.ingress[i].interface()].counters) continue;
      interfaces[lane.ingress[i].interface()].rx_packets.add(1);
      interfaces[lane.ingress[i].interface()].rx_bytes.add(lane.packets[i]->pkt_len -
                                                           lane.ingress[i].l2_length());
    }
  }
}

}  // namespace

// Looks up on this core, or sends the lane to the device and leaves it empty. Traced packets, for
// which the device was drained, are followed through here.
template <typename Address, typename Fib>
void Worker::look_up_beside_device(Lane<Address>& lane, const Fib& fib) noexcept {
  constexpr uint32_t kTimedEvery = 16;
  WorkerOffload& offload = *options_.offload;
  auto& path = offload.of(lane);
  using gpu_offload::Side;
  Side side = observer_.tracing() ? Side::kCpu : path.choose(lane.count, offload());
  while (side == Side::kDevice || !path.empty()) {
    if (path.take(lane, side, offload)) {
      lane.count = 0;
      return;
    }
    poll_lookups();
    // A device that was retired may still have every batch.
    if (!path.stage().ready()) side = Side::kCpu;
  }
  const bool timed = ++lookups_ % kTimedEvery == 0;
  const uint64_t start = timed ? offload() : 0;
  lookup_batch(fib, lane.destinations, lane.groups, lane.count);
  if (timed) path.cpu_took(lane.count, offload() - start);
}

template <unsigned Features, typename Address, typename Fib>
inline void Worker::look_up(Lane<Address>& lane, const Fib& fib) noexcept {
  if (lane.count == 0) return;
  if constexpr ((Features & kFeatureOffload) != 0)
    look_up_beside_device(lane, fib);
  else
    lookup_batch(fib, lane.destinations, lane.groups, lane.count);
}

template <unsigned Features>
void Worker::pipeline(Worker& w, const PortView& port, bool sampled) noexcept {
  const Snapshot& snapshot = *w.snapshot_;
  Chunk& chunk = w.chunk_;
  const TableViews& tables = w.options_.tables;
  const auto mark = [&w, sampled](TimedStage stage) {
    if (!sampled) return;
    const uint64_t now = rte_rdtsc();
    w.counters_.cycles.stage_cycles[stage].add(now - w.stage_mark_);
    w.stage_mark_ = now;
  };

  classify<Features>(chunk, port, snapshot);
  count_ingress<Features>(chunk.v4, snapshot, w.counters_.interfaces);
  count_ingress<Features>(chunk.v6, snapshot, w.counters_.interfaces);
  if (w.observer_.active()) [[unlikely]] {
    w.observer_.after_classify(chunk);
    // What is looked at goes its way at once: nothing may be in flight before it.
    if (w.observer_.tracing() || (Features & kFeatureIpsec) != 0) w.drain();
  }
  mark(kTimedClassify);

  if constexpr (Features & kFeatureIpsec) w.decap(chunk, port);
  if constexpr (Features & kFeatureUrpf) {
    check_reverse_path(chunk.v4, chunk, tables, snapshot);
    check_reverse_path(chunk.v6, chunk, tables, snapshot);
  }
  w.look_up<Features>(chunk.v4, tables.fib4);
  w.look_up<Features>(chunk.v6, tables.fib6);
  if (w.observer_.active()) [[unlikely]]
    w.observer_.after_lookup(chunk);
  mark(kTimedLookup);

  finish<Features>(w, chunk);
  mark(kTimedRewrite);
}

// Only of workers with a device.
template <unsigned Features>
void Worker::inner(Worker& w, Chunk& chunk) noexcept {
  if constexpr (Features & kFeatureIpsec) {
    const TableViews& tables = w.options_.tables;
    if constexpr (Features & kFeatureUrpf) {
      check_reverse_path(chunk.v4, chunk, tables, *w.snapshot_);
      check_reverse_path(chunk.v6, chunk, tables, *w.snapshot_);
    }
    w.look_up<Features>(chunk.v4, tables.fib4);
    w.look_up<Features>(chunk.v6, tables.fib6);
    finish<Features>(w, chunk);
  }
}

template <unsigned Features>
void Worker::finish(Worker& w, Chunk& chunk) noexcept {
  if constexpr (Features & kFeatureIpsec) w.encap(chunk);
  leave<Features>(w, chunk);
}

template <unsigned Features>
inline void Worker::leave(Worker& w, Chunk& chunk) noexcept {
  const lookup::NextHopView& next_hops = w.options_.tables.next_hops;
  rewrite<Features>(chunk.v4, chunk, next_hops, w.transmitter_, *w.snapshot_,
                    w.counters_.interfaces);
  rewrite<Features>(chunk.v6, chunk, next_hops, w.transmitter_, *w.snapshot_,
                    w.counters_.interfaces);
}

Worker::Stages Worker::stages_for(unsigned features) noexcept {
  static constexpr auto kStages = []<size_t... Set>(std::index_sequence<Set...>) {
    return std::array<Stages, sizeof...(Set)>{Stages{&Worker::pipeline<Set>, &Worker::inner<Set>,
                                                     &Worker::finish<Set>, &Worker::leave<Set>}...};
  }
  (std::make_index_sequence<kFeatureSets>());
  return kStages[features % kFeatureSets];
}

}  // namespace hecto::router
