// `hecto trace`: what happened to the next N matching packets at each stage.
//
// A session is part of the snapshot only while it waits for packets: without one the pipeline pays
// one predicted branch per chunk and stage. The worker notes after each stage where its traced
// packets have got to; the stages themselves know nothing of it.
//
// Thread-safety: events are appended by any worker and the slow path, read by control.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/filter_place.hpp"
#include "router/dataplane/observe/packet_match.hpp"

namespace hecto::router {

enum class TraceKind : uint8_t {
  kReceived,      // port, queue, length
  kClassified,    // interface
  kDecapsulated,  // spi: the packet is what was inside
  kFiltered,  // place, reason (kNone: it goes on), in `bytes` names: the filter's, 0, the rule's
  kLookedUp,  // group
  kEncapsulated,  // spi: the packet is what goes out
  kRewritten,     // egress port, new header
  kTransmitted,   // port
  kPunted,        // reason: into the punt queue
  kDelivered,     // written to the TAP of `interface`
  kDropped,       // reason
};

struct TraceEvent {
  uint32_t number = 0;  // of the packet, from 1
  TraceKind kind{};
  Stage stage{};
  Reason reason{};
  PortId port = 0;
  QueueId queue = 0;
  uint16_t worker = 0;
  FilterPlace place{};
  InterfaceId interface = kNoInterface;
  lookup::GroupId group = 0;
  Spi spi = 0;
  uint32_t length = 0;  // bytes of the whole packet
  uint16_t captured = 0;
  std::array<uint8_t, 128> bytes{};  // of its beginning
  uint64_t tsc = 0;
};

class TraceSession {
 public:
  // Up to 65535 packets. The id tells it from the session before.
  TraceSession(PacketMatch match, unsigned packets, uint16_t id = 0);
  uint16_t id() const noexcept { return id_; }

  bool wants(const rte_mbuf* packet) const noexcept;  // matches, and there is still room
  uint32_t begin() noexcept;                          // a packet's number; 0: enough already
  void record(const TraceEvent& event) noexcept;
  bool full() const noexcept { return started_.load(std::memory_order_relaxed) >= packets_; }
  unsigned packets() const noexcept { return packets_; }
  std::vector<TraceEvent> events() const;  // those complete so far, in order of appearance

 private:
  struct Slot {
    std::atomic<bool> ready{false};
    TraceEvent event;
  };
  PacketMatch match_;
  unsigned packets_;
  uint16_t id_;
  std::atomic<uint32_t> started_{0};
  std::atomic<uint32_t> used_{0};
  std::vector<Slot> slots_;
};

// A worker's traced packets of the chunk in hand.
class TracedPackets {
 public:
  void start(TraceSession* session, const Chunk& chunk, uint16_t worker, PortId port,
             QueueId queue) noexcept;
  bool active() const noexcept { return count_ > 0; }
  void after_classify(const Chunk& chunk) noexcept;
  void after_lookup(const Chunk& chunk) noexcept;
  bool follows(const rte_mbuf* packet) const noexcept { return number(packet) != 0; }
  // `names`: the filter's, 0, and the rule's; without the latter none held.
  void filtered(const rte_mbuf* packet, FilterPlace place, Reason reason,
                std::span<const char> names) noexcept;
  void through_sa(const rte_mbuf* packet, TraceKind kind, Spi spi) noexcept;
  void after_rewrite(const rte_mbuf* packet, PortId port) noexcept;
  void refused(const rte_mbuf* packet, Reason reason, bool punted, InterfaceId interface) noexcept;
  void not_sent(const rte_mbuf* packet, Reason reason) noexcept;
  void replaced(const rte_mbuf* packet, const rte_mbuf* copy) noexcept {
    if (Entry* const entry = find(packet)) entry->packet = copy;
  }
  void sent(PortId port) noexcept;
  // The trace's number, for packets that go on through the punt queue.
  uint16_t number(const rte_mbuf* packet) const noexcept;
  void clear() noexcept {
    count_ = 0;
    session_ = nullptr;
  }

 private:
  struct Entry {
    const rte_mbuf* packet;  // null once it has left the worker's hands
    uint32_t number;
    PortId egress;
    bool queued;
  };
  static constexpr unsigned kMax = 16;
  Entry* find(const rte_mbuf* packet) noexcept;
  Entry* begin_inside(const rte_mbuf* packet) noexcept;
  TraceEvent event(const Entry& entry, TraceKind kind, Stage stage) const noexcept;

  TraceSession* session_ = nullptr;
  unsigned count_ = 0;
  Entry packets_[kMax];
};

}  // namespace hecto::router
