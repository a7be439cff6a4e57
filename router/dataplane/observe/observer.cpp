#include "router/dataplane/observe/observer.hpp"

namespace hecto::router {

void Observer::received(const Chunk& chunk, uint16_t worker, PortId port, QueueId queue) noexcept {
  if (tap_ != nullptr) tap_->received(chunk, port, queue);
  active_ = tap_ != nullptr;
  if (trace_session_ == nullptr || trace_session_->full()) return;
  traced_.start(trace_session_, chunk, worker, port, queue);
  active_ = true;  // also without a packet that fits: one may come out of a tunnel
}

void Observer::chunk_done() noexcept {
  traced_.clear();
  active_ = tap_ != nullptr;
}

void Observer::dropped(const rte_mbuf* packet, Reason reason, InterfaceId interface) noexcept {
  traced_.refused(packet, reason, false, interface);
  samples_.refused(packet, reason, SampleFate::kDropped);
  if (tap_ != nullptr) tap_->dropped(packet, reason, interface);
}

void Observer::not_sent(const rte_mbuf* packet, Reason reason, PortId port) noexcept {
  traced_.not_sent(packet, reason);
  samples_.refused(packet, reason, SampleFate::kDropped);
  if (tap_ != nullptr) tap_->not_sent(packet, reason, port);
}

}  // namespace hecto::router
