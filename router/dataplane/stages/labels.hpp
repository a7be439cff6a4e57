// Labels of MPLS that come in (docs/mpls.md), ahead of classify:
//
//   frames ─► EtherType 8847, for us? ─► label ─► group ─► swap, pop ─► L2 header ─► transmit
//                │ no                       │                └─► a VRF: waits, and goes into its lane
//                └► they stay, close up     └─► not for here: it stays, and is Linux's as a whole
//
// What is refused for Linux is as it came in. Of one thread.
#pragma once

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/transmit.hpp"

namespace hecto::router {

class LabelStage {
 public:
  using Interfaces = std::array<InterfaceCounters, kMaxInterfaces>;
  LabelStage(Transmitter& transmitter, Interfaces& interfaces)
      : transmitter_(transmitter), interfaces_(interfaces) {}

  // `on`: it is asked to. The snapshot outlives the next use().
  void use(const Snapshot& snapshot, bool on) noexcept;
  bool on() const noexcept { return on_; }

  // Of chunk.packets those with labels that are known; the others close up in order, chunk.count is how
  // many. Refused ones are in chunk.refused, which was empty. Returns the bytes of those that do not
  // stay.
  uint64_t take(Chunk& chunk, const PortView& port, const TableViews& tables) noexcept;

  // What has come out into VRFs goes into its lanes, with flag() set.
  bool waiting() const noexcept { return waiting_count_ > 0; }
  void enter(Chunk& chunk) noexcept;
  // 0: there have been no labels. Packets may be in flight when there are none any more.
  uint64_t flag() const noexcept { return flag_; }

 private:
  struct Frame {
    rte_mbuf* packet = nullptr;
    uint8_t* label = nullptr;  // the entry on top
    unsigned l2 = 0;
    InterfaceId by = kNoInterface;
    uint32_t entry = 0;  // as load32_be sees it
    unsigned inside =
        0;  // from `label` to what is behind the stack; 0: not within what is looked at
    uint32_t bytes() const noexcept;  // from `label` on
    bool bottom() const noexcept;
    uint32_t ttl() const noexcept { return entry & 0xff; }
  };
  struct Waiting {
    rte_mbuf* packet;
    Ingress ingress;
    bool v4;
  };
  // kStays: it is Linux's, or what is left of it goes the way of all packets.
  enum class Taken : uint8_t { kStays, kGone };

  bool read(rte_mbuf* packet, const PortView& port, Frame& frame) const noexcept;
  Taken go(Frame& frame, const uint16_t* slots, const TableViews& tables, Chunk& chunk) noexcept;
  Taken forward(const Frame& frame, const lookup::NextHopRecord& record, Chunk& chunk) noexcept;
  Taken receive(const Frame& frame, const lookup::NextHopRecord& record, Chunk& chunk) noexcept;
  Taken uncover(const Frame& frame, const lookup::NextHopRecord& record, Chunk& chunk) noexcept;
  Taken refuse(const Frame& frame, Reason reason, Chunk& chunk) const noexcept;
  uint32_t hash_of(const Frame& frame) const noexcept;

  Transmitter& transmitter_;
  Interfaces& interfaces_;
  const Snapshot* snapshot_ = nullptr;
  bool on_ = false;
  uint64_t flag_ = 0;
  unsigned waiting_count_ = 0;
  Waiting waiting_[kChunkSize];
};

}  // namespace hecto::router
