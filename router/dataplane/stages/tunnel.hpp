// Tunnels over IP (docs/tunnels.md), between classify and uRPF on the way in, behind rewrite on the way
// out:
//
//   lanes ─► protocol 4, 41, 47? ─► for one of our addresses, a tunnel's? ─► inner header, ECN ─► lanes,
//                                                        │                       by the tunnel's interface
//                                                        └ no, or not for here: it stays, Linux's
//   rewrite ─► batch ─► way to the other end ─► TTL, size ─► outer header ─► L2 header ─► transmit
//                ▲                                               └─► the way is a tunnel, again ─┐
//                └───────────────────────────────────────────────────────────────────────────────┘
//
// A packet that is refused for Linux is as it came in. Of one thread.
#pragma once

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/core/tunnel_tables.hpp"
#include "router/dataplane/stages/icmp_answers.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "router/dataplane/stages/tunnel_batch.hpp"

namespace hecto::router {

// Of an inner packet without DF, `inner` bytes long, that is too big for the way to the other end.
bool may_leave_in_fragments(const TunnelView& tunnel, const lookup::NextHopRecord& way,
                            uint32_t inner) noexcept;

class TunnelStage {
 public:
  using Interfaces = std::array<InterfaceCounters, kMaxInterfaces>;
  TunnelStage(Transmitter& transmitter, Interfaces& interfaces)
      : transmitter_(transmitter), interfaces_(interfaces) {}

  // Null: there are none, or none is carried. All outlive the next use().
  void use(const Snapshot& snapshot, const TunnelTables* tunnels, unsigned thread) noexcept;
  bool on() const noexcept { return tunnels_ != nullptr; }

  // ---- In ----
  // Packets of tunnels come out of them, with `flag` set. True: there were some.
  bool open(Chunk& chunk, const TableViews& tables) noexcept;
  // 0: there have been no tunnels. Of one that is gone packets may be in flight.
  uint64_t flag() const noexcept { return flag_; }

  // ---- Out ----
  TunnelBatch* batch() noexcept { return tunnels_ == nullptr ? nullptr : &batch_; }
  bool waiting() const noexcept { return batch_.count > 0; }
  // All of the batch. `answers`: to senders of what does not fit; null: Linux's to answer.
  void send(Chunk& chunk, const TableViews& tables, IcmpAnswers* answers) noexcept;

 private:
  // What becomes of a packet of a lane.
  enum class Opened : uint8_t { kLeft, kHere, kElsewhere, kRefused };
  struct Outer {  // of a packet: what stands before the one inside
    TunnelKey key;
    uint32_t bytes = 0;  // 0: it is no tunnel's
    bool inner4 = false;
  };
  // Of the first bytes of an outer IPv4 packet what names its tunnel, as it lies there.
  struct Print {
    uint64_t word[3] = {}, mask[3] = {};
    uint32_t key = 0, key_mask = 0;

    static Print of(const uint8_t* ip, const Outer& outer) noexcept;
    bool is_of(const uint8_t* ip) const noexcept;
  };
  struct Known {  // of the packet before: nearly all packets of a burst are of one tunnel
    TunnelKey key;
    InterfaceId by = kNoInterface;
    const TunnelView* tunnel = nullptr;
    bool opened = false;  // else it is no tunnel's, or not for us, or uRPF's to drop
    Print print;
    Outer outer;                      // of the one that has the print
    uint32_t least = ~0u;             // bytes of a packet that may be held against it
    uint64_t packets = 0, bytes = 0;  // of it that have come out
  };
  // What goes before packets of a tunnel whose way is a neighbor: L2 header and outer one, in one store.
  struct Front {
    alignas(64) uint8_t bytes[64];  // they end where the inner packet begins
    const TunnelView* tunnel = nullptr;
    uint64_t turn = 0;   // of send(); of another one it says nothing
    bool whole = false;  // else put_in() has them
    bool tagged = false;
    uint8_t length = 0;  // of both headers
    uint32_t room = 0;   // bytes inside
    InterfaceId interface = kNoInterface;
    PortId port = 0;
  };
  // Of packets to one tunnel: where its other end is.
  struct Way {
    const TunnelView* tunnel = nullptr;
    lookup::GroupId group = lookup::kNoRoute;
  };

  static Outer read4(const uint8_t* ip, uint32_t bytes) noexcept;
  static Outer read6(const uint8_t* ip, uint32_t bytes) noexcept;
  template <typename Address>
  void open_lane(Lane<Address>& lane, unsigned count, Chunk& chunk,
                 const TableViews& tables) noexcept;
  template <typename Address>
  Opened open_one(Lane<Address>& lane, unsigned i, Chunk& chunk, const TableViews& tables) noexcept;
  template <typename Address>
  void find(const Outer& outer, rte_mbuf* packet, Ingress ingress, const Address& destination,
            const TableViews& tables) noexcept;
  void count_in() noexcept;

  const TunnelView* way_of(InterfaceId tunnel, const TableViews& tables) noexcept;
  void put_in(const TunnelBatch::Each& each, Chunk& chunk, const TableViews& tables,
              IcmpAnswers* answers) noexcept;
  Reason why_not(const TunnelBatch::Each& each, const TunnelView& tunnel,
                 const lookup::NextHopRecord& way) const noexcept;
  const Front& front_of(InterfaceId tunnel, const TableViews& tables) noexcept;
  void put_all(Chunk& chunk, const TableViews& tables, IcmpAnswers* answers) noexcept;
  void count_out(const Front& front, uint64_t packets, uint64_t bytes) noexcept;
  bool put_front(const TunnelBatch::Each& each, const Front& front, Chunk& chunk) noexcept;
  bool fits(const TunnelBatch::Each& each, const TunnelView& tunnel,
            const lookup::NextHopRecord& way, Chunk& chunk, IcmpAnswers* answers) noexcept;
  void finish4(uint8_t* outer, const TunnelView& tunnel, const TunnelBatch::Each& each,
               const uint8_t* inner, uint32_t bytes) noexcept;
  void finish6(uint8_t* outer, const TunnelView& tunnel, const TunnelBatch::Each& each,
               const uint8_t* inner, uint32_t bytes) noexcept;
  void leave(rte_mbuf* packet, const lookup::NextHopRecord& way, Chunk& chunk,
             InterfaceId ingress) noexcept;

  Transmitter& transmitter_;
  Interfaces& interfaces_;
  const Snapshot* snapshot_ = nullptr;
  const TunnelTables* tunnels_ = nullptr;
  uint64_t flag_ = 0;
  uint16_t identification_ = 0;  // of outer IPv4 headers
  bool opened_ = false;
  Known known_;
  Way way_;
  TunnelBatch batch_, next_;
  static constexpr unsigned kFronts = 64;  // by interface
  std::array<Front, kFronts> fronts_;
  uint64_t turn_ = 0;
};

}  // namespace hecto::router
