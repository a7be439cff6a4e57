// Refused packets by reason and interface: a few of the many pairs there could be. Eight kilobytes that
// are touched when a packet is refused, and never else. One thread writes, control reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/net.hpp"
#include "base/reason.hpp"
#include "router/dataplane/core/counters.hpp"

namespace hecto::router {

class ReasonTable {
 public:
  static constexpr size_t kSlots = 512;  // a power of two
  static constexpr size_t kTries = 16;   // slots that are looked at

  // A pair that finds no slot is counted by its reason alone, in ReasonCounters: false.
  bool add(Reason reason, InterfaceId interface) noexcept {
    const uint32_t key = uint32_t{static_cast<uint8_t>(reason)} << 16 | interface;
    const size_t first = key * 0x9e3779b1u >> 23;  // of 2^9 slots
    for (size_t i = 0; i < kTries; ++i) {
      Slot& slot = slots_[(first + i) % kSlots];
      const uint32_t taken = slot.key.load(std::memory_order_relaxed);
      if (taken != key && taken != 0) continue;
      slot.packets.add(1);
      if (taken == 0) slot.key.store(key, std::memory_order_release);
      return true;
    }
    return false;
  }

  // work(reason, interface, packets), of each pair that there was.
  template <typename Work>
  void each(Work work) const {
    for (const Slot& slot : slots_)
      if (const uint32_t key = slot.key.load(std::memory_order_acquire); key != 0)
        work(static_cast<Reason>(key >> 16), static_cast<InterfaceId>(key), slot.packets.get());
  }

 private:
  struct Slot {
    std::atomic<uint32_t> key{0};  // Reason::kNone, which refuses nothing: free
    Counter packets;
  };
  static_assert(kSlots == 1u << (32 - 23));
  std::array<Slot, kSlots> slots_;
};

}  // namespace hecto::router
