#include "router/dataplane/stages/transmit.hpp"

#include "base/ether.hpp"
#include "router/dataplane/core/wakeup.hpp"

namespace hecto::router {
namespace {

uint64_t bytes_of(std::span<rte_mbuf* const> packets) noexcept {
  uint64_t bytes = 0;
  for (const rte_mbuf* packet : packets) bytes += packet->pkt_len;
  return bytes;
}

}  // namespace

void Transmitter::Buffer::count_interface() const noexcept {
  const unsigned plain = count - other_packets;
  interface->tx_packets.add(plain);
  interface->tx_bytes.add(bytes - other_bytes - uint64_t{plain} * kEthernetBytes);
}

void Transmitter::drop(PortId port, rte_mbuf** packets, unsigned count, Reason reason) noexcept {
  if (observer_ != nullptr)
    for (unsigned i = 0; i < count; ++i) observer_->not_sent(packets[i], reason, port);
  reasons_.dropped[static_cast<size_t>(reason)].add(count);
  rte_pktmbuf_free_bulk(packets, count);
}

// Into one mbuf of the port's own pool, which holds what the port's MTU allows. Null: the pool is
// empty, and the packet dropped.
rte_mbuf* Transmitter::copied(PortId port, const TransmitPath& path, rte_mbuf* packet) noexcept {
  rte_mbuf* copy =
      path.pool == nullptr ? nullptr : rte_pktmbuf_copy(packet, path.pool, 0, UINT32_MAX);
  if (copy != nullptr && copy->nb_segs > 1) {
    rte_pktmbuf_free(copy);
    copy = nullptr;
  }
  if (copy == nullptr) {
    drop(port, &packet, 1, Reason::kTransmitFull);
    return nullptr;
  }
  if (observer_ != nullptr) observer_->replaced(packet, copy);
  rte_pktmbuf_free(packet);
  return copy;
}

// In the room of their first segment where they fit. Returns how many are left.
unsigned Transmitter::join_segments(PortId port, const TransmitPath& path, rte_mbuf** packets,
                                    unsigned count) noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; i < count; ++i) {
    rte_mbuf* packet = packets[i];
    if (packet->nb_segs > 1 && rte_pktmbuf_linearize(packet) != 0) [[unlikely]]
      packet = copied(port, path, packet);
    if (packet != nullptr) packets[kept++] = packet;
  }
  return kept;
}

// Copies what the driver would put into the wrong pool, or with what hangs on it. Returns how many
// are left.
unsigned Transmitter::make_plain(PortId port, const TransmitPath& path, rte_mbuf** packets,
                                 unsigned count) noexcept {
  unsigned kept = 0;
  for (unsigned i = 0; i < count; ++i) {
    rte_mbuf* packet = packets[i];
    const bool plain = packet->pool == path.pool && packet->nb_segs == 1 &&
                       RTE_MBUF_DIRECT(packet) && rte_mbuf_refcnt_read(packet) == 1;
    if (!plain) packet = copied(port, path, packet);
    if (packet != nullptr) packets[kept++] = packet;
  }
  return kept;
}

void Transmitter::send(PortId port, const TransmitPath& path, rte_mbuf** packets, unsigned count,
                       uint64_t bytes, bool several_segments) noexcept {
  const QueueId queue = path.queue;
  if (several_segments && path.linear) [[unlikely]] {
    count = join_segments(port, path, packets, count);
    bytes = bytes_of({packets, count});
  }
  if (observer_ != nullptr) [[unlikely]]
    observer_->offer(port, packets, count);
  unsigned sent = rte_eth_tx_burst(port, queue, packets, static_cast<uint16_t>(count));
  // Some drivers take only part of a burst at a time: try until one call takes nothing.
  while (sent < count) {
    const unsigned more =
        rte_eth_tx_burst(port, queue, packets + sent, static_cast<uint16_t>(count - sent));
    if (more == 0) break;
    sent += more;
  }
  if (observer_ != nullptr) [[unlikely]]
    observer_->taken(sent);
  if (sent < count) [[unlikely]] {
    for (unsigned i = sent; i < count; ++i) bytes -= packets[i]->pkt_len;
    drop(port, packets + sent, count - sent, Reason::kTransmitFull);
  }
  ports_[port].tx_packets.add(sent);
  ports_[port].tx_bytes.add(bytes);
}

void Transmitter::flush(PortId port) noexcept {
  pending_ &= ~(uint64_t{1} << port);
  Buffer& buffer = buffers_[port];
  unsigned count = buffer.count;
  if (count == 0) return;
  const bool timed = timer_ != nullptr && timer_->active();
  if (timed) [[unlikely]]
    timer_->end(TimedStage::kRewrite);
  rte_mbuf** const packets = buffer.packets;
  uint64_t bytes = buffer.bytes;
  if (buffer.interface != nullptr) buffer.count_interface();
  if (observer_ != nullptr) [[unlikely]]
    for (unsigned i = 0; i < count; ++i) observer_->queued(packets[i], port);
  const TransmitPath& path = (*paths_)[port];
  if (path.plain_only) [[unlikely]] {
    count = make_plain(port, path, packets, count);
    bytes = bytes_of({packets, count});
  }
  if (path.queue == TransmitPath::kNone) [[unlikely]] {
    drop(port, packets, count, Reason::kInterfaceDown);
  } else if (path.handoff == nullptr) [[likely]] {
    send(port, path, packets, count, bytes, buffer.several_segments);
  } else {
    const unsigned taken = rte_ring_sp_enqueue_burst(
        path.handoff, reinterpret_cast<void* const*>(packets), count, nullptr);
    if (taken < count) drop(port, packets + taken, count - taken, Reason::kTransmitFull);
    if (path.owner != nullptr) path.owner->ring();
  }
  if (observer_ != nullptr) [[unlikely]]
    observer_->sent(port);
  buffer.clear();
  if (timed) [[unlikely]]
    timer_->end(TimedStage::kTransmit);
}

unsigned Transmitter::drain(const HandoffQueue& handoff) noexcept {
  rte_mbuf* packets[kTransmitBurst];
  const unsigned count = rte_ring_sc_dequeue_burst(handoff.ring, reinterpret_cast<void**>(packets),
                                                   kTransmitBurst, nullptr);
  if (count == 0) return 0;
  uint16_t segments = 0;
  for (unsigned i = 0; i < count; ++i) segments |= packets[i]->nb_segs;
  send(handoff.port, (*paths_)[handoff.port], packets, count, bytes_of({packets, count}),
       segments > 1);
  return count;
}

}  // namespace hecto::router
