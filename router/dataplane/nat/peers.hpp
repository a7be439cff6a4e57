// To whom each session has sent, for address-dependent filtering (RFC 4787 §5): the newest of each
// bucket; a session's last one is beside it. Sessions are named by serial numbers, so that what is
// left of an old one opens nothing. One thread.
#pragma once

#include "router/dataplane/nat/bucket_index.hpp"

namespace hecto::router::nat {

class Peers {
 public:
  bool create(uint32_t most, lookup::Memory& memory, int socket) noexcept {
    const uint64_t buckets = std::bit_ceil(std::max<uint64_t>(uint64_t{most} / 4, 1));
    mask_ = buckets - 1;
    return slots_.create(buckets * kSlots, memory, socket);
  }
  uint64_t bytes() const noexcept { return slots_.size() > 1 ? slots_.bytes() : 0; }

  void add(uint32_t serial, uint32_t peer) noexcept {
    const uint64_t key = uint64_t{serial} << 32 | peer;
    const uint64_t at = bucket(key);
    if (place(at, key) != kSlots) return;
    const unsigned free = place(at, 0);
    slots_[at + (free == kSlots ? victim_++ % kSlots : free)] = key;
  }
  bool has(uint32_t serial, uint32_t peer) const noexcept {
    const uint64_t key = uint64_t{serial} << 32 | peer;
    return place(bucket(key), key) != kSlots;
  }

 private:
  static constexpr unsigned kSlots = 8;
  uint64_t bucket(uint64_t key) const noexcept {
    return ((key * 0x9e3779b97f4a7c15u >> 24) & mask_) * kSlots;
  }
  unsigned place(uint64_t at, uint64_t key) const noexcept {
    for (unsigned i = 0; i < kSlots; ++i)
      if (slots_[at + i] == key) return i;
    return kSlots;
  }

  FixedArray<uint64_t> slots_;
  uint64_t mask_ = 0;
  unsigned victim_ = 0;
};

}  // namespace hecto::router::nat
