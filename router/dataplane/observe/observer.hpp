// Who looks on while packets pass: `hecto trace`, which follows a few through all stages,
// `hecto capture`, which copies what passes chosen points, and samples for sFlow, of which only the
// end of their way is asked. The stages know one of these and not what is behind it. While neither
// trace nor capture runs active() is false, and that is all a stage asks; follows() is true besides
// while a chunk has samples.
//
// One for each worker, and one for the slow path. Not thread-safe.
#pragma once

#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/observe/flow_samples.hpp"
#include "router/dataplane/observe/session.hpp"
#include "router/dataplane/observe/trace.hpp"

namespace hecto::router {

class Observer {
 public:
  // `thread`: the worker's id; of the slow path, the number of workers.
  void use(const Snapshot& snapshot, unsigned thread) noexcept {
    trace_session_ = snapshot.trace.get();
    tap_ = snapshot.capture ? &snapshot.capture->tap(thread) : nullptr;
    traced_.clear();
    active_ = tap_ != nullptr;
    samples_.use(snapshot.sampling.get(), thread, rte_rdtsc() + thread);
  }
  FlowSampler& samples() noexcept { return samples_; }
  bool follows() const noexcept { return active_ || samples_.following(); }
  bool active() const noexcept { return active_; }
  bool tracing() const noexcept { return traced_.active(); }

  // A chunk as it was received; what is traced of it is traced until chunk_done().
  void received(const Chunk& chunk, uint16_t worker, PortId port, QueueId queue) noexcept;
  void chunk_done() noexcept;

  void after_classify(const Chunk& chunk) noexcept {
    if (tracing()) traced_.after_classify(chunk);
  }
  void after_lookup(const Chunk& chunk) noexcept {
    if (tracing()) traced_.after_lookup(chunk);
  }
  bool traces(const rte_mbuf* packet) const noexcept { return traced_.follows(packet); }
  void filtered(const rte_mbuf* packet, FilterPlace place, Reason reason,
                std::span<const char> names) noexcept {
    traced_.filtered(packet, place, reason, names);
  }
  // A packet `i` of a batch of ESP: its IP header on, and the SA.
  struct SaPacket {
    unsigned i;
    const rte_mbuf* packet;
    const uint8_t* ip;
    uint32_t bytes;
    InterfaceId interface;  // where it came in
    Spi spi;
  };
  void before_decap(const SaPacket& p) noexcept { before(CapturePoint::kDecapOuter, p); }
  void before_encap(const SaPacket& p) noexcept { before(CapturePoint::kEncapInner, p); }
  void decapsulated(const SaPacket& p) noexcept {
    behind(CapturePoint::kDecapInner, TraceKind::kDecapsulated, p);
  }
  void encapsulated(const SaPacket& p) noexcept {
    behind(CapturePoint::kEncapOuter, TraceKind::kEncapsulated, p);
  }
  void punted(const rte_mbuf* packet, Reason reason, InterfaceId interface) noexcept {
    traced_.refused(packet, reason, true, interface);
    samples_.refused(packet, reason, SampleFate::kPunted);
  }
  void dropped(const rte_mbuf* packet, Reason reason, InterfaceId interface) noexcept;

  // Frames for a port, on their way through its queue.
  void queued(const rte_mbuf* packet, PortId port) noexcept {
    traced_.after_rewrite(packet, port);
    samples_.queued(packet, port);
  }
  void offer(PortId port, rte_mbuf* const* packets, unsigned count) noexcept {
    if (tap_ != nullptr) tap_->offer(port, packets, count);
  }
  void taken(unsigned count) noexcept {
    if (tap_ != nullptr) tap_->taken(count);
  }
  void not_sent(const rte_mbuf* packet, Reason reason, PortId port) noexcept;
  // A copy goes on in its place.
  void replaced(const rte_mbuf* packet, const rte_mbuf* copy) noexcept {
    traced_.replaced(packet, copy);
    samples_.replaced(packet, copy);
  }
  void sent(PortId port) noexcept {
    traced_.sent(port);
    samples_.sent(port);
  }

  // For packets that go on through the punt queue: the trace's number (0: none) and session.
  uint16_t trace_number(const rte_mbuf* packet) const noexcept { return traced_.number(packet); }
  uint16_t trace_session() const noexcept { return trace_session_->id(); }

 private:
  void before(CapturePoint point, const SaPacket& p) noexcept {
    if (tap_ != nullptr) tap_->before_sa(point, p.i, p.packet, p.ip, p.bytes, p.interface, p.spi);
  }
  void behind(CapturePoint point, TraceKind kind, const SaPacket& p) noexcept {
    traced_.through_sa(p.packet, kind, p.spi);
    if (tap_ != nullptr) tap_->behind_sa(point, p.i, p.packet, p.ip, p.bytes, p.interface, p.spi);
  }

  bool active_ = false;
  TraceSession* trace_session_ = nullptr;
  CaptureTap* tap_ = nullptr;
  TracedPackets traced_;
  FlowSampler samples_;
};

}  // namespace hecto::router
