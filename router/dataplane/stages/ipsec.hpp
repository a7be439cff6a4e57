// decap and encap: ESP in the pipeline. Compiled in only while there is an SA or a policy.
//
//   decap (before look-up)   ESP that an SA of ours answers for leaves its lane, is decrypted, and
//                            comes back as the packet inside, classified as if it had just come in
//   encap (after look-up)    every packet is held against the inbound policies (RFC 4301 §5.2): the
//                            right protection or none; what is to be forwarded, against the
//                            outbound ones (§5.1): let through, dropped, or encrypted. Then its own
//                            look-up, of the tunnel's end, has been made and rewrite goes on with
//                            it.
//
// With a device (ipsec_offload.cpp), some of a chunk's packets leave between check and crypto:
//
//   decap, encap ─ false: no room there ─► the caller polls ─► decap_rest, encap_rest …
//   poll_opened, poll_sealed ─► a chunk of what came back, as decap and encap would have left it
//
// With a NIC (ipsec_nic.cpp), what it has opened goes the same way without the cipher, and what it
// is to seal goes past rewrite, into the queue of that NIC's port alone: leave_by_nic().
//
// How a packet was protected goes with it in its mbuf, also through a device's batches.
// One for each worker, and one for the slow path. Not thread-safe.
#pragma once

#include <atomic>
#include <memory>

#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/core/token_bucket.hpp"
#include "router/dataplane/nic_crypto/nic_sa.hpp"
#include "router/dataplane/observe/observer.hpp"
#include "router/dataplane/offload/esp_offload.hpp"
#include "router/dataplane/stages/reassembly.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "router/ipsec/esp/engine.hpp"
#include "router/ipsec/esp/tables.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router {

// How an mbuf says by which SA its packet came: NICs have a flag of their own for what they opened,
// which says nothing of what we made of it. Once, before ports are started.
struct SaMark {
  int field = -1;     // the SA, where the flag is set
  uint64_t flag = 0;  // in ol_flags
};
Result<SaMark> register_sa_mark();

class IpsecStages {
 public:
  struct Options {
    esp::IpsecView tables;
    SaMark mark;                                   // of register_sa_mark()
    const std::atomic<uint32_t>* now_s = nullptr;  // a clock that control moves
    esp::CryptoLibrary crypto = esp::best_crypto();
  };
  // `device`: the worker's; may be null, and then decap and encap are never false.
  static Result<std::unique_ptr<IpsecStages>> create(const Options& options,
                                                     EspOffload* device = nullptr);

