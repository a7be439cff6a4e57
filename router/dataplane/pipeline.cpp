#include "router/dataplane/pipeline.hpp"

#include "lookup/first_level.hpp"
#include "router/dataplane/offload/worker_offload.hpp"
#include "router/dataplane/stages/bridge.hpp"
#include "router/dataplane/stages/classify.hpp"
#include "router/dataplane/stages/filter_lead.hpp"
#include "router/dataplane/stages/forwarding.hpp"
#include "router/dataplane/stages/ipsec_stages.hpp"
#include "router/dataplane/stages/mss_clamp.hpp"
#include "router/dataplane/stages/opened_frame.hpp"
#include "router/dataplane/stages/policing.hpp"
#include "router/dataplane/stages/policy_routing.hpp"
#include "router/dataplane/stages/rewrite.hpp"
#include "router/dataplane/stages/urpf.hpp"

namespace hecto::router {
namespace {

// Of packets that go back by their interface, to Linux: one a second and source.
constexpr uint32_t kRedirectPps = 1, kRedirectBurst = 0;
constexpr uint32_t kTooBigOfASource = 50;  // answers a second

template <typename Address>
void count_ingress(const Lane<Address>& lane, const Snapshot& snapshot,
                   std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept {
  const auto count = [&](const Ingress& ingress, uint64_t packets, uint64_t frame_bytes) {
    if (!snapshot.interfaces[ingress.interface()].counters) return;
    InterfaceCounters& counters = interfaces[ingress.interface()];
    counters.rx_packets.add(packets);
    counters.rx_bytes.add(frame_bytes - packets * ingress.l2_length());
  };
  if (lane.count == 0) return;
  if (lane.of_one_ingress()) [[likely]] {
    uint64_t bytes = 0;
    for (unsigned i = 0; i < lane.count; ++i) bytes += lane.packets[i]->pkt_len;
    count(lane.ingress[0], lane.count, bytes);
    return;
  }
  for (unsigned i = 0; i < lane.count; ++i) count(lane.ingress[i], 1, lane.packets[i]->pkt_len);
}

}  // namespace

Pipeline::Pipeline(const Options& options, RefusedSink& refused_sink)
    : options_(options), refused_sink_(refused_sink) {
  transmitter_.time(&timer_);
}

// ---- The packet's way ----

unsigned Pipeline::receive(const ReceiveQueue& queue, Chunk& chunk) noexcept {
  if (timer_.due()) [[unlikely]] {
    transmitter_.flush_all();  // what other polls have left there is none of this one's time
    timer_.start();
  }
  chunk.count = rte_eth_rx_burst(queue.port, queue.queue, chunk.packets, snapshot_->burst);
  if (chunk.count == 0) {
    timer_.stop();
    return 0;
  }
  const unsigned count = chunk.count;
  PortCounters& port = counters_.ports[queue.port];
  port.rx_packets.add(count);
  if (const PortView& view = snapshot_->ports[queue.port]; view.watched) [[unlikely]]
    watch(queue, chunk, view);
  const bool more = queue.spread == nullptr || spread(chunk, queue);
  timer_.end(TimedStage::kReceive);
  if (timer_.active()) counters_.cycles.sampled_packets.add(count);
  if (!more) [[unlikely]] {
    timer_.stop();
    return count;
  }
  received(chunk, queue);
  port.rx_bytes.add(chunk.bytes);
  return count;
}

// Returns whether some are left here. The bytes of the others are counted where they go on.
bool Pipeline::spread(Chunk& chunk, const ReceiveQueue& queue) noexcept {
  spreader_.run(*queue.spread, chunk);
  for (unsigned i = 0; i < chunk.refused_count; ++i)
    counters_.ports[queue.port].rx_bytes.add(chunk.refused[i].packet->pkt_len);
  if (chunk.refused_count > 0) refused_sink_.take_refused(chunk);
  return chunk.count > 0;
}

unsigned Pipeline::receive_spread(const SpreadQueue& queue, Chunk& chunk) noexcept {
  chunk.count = rte_ring_sc_dequeue_burst(queue.ring, reinterpret_cast<void**>(chunk.packets),
                                          snapshot_->burst, nullptr);
  if (chunk.count == 0) return 0;
  const unsigned count = chunk.count;
  received(chunk, {queue.port, queue.queue});
  counters_.ports[queue.port].rx_bytes.add(chunk.bytes);
  return count;
}

void Pipeline::received(Chunk& chunk, const ReceiveQueue& queue) noexcept {
  if (snapshot_->observed) [[unlikely]] {
    observer_.received(chunk, static_cast<uint16_t>(options_.thread), queue.port, queue.queue);
    transmitter_.follow(active_observer());
  }
  FlowSampler& samples = observer_.samples();
  if (samples.on() && samples.take(chunk, queue.port)) [[unlikely]]
    transmitter_.follow(&observer_);
  received_[queue.port](*this, chunk, snapshot_->ports[queue.port]);
  if (chunk.refused_count > 0 || !rejects_.empty()) hand_over(chunk);
  if (timer_.active() || observer_.tracing()) {
    transmitter_.flush_all();
    timer_.end(TimedStage::kTransmit);
    timer_.stop();
    observer_.chunk_done();
    transmitter_.follow(active_observer());
  }
  if (samples.following()) [[unlikely]]
    finish_samples();
}

void Pipeline::finish_samples() noexcept {
  transmitter_.flush_all();
  observer_.samples().finish();
  transmitter_.follow(active_observer());
}

void Pipeline::hand_over(Chunk& chunk) noexcept {
  const uint64_t opened = opened_flag();
  if (filter_.any()) [[unlikely]]
    keep_from_linux(chunk, *filter_.views(), options_.thread, options_.tables, rules_, opened);
  if (opened != 0) [[unlikely]]
    begin_as_before(chunk, *snapshot_, opened);
  if (filter_.any()) [[unlikely]]
    filter_.local(chunk, options_.tables, rules_);
  if (!rejects_.empty()) [[unlikely]] {
    chunk.v4.count = chunk.v6.count = 0;
    rejects_.deliver(chunk, [](const rte_mbuf*, Ingress) { return true; });
    rewrite_lanes(chunk, {});
    chunk.v4.count = chunk.v6.count = 0;
  }
  if (chunk.refused_count > 0) refused_sink_.take_refused(chunk);
}

unsigned Pipeline::receive_handed(rte_ring* ring, Chunk& chunk) noexcept {
  const unsigned count = nat_.take_handed(ring, snapshot_->burst, chunk, [&](rte_mbuf* packet) {
    transmit(PortId(packet->port), packet);
  });
  if (count == 0) {
    nat_.done_with_handed();
    return 0;
  }
  complete(entries_.handed, chunk);
  nat_.done_with_handed();
  return count;
}

template <unsigned Features>
inline void Pipeline::run_handed(Chunk& chunk) noexcept {
  look_up_all<Features>(chunk);
  run_after_lookup<Features>(chunk);
}

template <unsigned Features>
inline void Pipeline::run_received(Chunk& chunk, const PortView& port) noexcept {
  // A device has tables of its own.
  const auto first = [&] {
    return rules_ == nullptr ? options_.tables.fib4
                             : first_fib4(port.untagged, options_.tables, *rules_);
  };
  const void* const fib4 = (Features & kFeatureOffload) != 0 ? nullptr : first_level(first());
  classify<Features>(chunk, port, *snapshot_, header_kernels(), fib4);
  if constexpr (Features & kFeatureCounters) {
    count_ingress(chunk.v4, *snapshot_, counters_.interfaces);
    count_ingress(chunk.v6, *snapshot_, counters_.interfaces);
  }
  if (observer_.active()) [[unlikely]] {
    observer_.after_classify(chunk);
    // Nothing may be in flight before packets that are observed: they go through at once.
    if (observer_.tracing() || (Features & kFeatureIpsec) != 0) drain();
  }
  if (filter_.any()) [[unlikely]] {
    filter_.in(chunk);
    hold_in(chunk, *filter_.views());
  }
  if (snapshot_->flows != nullptr) [[unlikely]]
    flow_switch_.run(chunk, *snapshot_, options_.thread, transmitter_, counters_.interfaces);
  if (labels_.waiting() || tunnels_.on()) [[unlikely]]
    open_frames(chunk);
  timer_.end(TimedStage::kClassify);

  if constexpr (Features & kFeatureIpsec) decap(chunk, port);
  route<Features>(chunk);
  if (observer_.active()) [[unlikely]]
    observer_.after_lookup(chunk);
  timer_.end(TimedStage::kLookup);

  run_after_lookup<Features>(chunk);
  timer_.end(TimedStage::kRewrite);
}

// Out of labels and of tunnels.
void Pipeline::open_frames(Chunk& chunk) noexcept {
  bool some = labels_.waiting();
  if (some) labels_.enter(chunk);
  if (tunnels_.on()) some |= tunnels_.open(chunk, options_.tables);
  if (!some || !filter_.any()) return;
  filter_.opened(chunk, opened_flag());
  hold_opened(chunk, *filter_.views(), opened_flag());
}

// Without IPsec nothing comes here.
template <unsigned Features>
inline void Pipeline::run_after_decap(Chunk& chunk) noexcept {
  if constexpr (Features & kFeatureIpsec) {
    route<Features>(chunk);
    run_after_lookup<Features>(chunk);
  }
}

template <unsigned Features>
inline void Pipeline::run_after_lookup(Chunk& chunk) noexcept {
  if (filter_.any()) [[unlikely]] {
    look_up_led(chunk.v4, chunk, options_.tables, *filter_.views());
    look_up_led(chunk.v6, chunk, options_.tables, *filter_.views());
  }
  if (rules_ != nullptr) [[unlikely]] {
    apply_rules(chunk.v4, chunk, options_.tables, *rules_, filter_.views());
    apply_rules(chunk.v6, chunk, options_.tables, *rules_, filter_.views());
  }
  if constexpr (Features & kFeatureUrpf) {
    check_forwarding(chunk.v4, chunk, options_.tables.next_hops, *snapshot_);
    check_forwarding(chunk.v6, chunk, options_.tables.next_hops, *snapshot_);
    if (snapshot_->clamps_mss) [[unlikely]] {
      clamp_mss(chunk.v4, options_.tables.next_hops, *snapshot_);
      clamp_mss(chunk.v6, options_.tables.next_hops, *snapshot_);
    }
  }
  if (filter_.any() && !held_) [[unlikely]] {
    filter_.out(chunk, options_.tables.next_hops, snapshot_->ecmp_seed);
    hold_out(chunk, *filter_.views(), options_.tables.next_hops, snapshot_->ecmp_seed,
             {filter_.egress4(), filter_.egress6()});
  }
  if (nat_.on()) [[unlikely]]
    nat_.out(chunk);
  if constexpr (Features & kFeatureIpsec) {
    IpsecStages& ipsec = *options_.ipsec;
    ipsec.policy_check.forwarded(chunk, options_.tables, rules_, ipsec.encap.batch());
    encap(chunk);
  }
  run_after_encap<Features>(chunk);
}

template <unsigned Features>
inline void Pipeline::run_after_encap(Chunk& chunk) noexcept {
  // Not of what an SA has opened or sealed, nor of what Linux sends.
  constexpr bool kTells = (Features & kFeatureIpsec) == 0;
  rewrite_lanes(chunk, kTells ? Telling{&redirects_, &too_big_} : Telling{});
  if (kTells && !too_big_.empty()) [[unlikely]] {
    chunk.v4.count = chunk.v6.count = 0;
    too_big_.deliver(chunk, [](const rte_mbuf*, Ingress) { return true; });
    if (nat_.on()) [[unlikely]]
      nat_.out(chunk);  // what they are about
    rewrite_lanes(chunk, {});
  }
}

[[gnu::always_inline]] inline void Pipeline::rewrite_lanes(Chunk& chunk, Telling telling) noexcept {
  if (filter_.any()) [[unlikely]]
    telling.led = filter_.views()->lead.led;
  const auto each = [&](auto& lane) {
    rewrite(lane, chunk, options_.tables.next_hops, transmitter_, *snapshot_, counters_.interfaces,
            telling, tunnels_.batch());
  };
  each(chunk.v4);
  each(chunk.v6);
  if (tunnels_.waiting()) [[unlikely]]
    tunnels_.send(chunk, options_.tables, telling.too_big);
}

// A port of a bridge of Linux: what it does not switch goes the way of all packets.
void Pipeline::receive_bridged(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept {
  const BridgeViews& bridges = *pipeline.snapshot_->bridges;
  const PortId id(&port - pipeline.snapshot_->ports.data());
  const uint64_t gone =
      switch_frames(chunk, *bridges.ports[id], id, bridges, pipeline.transmitter_);
  if (chunk.refused_count > 0) pipeline.refused_sink_.take_refused(chunk);
  chunk.bytes = 0;
  if (chunk.count > 0) entries_for(pipeline.features_of(port)).received(pipeline, chunk, port);
  chunk.bytes += gone;
}

// A port that MPLS is forwarded from: what has no label, or is Linux's, goes the way of all packets.
void Pipeline::receive_labelled(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept {
  const uint64_t gone = pipeline.labels_.take(chunk, port, pipeline.options_.tables);
  if (chunk.refused_count > 0) pipeline.refused_sink_.take_refused(chunk);
  chunk.bytes = 0;
  if (chunk.count > 0 || pipeline.labels_.waiting())
    entries_for(pipeline.features_of(port)).received(pipeline, chunk, port);
  chunk.bytes += gone;
}

std::optional<unsigned> Pipeline::from_linux(Chunk& chunk) noexcept {
  if ((features_ & kFeatureIpsec) == 0) return std::nullopt;
  IpsecStages& ipsec = *options_.ipsec;
  ipsec.policy_check.from_linux(chunk, options_.tables, ipsec.encap.batch());
  if (ipsec.encap.batch().count == 0 && chunk.refused_count == 0) return std::nullopt;
  ipsec.encap.run_from_linux(chunk, options_.tables, *snapshot_, active_observer());
  const unsigned packets = chunk.v4.count + chunk.v6.count;
  run_after_encap<kFeatureIpsec>(chunk);
  if (chunk.refused_count > 0) refused_sink_.take_refused(chunk);
  return packets;
}

// ---- Look-up, which may wait for a device ----

template <unsigned Features>
inline void Pipeline::route(Chunk& chunk) noexcept {
  if constexpr (Features & kFeatureIpsec)
    if (filter_.any()) [[unlikely]]
      filter_.opened(chunk, options_.ipsec->sa_flag);
  if constexpr (Features & kFeatureUrpf) {
    const uint64_t sa_flag = Features & kFeatureIpsec ? options_.ipsec->sa_flag : 0;
    check_reverse_path(chunk.v4, chunk, options_.tables, *snapshot_, sa_flag, rules_);
    check_reverse_path(chunk.v6, chunk, options_.tables, *snapshot_, sa_flag, rules_);
  }
  look_up_all<Features>(chunk);
}

template <unsigned Features>
inline void Pipeline::look_up_all(Chunk& chunk) noexcept {
  if (nat_.on()) [[unlikely]]
    nat_.in(chunk);
  look_up<Features>(chunk.v4, options_.tables.fib4);
  look_up<Features>(chunk.v6, options_.tables.fib6);
}

template <unsigned Features, typename Address, typename Fib>
inline void Pipeline::look_up(Lane<Address>& lane, const Fib& fib) noexcept {
  if (lane.count == 0) return;
  if constexpr ((Features & kFeatureOffload) != 0)
    look_up_beside_device(lane, fib);  // of main alone
  else if (rules_ != nullptr) [[unlikely]]
    look_up_by_rules(lane, options_.tables, *rules_);
  else
    lookup_batch(fib, lane.destinations, lane.groups, lane.count);
}

// Looks up on this core, or sends the lane to the device and leaves it empty. Traced packets, for
// which the device was drained, are followed through here.
template <typename Address, typename Fib>
void Pipeline::look_up_beside_device(Lane<Address>& lane, const Fib& fib) noexcept {
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

// ---- Which of the compiled ways ----

void Pipeline::use(const Snapshot& snapshot,
                   const std::array<TransmitPath, kMaxPorts>& transmit) noexcept {
  snapshot_ = &snapshot;
  rules_ = snapshot.rules.get();
  transmitter_.use(&transmit);
  redirects_.configure(rte_get_tsc_hz(), snapshot.punt_pps[static_cast<size_t>(Reason::kRedirect)],
                       kRedirectPps, kRedirectBurst);
  nat_.use(snapshot, options_.tables, options_.thread);
  too_big_.use(snapshot, options_.tables, kTooBigOfASource, IcmpAnswers::Others::kLeft);
  reordering_.configure(rte_get_tsc_hz());
  observer_.use(snapshot, options_.thread);
  transmitter_.follow(active_observer());
  unsigned features = snapshot.features;
  if (const WorkerOffload* offload = options_.offload; offload != nullptr) {
    if (offload->has_lookups()) features |= kFeatureOffload;
    // What came out of a tunnel and is in flight meets the policies also when the last one goes.
    if (!offload->empty()) features |= features_ & kFeatureIpsec;
  }
  if (options_.ipsec == nullptr) features &= ~unsigned{kFeatureIpsec};
  features_ = features;
  entries_ = entries_for(features);
  // Where IPsec's policies hold for an answer, there is none.
  const bool answers = (features & kFeatureIpsec) == 0;
  rejects_.use(snapshot, options_.tables, AnswerLimit::kSourcePps, IcmpAnswers::Others::kLeft,
               Reason::kProhibit);
  // IPsec's policies must see what is inside and the outer packet: with them tunnels are Linux's.
  tunnels_.use(snapshot, answers ? snapshot.tunnels.get() : nullptr, options_.thread);
  labels_.use(snapshot, answers);
  filter_.use(snapshot.filters.get(), options_.thread, options_.socket,
              answers ? &rejects_ : nullptr);
  filter_.tell({&observer_, &transmitter_, &counters_.reasons, &snapshot});
  for (PortId port = 0; port < kMaxPorts; ++port) {
    const PortView& view = snapshot.ports[port];
    const bool bridged = snapshot.bridges && snapshot.bridges->ports[port];
    received_[port] = snapshot.closed               ? receive_closed
                      : bridged                     ? receive_bridged
                      : view.labels && labels_.on() ? receive_labelled
                                                    : entries_for(features_of(view)).received;
    const InterfaceId untagged =
        view.untagged == kNoInterface ? view.down_untagged() : view.untagged;
    const bool counts = untagged != kNoInterface && snapshot.interfaces[untagged].counters;
    transmitter_.count_untagged(port, counts ? &counters_.interfaces[untagged] : nullptr);
  }
}

// What a port's own interfaces ask for, and what goes for all. What came out of a tunnel may have
// come in by another port before it was whole.
unsigned Pipeline::features_of(const PortView& port) const noexcept {
  unsigned of_ports = kFeatureVlan | kFeatureCounters;
  if ((features_ & kFeatureIpsec) == 0) of_ports |= kFeatureUrpf;
  return (features_ & ~of_ports) | (port.features & of_ports);
}

template <unsigned Features>
struct Pipeline::Compiled {
  static void received(Pipeline& pipeline, Chunk& chunk, const PortView& port) noexcept {
    pipeline.run_received<Features>(chunk, port);
  }
  static void after_decap(Pipeline& pipeline, Chunk& chunk) noexcept {
    pipeline.run_after_decap<Features>(chunk);
  }
  static void after_lookup(Pipeline& pipeline, Chunk& chunk) noexcept {
    pipeline.run_after_lookup<Features>(chunk);
  }
  static void after_encap(Pipeline& pipeline, Chunk& chunk) noexcept {
    pipeline.run_after_encap<Features>(chunk);
  }
  static void handed(Pipeline& pipeline, Chunk& chunk) noexcept {
    pipeline.run_handed<Features>(chunk);
  }
  static constexpr Entries kEntries{received, after_decap, after_lookup, after_encap, handed};
};

Pipeline::Entries Pipeline::entries_for(unsigned features) noexcept {
  static constexpr auto kEntries = []<size_t... Set>(std::index_sequence<Set...>) {
    return std::array<Entries, sizeof...(Set)>{Compiled<Set>::kEntries...};
  }
  (std::make_index_sequence<kFeatureSets>());
  return kEntries[features % kFeatureSets];
}

}  // namespace hecto::router
