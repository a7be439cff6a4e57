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

  void enqueue(PortId port, rte_mbuf* packet) noexcept {
    const unsigned count = counts_[port];
    packets_[port][count] = packet;
    counts_[port] = count + 1;
    if (count == 0) [[unlikely]]
      pending_ |= 1ull << port;
    if (count + 1 == kTransmitBurst) [[unlikely]]
      flush(port);
  }

  void flush_all() noexcept {
    while (pending_ != 0) flush(PortId(__builtin_ctzll(pending_)));
  }

  // Sends what others handed over for a queue that this thread owns. Returns packets taken.
  unsigned drain(const HandoffQueue& handoff) noexcept;

  std::span<rte_mbuf* const> queued(PortId port) const noexcept {
    return {packets_[port], counts_[port]};
  }
  // Its packets are the caller's now.
  void forget(PortId port) noexcept {
    counts_[port] = 0;
    pending_ &= ~(1ull << port);
  }
  // Of a poll that is timed, the driver's time counts as transmit, whichever stage fills a buffer.
  void time(StageTimer* timer) noexcept { timer_ = timer; }
  void follow(Observer* observer) noexcept { observer_ = observer; }  // null: nobody looks on

 private:
  void flush(PortId port) noexcept;
  void send(PortId port, const TransmitPath& path, rte_mbuf** packets, unsigned count) noexcept;
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
  std::array<unsigned, kMaxPorts> counts_{};
  alignas(64) rte_mbuf* packets_[kMaxPorts][kTransmitBurst];
  std::array<PortCounters, kMaxPorts>& ports_;
  ReasonCounters& reasons_;
};

}  // namespace hecto::router
