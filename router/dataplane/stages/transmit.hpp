// transmit: one buffer per egress port and worker, sent as a burst when full and at the end of
// every loop. A full transmit queue drops by name; nobody waits. Where a port has fewer transmit
// queues than threads that use it, the buffer goes to a queue's owner through a ring of this thread's
// own: no thread that is kept from its CPU in the middle of it stops another.
#pragma once

#include <span>

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/stage_timer.hpp"
#include "router/dataplane/observe/observer.hpp"

namespace hecto::router {

inline constexpr unsigned kTransmitBurst = 64;

class Transmitter {
 public:
  Transmitter(std::array<PortCounters, kMaxPorts>& ports, ReasonCounters& reasons)
      : ports_(ports), reasons_(reasons) {}

  void use(const std::array<TransmitPath, kMaxPorts>* paths) noexcept { paths_ = paths; }

  // By port, what counts packets that leave by its untagged interface; null: nobody counts there.
  void count_untagged(PortId port, InterfaceCounters* interface) noexcept {
    buffers_[port].interface = interface;
  }

  // An untagged packet of one segment, `bytes` long, that has been rewritten. Its interface counts
  // it when the buffer is flushed. The caller says wake() for the port before it lets go.
  void enqueue_plain(PortId port, rte_mbuf* packet, uint32_t bytes) noexcept {
    Buffer& buffer = buffers_[port];
    const unsigned count = buffer.count;
    buffer.packets[count] = packet;
    buffer.count = count + 1;
    buffer.bytes += bytes;
    if (count + 1 == kTransmitBurst) [[unlikely]]
      flush(port);
  }
  // These ports, by bit, may have packets now.
  void wake(uint64_t ports) noexcept { pending_ |= ports; }

  // Any other, which its interface has counted or does not count.
  void enqueue(PortId port, rte_mbuf* packet) noexcept {
    Buffer& buffer = buffers_[port];
    ++buffer.other_packets;
    buffer.other_bytes += packet->pkt_len;
    buffer.several_segments |= packet->nb_segs > 1;
    wake(uint64_t{1} << port);
    enqueue_plain(port, packet, packet->pkt_len);
  }

  // So many more than came in: fragments.
  void count_fragments(unsigned more) noexcept { reasons_.fragments.add(more); }

  void flush_all() noexcept {
    while (pending_ != 0) flush(PortId(__builtin_ctzll(pending_)));
  }

  // Sends what others handed over for a queue that this thread owns. Returns packets taken.
  unsigned drain(const HandoffQueue& handoff) noexcept;

  std::span<rte_mbuf* const> queued(PortId port) const noexcept {
    return {buffers_[port].packets, buffers_[port].count};
  }
  // Its packets are the caller's now.
  void forget(PortId port) noexcept {
    buffers_[port].clear();
    pending_ &= ~(uint64_t{1} << port);
  }
  // Of a poll that is timed, the driver's time counts as transmit, whichever stage fills a buffer.
  void time(StageTimer* timer) noexcept { timer_ = timer; }
  void follow(Observer* observer) noexcept { observer_ = observer; }  // null: nobody looks on

 private:
  // What waits for a port: in one line what each packet changes, and the first packets.
  struct alignas(64) Buffer {
    unsigned count = 0;
    bool several_segments = false;  // some packet may have more than one
    uint64_t bytes = 0;
    uint32_t other_packets = 0;  // that are not the untagged interface's to count
    uint64_t other_bytes = 0;
    InterfaceCounters* interface = nullptr;
    rte_mbuf* packets[kTransmitBurst];
    uint8_t rest[472];  // to a power of two: its place is a shift

    void count_interface() const noexcept;
    void clear() noexcept {
      count = other_packets = 0;
      bytes = other_bytes = 0;
      several_segments = false;
    }
  };

  static_assert(sizeof(Buffer) == 1024);

  void flush(PortId port) noexcept;
  void send(PortId port, const TransmitPath& path, rte_mbuf** packets, unsigned count,
            uint64_t bytes, bool several_segments) noexcept;
  unsigned join_segments(PortId port, const TransmitPath& path, rte_mbuf** packets,
                         unsigned count) noexcept;
  unsigned make_plain(PortId port, const TransmitPath& path, rte_mbuf** packets,
                      unsigned count) noexcept;
  rte_mbuf* copied(PortId port, const TransmitPath& path, rte_mbuf* packet) noexcept;
  void drop(PortId port, rte_mbuf** packets, unsigned count, Reason reason) noexcept;

  const std::array<TransmitPath, kMaxPorts>* paths_ = nullptr;
  Observer* observer_ = nullptr;
  StageTimer* timer_ = nullptr;  // null: nobody asks
  uint64_t pending_ = 0;         // bit by port
  static_assert(kMaxPorts == 64);
  std::array<Buffer, kMaxPorts> buffers_;
  std::array<PortCounters, kMaxPorts>& ports_;
  ReasonCounters& reasons_;
};

}  // namespace hecto::router
