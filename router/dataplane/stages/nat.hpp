// nat: destinations behind uRPF and before the look-up, sources behind it and the policy rules
// (router/dataplane/nat/README.md draws the way).
//
//   in()    to an outside address: the inside one, or refused where nobody inside asked for it; to
//           the router's own address without a mapping: as it was, for Linux
//   out()   from inside, where its next hop's interface translates: the outside address. What will
//           not leave as it is (TTL at its end, too big to be sent uncut) stays as it was, so that
//           its sender is told of what it sent
//
// A packet whose mapping is another worker's goes there by ring, as it was, and on from there: which
// one says its inside address, or its outside address and port. Later fragments from outside have
// no port: all fragments of a packet go by one worker that keeps whose it was.
//
// One for each pipeline. Not thread-safe.
#pragma once

#include <optional>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/nat/tables.hpp"

namespace hecto::router {

struct FramedIp;

// What a worker gets from others.
enum class NatStep : uint8_t {
  kReceived,   // nothing was done with it
  kFragment,   // of a packet to a pool's address, for who keeps whose it is
  kOwned,      // its mapping is here
  kHairpin,    // its destination was translated, and its source's mapping is here
  kFromLinux,  // its source's mapping is here; then it leaves as it is
};
struct NatHanded {
  rte_mbuf* packet;
  Ingress ingress;
  NatStep step;
};
inline constexpr unsigned kNatRing = 4096;  // packets that wait for a worker

class NatStage {
 public:
  // Until the next use() by these; `worker`: whose shares it has.
  void use(const Snapshot& snapshot, const TableViews& tables, unsigned worker) noexcept;
  void use(const TableViews& tables) noexcept { views_ = &tables; }
  bool on() const noexcept { return tables_ != nullptr; }

  // Takes the time, and closes a few of the sessions that are over. Once a poll.
  void tick(uint64_t tsc) noexcept;
  void set_time(uint32_t now_s) noexcept { now_s_ = now_s; }  // for tests

  void in(Chunk& chunk) noexcept {
    in(chunk.v4, chunk);
    in(chunk.v6, chunk);
  }
  void out(Chunk& chunk) noexcept {
    out(chunk.v4, chunk);
    out(chunk.v6, chunk);
  }

  // Of what others have handed over: those to be routed are put into lanes, and in() and out() know
  // what was done until done_with_handed(). Those of Linux go to `transmit`.
  template <typename Transmit>
  unsigned take_handed(rte_ring* ring, unsigned most, Chunk& chunk, Transmit transmit) noexcept;
  void done_with_handed() noexcept { handed_ = false; }

  // A frame of Linux that is to leave by an interface. kNone: it may, translated where that needs no
  // mapping; nothing: it was handed over to a worker; else why it is dropped.
  std::optional<Reason> from_linux(rte_mbuf* packet, const FramedIp& frame,
                                   InterfaceId interface) noexcept;

 private:
  struct Job {  // one that needs a share's session
    uint16_t at;
    uint16_t pool;
    nat::Kind kind;  // kLater: by its first fragment
    uint8_t flags;   // TCP's
    bool first_fragment;
    bool hairpin;  // its source is inside, of `set`
    uint8_t set;
    uint16_t port;
    uint32_t address, peer;
    uint64_t hash;
  };
  struct Pending {
    NatHanded handed;
    unsigned worker;
  };
  struct Where4 {
    Lane4& lane;
    unsigned at;
    uint8_t* ip;
    uint32_t bytes;  // in one piece
  };
  static constexpr Reason kGone = Reason::kCount;  // handed over

  void in(Lane4& lane, Chunk& chunk) noexcept;
  void in(Lane6& lane, Chunk& chunk) noexcept;
  void out(Lane4& lane, Chunk& chunk) noexcept;
  void out(Lane6& lane, Chunk& chunk) noexcept;

  void begin(unsigned count) noexcept;
  template <typename Address>
  void finish(Lane<Address>& lane, Chunk& chunk) noexcept;
  void refuse(unsigned at, Reason reason) noexcept { reasons_[at] = reason, any_gone_ = true; }
  void refuse(unsigned at, Reason reason, uint16_t pool) noexcept {
    refuse(at, reason);
    share(pool).refused(reason).add(1);
  }
  void hand(const Where4& packet, unsigned worker, NatStep step) noexcept;
  void send_handed(Chunk& chunk) noexcept;
  nat::Share& share(uint16_t pool) const noexcept { return *shares_[pool]; }

