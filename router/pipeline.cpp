// The stages composed for a feature set, at compile time: what is off costs nothing.
#include "router/stages/classify.hpp"
#include "router/stages/rewrite.hpp"
#include "router/stages/urpf.hpp"
#include "router/worker.hpp"

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
  if (w.traced_.active()) [[unlikely]]
    w.traced_.after_classify(chunk);
  mark(kTimedClassify);

  if constexpr (Features & kFeatureUrpf) {
    check_reverse_path(chunk.v4, chunk, tables, snapshot);
    check_reverse_path(chunk.v6, chunk, tables, snapshot);
  }
  if (chunk.v4.count > 0)
    lookup_batch(tables.fib4, chunk.v4.destinations, chunk.v4.groups, chunk.v4.count);
  if (chunk.v6.count > 0)
    lookup_batch(tables.fib6, chunk.v6.destinations, chunk.v6.groups, chunk.v6.count);
  if (w.traced_.active()) [[unlikely]]
    w.traced_.after_lookup(chunk);
  mark(kTimedLookup);

  rewrite<Features>(chunk.v4, chunk, tables.next_hops, w.transmitter_, snapshot,
                    w.counters_.interfaces);
  rewrite<Features>(chunk.v6, chunk, tables.next_hops, w.transmitter_, snapshot,
                    w.counters_.interfaces);
  mark(kTimedRewrite);
}

Worker::Pipeline Worker::pipeline_for(unsigned features) noexcept {
  static constexpr std::array<Pipeline, kFeatureSets> kPipelines = {
      &Worker::pipeline<0>, &Worker::pipeline<1>, &Worker::pipeline<2>, &Worker::pipeline<3>,
      &Worker::pipeline<4>, &Worker::pipeline<5>, &Worker::pipeline<6>, &Worker::pipeline<7>};
  return kPipelines[features % kFeatureSets];
}

}  // namespace hecto::router