  // `observer`: may be null; else none of these packets goes to a device with nothing in flight.
  bool decap(Chunk& chunk, const PortView& port, const TableViews& tables, const Snapshot& snapshot,
             ReasonCounters& reasons, Observer* observer) noexcept;
  bool encap(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
             Observer* observer) noexcept;
  // Behind encap(): what ports' NICs are to seal, into their queues.
  bool has_for_nics() const noexcept { return by_nic_->leaving_count > 0; }
  void leave_by_nic(Transmitter& transmitter, const Snapshot& snapshot,
                    std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept;
  // With a device. Between decap() and its end no other decap(), of encap() likewise.
  bool decap_rest(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                  Observer* observer) noexcept;
  bool encap_rest(Chunk& chunk, const TableViews& tables, Observer* observer) noexcept;
  // next(packets) for each chunk of them, which is to be empty again when that returns.
  template <typename Next>
  void poll_opened(Chunk& chunk, const Snapshot& snapshot, Next&& next) noexcept {
    device_->opening().poll(*engine_, [&](std::span<esp::Work> work, const EspFrame* frames) {
      deliver_opened(work, frames, chunk, snapshot);
      next(static_cast<unsigned>(work.size()));
    });
  }
  template <typename Next>
  void poll_sealed(Chunk& chunk, Next&& next) noexcept {
    device_->sealing().poll(*engine_, [&](std::span<esp::Work> work, const EspFrame* frames) {
      deliver_sealed(work, frames, chunk);
      next(static_cast<unsigned>(work.size()));
    });
  }
  // Of packets that Linux sends: only the outbound policies, and IKE goes by them. False where no
  // policy held for one, and all are as they were.
  bool encap_own(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                 Observer* observer) noexcept;

  // Fragments that wait for others; expire() gives up those that have waited for too long.
  uint32_t held() const noexcept { return reassembly_.held(); }
  void expire(ReasonCounters& reasons) noexcept { reassembly_.expire(reasons); }
  uint64_t fragments_made() const noexcept { return made_.load(std::memory_order_relaxed); }

 private:
  IpsecStages(const Options& options, std::unique_ptr<esp::Engine> engine, EspOffload* device);
  enum class From : uint8_t { kPort, kLinux };
  static constexpr uint8_t kOuterHops = 65;  // rewrite takes one

  template <typename Address, typename Fib>
  bool join(Lane<Address>& lane, unsigned i, const Fib& fib, const lookup::NextHopView& hops,
            ReasonCounters& reasons) noexcept;
  template <typename Address, typename Fib>
  void gather_esp(Lane<Address>& lane, Chunk& chunk, const Fib& fib,
                  const lookup::NextHopView& hops, ReasonCounters& reasons) noexcept;
  bool deliver_inner(const esp::Packet& inner, const EspFrame& frame, Chunk& chunk,
                     const PortView& port, const Snapshot& snapshot) noexcept;

  struct Question {
    uint16_t place;     // in its lane
    bool own;           // to one of our addresses
    const esp::Sa* sa;  // that it came by; null: in the clear
  };
  struct Fate {
    esp::Sa* sa = nullptr;
    Reason reason = Reason::kNone;
  };
  template <From Source, typename Address>
  unsigned ask(const Lane<Address>& lane, const lookup::NextHopView& hops) noexcept;
  template <From Source, typename Address>
  void apply_policies(Lane<Address>& lane, Chunk& chunk, const TableViews& tables) noexcept;
  template <typename Address>
  void hear_path_mtu(const Lane<Address>& lane, const uint8_t* ip, uint32_t bytes) const noexcept;
  template <typename Address>
  Reason inbound_verdict(const Lane<Address>& lane, unsigned q,
                         const esp::Policy* forward) const noexcept;
  static Reason check_inbound(const esp::Policy* policy, const esp::Sa* sa, bool ike) noexcept;
  template <typename Address>
  bool made_by_linux(const Lane<Address>& lane, unsigned i) const noexcept;
  static Fate outbound_fate(const esp::Policy* policy) noexcept;
  void protect(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot, From source,
               Observer* observer) noexcept;
  void look_up_ends(const TableViews& tables) noexcept;
  bool ready(unsigned i, Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
             From source) noexcept;
  bool split(unsigned i, uint32_t mtu, const Chunk& chunk) noexcept;
  void seal_here(Chunk& chunk, const TableViews& tables, Observer* observer) noexcept;
  static bool deliver_outer(const esp::Packet& outer, const EspFrame& frame, Chunk& chunk) noexcept;
  void deliver_answers(Chunk& chunk, const TableViews& tables) noexcept;

  // ipsec_nic.cpp
  template <typename Address>
  void gather_opened(Lane<Address>& lane, Chunk& chunk) noexcept;
  Reason vouched(const rte_mbuf* packet, esp::Sa* sa) const noexcept;
  void decap_opened(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                    Observer* observer) noexcept;
  unsigned choose_nic(Chunk& chunk, const TableViews& tables) noexcept;
  void encap_for_nics(Chunk& chunk, const TableViews& tables) noexcept;
  bool give_to_nic(esp::Work& work, unsigned i) noexcept;

  bool decap_beside_device(Chunk& chunk, const PortView& port, const Snapshot& snapshot,
                           Observer* observer) noexcept;
  bool encap_beside_device(Chunk& chunk, const TableViews& tables, Observer* observer) noexcept;
  void deliver_opened(std::span<esp::Work> work, const EspFrame* frames, Chunk& chunk,
                      const Snapshot& snapshot) noexcept;
  static void deliver_sealed(std::span<esp::Work> work, const EspFrame* frames,
                             Chunk& chunk) noexcept;
  uint32_t now_s() const noexcept { return options_.now_s->load(std::memory_order_relaxed); }

  const esp::Sa*& sa_of(rte_mbuf* packet) const noexcept {
    return *RTE_MBUF_DYNFIELD(packet, options_.mark.field, const esp::Sa**);
  }
  void add(rte_mbuf* packet, Ingress ingress, esp::Sa* sa) noexcept;
  static Observer::SaPacket seen(unsigned i, const esp::Packet& packet,
                                 const EspFrame& frame) noexcept;

  Options options_;
  std::unique_ptr<esp::Engine> engine_;
  Reassembly reassembly_;
  EspOffload* device_;
  unsigned count_ = 0;
  alignas(64) esp::Packet packets_[kChunkSize];
  alignas(64) EspFrame work_[kChunkSize];
  // Of decap with a device: while it waits for room, what comes back may go through encap.
  struct Waiting {
    esp::Packet packets[kChunkSize];
    EspFrame frames[kChunkSize];
  };
  std::unique_ptr<Waiting> waiting_;
  // Of a chunk, what NICs have opened; then what they are to seal.
  struct ByNic {
    esp::Packet packets[kChunkSize];
    EspFrame frames[kChunkSize];
    esp::Work work[kChunkSize];
    const lookup::NextHopRecord* ways[kChunkSize];  // read once: port, session and header go by it
    const NicSession* sessions[kChunkSize];
    struct Leaving {
      rte_mbuf* packet;
      const lookup::NextHopRecord* way;
    } leaving[kChunkSize];
    unsigned leaving_count = 0;
  };
  std::unique_ptr<ByNic> by_nic_ = std::make_unique<ByNic>();
  Question questions_[kChunkSize];
  esp::FlowKey keys_[kChunkSize];
  uint32_t came_if_id_[kChunkSize], ends_if_id_[kChunkSize];
  struct Answer {
    rte_mbuf* packet;
    Ingress ingress;
  };
  unsigned answer_count_ = 0;
  Answer answers_[kChunkSize];
  TokenBucket too_big_;
  uint32_t too_big_pps_ = 0;
  std::atomic<uint64_t> made_{0};
};

}  // namespace hecto::router
