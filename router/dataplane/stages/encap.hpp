// encap, behind the policy check: packets that an SA protects, as ESP to its tunnel's end.
//
//   batch ─► look-up of the tunnel's end ─► TTL, size ─┬─► write ─┬─► this core ─┬─► finish ─►
//   lanes
//                                             │        │          └─► device ────┘
//                                             │        └─► InlineEncrypt ─► that port's queue
//                                             └─► too big: cut, answered, or refused
//
// What comes back to the lanes has the next-hop group of its tunnel's end, for rewrite. With a
// device run() may have to wait for room there: it is false, the caller polls, and resume() goes
// on. Not thread-safe.
#pragma once

#include <atomic>

#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/stages/esp_state.hpp"
#include "router/dataplane/stages/icmp_answers.hpp"
#include "router/dataplane/stages/inline_crypto.hpp"

namespace hecto::router {

class VrfTables;

class Encap {
 public:
  // `device`: may be null.
  Encap(const EspState& state, EspDirection* device) : state_(state), device_(device) {}

  EspBatch& batch() noexcept { return batch_; }  // to be filled before run()

  // `observer`: may be null; else none of these packets goes to a NIC, nor to a device with nothing
  // in flight.
  bool run(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
           Observer* observer) noexcept;
  // Until it is true no other run().
  bool resume(Chunk& chunk, Observer* observer) noexcept;
  // Packets that Linux sends: on this core alone.
  void run_from_linux(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
                      Observer* observer) noexcept;
  // What the device has encrypted, as run() would have left it in `chunk`: next(packets) for each
  // chunk of them, which is to be empty again when that returns.
  template <typename Next>
  void poll(Chunk& chunk, Next&& next) noexcept {
    device_->poll(*state_.engine, [&](std::span<esp::Work> work, const EspFrame* frames) {
      deliver_encrypted(work, frames, chunk);
      next(static_cast<unsigned>(work.size()));
    });
  }
  // What NICs are to encrypt, once run() or resume() is true.
  InlineEncrypt& inline_encrypt() noexcept { return inline_encrypt_; }
  const IcmpAnswers& answers() const noexcept { return answers_; }
  // More packets than came in. From any thread.
  uint64_t fragments_made() const noexcept {
    return fragments_made_.load(std::memory_order_relaxed);
  }
  // Whether ESP of a packet fits the way to its tunnel's end; where not, `mtu` is what may come in.
  struct Fit {
    bool fits = true, may_be_cut = false;
    uint32_t mtu = 0;
  };
  static Fit fit_of(const esp::Packet& packet, const lookup::NextHopRecord& next_hop,
                    uint32_t now_s) noexcept;
  // Why a packet cannot be sent to its tunnel's end, whose next hop does not forward.
  // `route`: by which it would go on.
  static Reason reason_without_next_hop(const lookup::NextHopRecord& next_hop,
                                        const lookup::NextHopRecord& route) noexcept;

 private:
  static constexpr uint8_t kOuterHops = 65;          // rewrite takes one
  static constexpr uint32_t kAnswersOfASource = 10;  // a second

  void prepare(Chunk& chunk, const TableViews& tables, const Snapshot& snapshot,
               PacketSource source, Observer* observer) noexcept;
  void look_up_tunnel_ends(const TableViews& tables) noexcept;
  void look_up_tunnel_ends(const VrfTables& tables, PacketSource source) noexcept;
  bool prepare_one(unsigned i, Chunk& chunk, const VrfTables& tables, PacketSource source) noexcept;
  Reason reason_without_next_hop(unsigned i, const lookup::NextHopRecord& next_hop,
                                 const VrfTables& tables, PacketSource source) const noexcept;
  static Fit fit_of(const esp::Packet& packet, uint32_t outer_mtu) noexcept;
  bool cut_or_answer(unsigned i, uint32_t outer_mtu, Chunk& chunk) noexcept;
  bool fragment(unsigned i, uint32_t mtu, const Chunk& chunk) noexcept;
  void run_here(Chunk& chunk, Observer* observer) noexcept;
  bool start_beside_device(Chunk& chunk, Observer* observer) noexcept;
  static bool deliver(const esp::Packet& outer, const EspFrame& frame, Chunk& chunk) noexcept;
  void deliver_and_show(unsigned i, Chunk& chunk, Observer* observer) noexcept;
  void deliver_encrypted(std::span<esp::Work> work, const EspFrame* frames, Chunk& chunk) noexcept;
  void deliver_answers(Chunk& chunk) noexcept;

  EspState state_;
  EspDirection* device_;
  InlineEncrypt inline_encrypt_{state_};
  EspBatch batch_;
  IcmpAnswers answers_;  // to senders inside
  std::atomic<uint64_t> fragments_made_{0};
};

}  // namespace hecto::router