  // ---- Inwards ----
  void in_one_to_one(const Where4& packet, const nat::OutsideUse& use) noexcept;
  void in_pool(const Where4& packet, const nat::OutsideUse& use, uint32_t place) noexcept;
  void in_fragment(const Where4& packet, const nat::Ipv4Packet& read, const nat::OutsideUse& use,
                   uint32_t place) noexcept;
  void in_error(const Where4& packet, const nat::OutsideUse& use) noexcept;
  void in_job(const Job& job, const Where4& packet) noexcept;
  // No mapping lets it in: Linux's, where the address is its own.
  void unmapped(const Where4& packet, Reason reason, const nat::OutsideUse& use) noexcept;
  bool is_inside(uint8_t set, const uint8_t* ip) const noexcept;
  void set_destination(const Where4& packet, uint32_t address) noexcept {
    packet.lane.destinations[packet.at] = __builtin_bswap32(address);
  }
  void hairpin(const Where4& packet, uint8_t set) noexcept;

  // ---- Outwards ----
  const lookup::NextHopRecord& way_out(Lane4& lane, unsigned at) noexcept;
  void out_error(const Where4& packet, const nat::InsideSet& set) noexcept;
  // Of one packet from inside of a pool whose host is this worker's.
  Reason out_alone(uint8_t* ip, uint32_t bytes, uint16_t pool) noexcept;
  // Of an ICMP error: kNone where it may leave, kGone where `owner` is to have it as it is.
  Reason translate_error(uint8_t* ip, uint32_t bytes, const nat::InsideSet& set,
                         unsigned& owner) noexcept;
  Reason translate_out(const Job& job, uint8_t* ip, uint32_t bytes) noexcept;
  Reason leave_for_linux(uint8_t* ip, const NatHanded& handed) noexcept;

  Where4 where(Lane4& lane, unsigned at) const noexcept {
    const unsigned l2 = lane.ingress[at].l2_length();
    return {lane, at, rte_pktmbuf_mtod_offset(lane.packets[at], uint8_t*, l2),
            lane.packets[at]->data_len - l2};
  }

  const Snapshot* snapshot_ = nullptr;
  const NatTables* tables_ = nullptr;
  const TableViews* views_ = nullptr;
  unsigned worker_ = 0;
  bool has_shares_ = false;
  nat::Share* shares_[config::kMostNatPools] = {};  // by pool: this worker's
  uint32_t now_s_ = 0;
  uint64_t ticked_ = 0, hz_ = 1;  // by the TSC

  bool handed_ = false, any_gone_ = false;
  unsigned job_count_ = 0, pending_count_ = 0;
  NatStep steps_[kChunkSize];  // of the IPv4 lane, while handed_
  Reason reasons_[kChunkSize];
  Job jobs_[kChunkSize];
  Pending pending_[kChunkSize];
};

template <typename Transmit>
unsigned NatStage::take_handed(rte_ring* ring, unsigned most, Chunk& chunk,
                               Transmit transmit) noexcept {
  NatHanded taken[kChunkSize];
  const unsigned count =
      rte_ring_sc_dequeue_burst_elem(ring, taken, sizeof(NatHanded), most, nullptr);
  chunk.v4.count = chunk.v6.count = chunk.refused_count = 0;
  handed_ = true;
  for (unsigned i = 0; i < count; ++i) {
    const NatHanded& each = taken[i];
    uint8_t* const ip = rte_pktmbuf_mtod_offset(each.packet, uint8_t*, each.ingress.l2_length());
    if (tables_ == nullptr || snapshot_->closed) {
      chunk.refuse(each.packet, Reason::kNotReady, each.ingress.interface());
    } else if (each.step != NatStep::kFromLinux) {
      Lane4& lane = chunk.v4;
      lane.packets[lane.count] = each.packet;
      lane.destinations[lane.count] = load32_be(ip + 16);
      lane.ingress[lane.count] = each.ingress;
      steps_[lane.count++] = each.step;
    } else if (const Reason reason = leave_for_linux(ip, each); reason != Reason::kNone) {
      chunk.refuse(each.packet, reason, each.ingress.interface());
    } else {
      transmit(each.packet);
    }
  }
  return count;
}

}  // namespace hecto::router
