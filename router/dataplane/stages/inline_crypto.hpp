// Cipher and ICV by a port's own NIC (rte_security, inline crypto): before a packet is ours, and
// after it has left. All else of ESP is done here. See router/dataplane/nic_crypto/README.md.
#pragma once

#include <array>
#include <memory>

#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/snapshot.hpp"
#include "router/dataplane/core/table_views.hpp"
#include "router/dataplane/nic_crypto/nic_sa.hpp"
#include "router/dataplane/stages/esp_state.hpp"
#include "router/dataplane/stages/transmit.hpp"
#include "router/ipsec/esp/work.hpp"

namespace hecto::router {

// Of decap: packets that came in decrypted.
class InlineDecrypt {
 public:
  explicit InlineDecrypt(const EspState& state)
      : state_(state), work_(std::make_unique<std::array<esp::Work, kChunkSize>>()) {}

  // Makes the batch of all that the NIC has decrypted. What is not ESP of an SA that this NIC has
  // is refused, for its bytes are not those of the wire.
  void gather(Chunk& chunk, EspBatch& batch) noexcept;
  // The checks that are left, and the NIC's word on the ICV; as Engine::inbound() leaves a batch.
  void accept(EspBatch& batch) noexcept;

 private:
  template <typename Address>
  void gather(Lane<Address>& lane, Chunk& chunk, EspBatch& batch) noexcept;

  EspState state_;
  std::unique_ptr<std::array<esp::Work, kChunkSize>> work_;
};

// Of encap: packets whose next hop's port has a session of their SA. They go past rewrite, into
// that port's queue alone.
class InlineEncrypt {
 public:
  explicit InlineEncrypt(const EspState& state)
      : state_(state), packets_(std::make_unique<Packets>()) {}

  // Takes them out of the batch and makes them ready for transmit(); what fails is refused.
  void take(EspBatch& batch, Chunk& chunk, const lookup::NextHopView& next_hops) noexcept;
  bool empty() const noexcept { return ready_count_ == 0; }
  void transmit(Transmitter& transmitter, const Snapshot& snapshot,
                std::array<InterfaceCounters, kMaxInterfaces>& interfaces) noexcept;

 private:
  void choose(EspBatch& batch, Chunk& chunk, const lookup::NextHopView& next_hops) noexcept;
  bool write_frame(esp::Work& work, unsigned i) noexcept;

  struct Ready {
    rte_mbuf* packet;
    const lookup::NextHopRecord* next_hop;
  };
  struct Packets {
    EspBatch batch;
    esp::Work work[kChunkSize];
    // Read once: port, session and header are of the same next hop.
    const lookup::NextHopRecord* next_hops[kChunkSize];
    const NicSession* sessions[kChunkSize];
    Ready ready[kChunkSize];
  };
  EspState state_;
  std::unique_ptr<Packets> packets_;
  unsigned ready_count_ = 0;
};

}  // namespace hecto::router
