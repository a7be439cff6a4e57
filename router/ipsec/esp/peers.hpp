// Whether some SA has an address for its source: what is asked of fragments, which say no SPI. A
// counting Bloom filter with a secret seed: it knows every source that there is, and takes for one,
// with as many SAs as ipsec.max_sas allows, one in 256 others; which those are nobody outside knows.
//
// One writer (control), any number of readers.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <memory>

#include "lookup/prefix.hpp"
#include "router/ipsec/esp/hash.hpp"

namespace hecto::router::esp {

class Peers {
 public:
  explicit Peers(uint32_t max_sas)
      : seed_(random_words<3>()),
        mask_(std::bit_ceil(std::clamp(max_sas, 64u, 1u << 16) * kSlotsPerSa) - 1),
        counts_(std::make_unique<std::atomic<uint16_t>[]>(mask_ + 1)) {}

  // 4 or 16 bytes in network order.
  bool contains(lookup::Family family, const uint8_t* source) const noexcept {
    const uint64_t hash = hash_of(family, source);
    return count(hash & mask_) != 0 && count(hash >> 32 & mask_) != 0;
  }
  // Control. One add() for each SA, and one remove() when it goes.
  void add(const lookup::IpAddress& source) noexcept { change(source, 1); }
  void remove(const lookup::IpAddress& source) noexcept { change(source, -1); }

 private:
  static constexpr uint32_t kSlotsPerSa = 32;
  static constexpr uint16_t kStuck = UINT16_MAX;  // so many that it is never let go again

  uint64_t hash_of(lookup::Family family, const uint8_t* source) const noexcept {
    if (family == lookup::Family::kIpv4)
      return fold_product(load_word<uint32_t>(source) ^ seed_[0], seed_[1]);
    return fold_product(load_word<uint64_t>(source) ^ seed_[0],
                        load_word<uint64_t>(source + 8) ^ seed_[2]);
  }
  uint16_t count(uint64_t at) const noexcept { return counts_[at].load(std::memory_order_relaxed); }
  void change(const lookup::IpAddress& source, int by) noexcept {
    const uint64_t hash = hash_of(source.family, source.bytes.data());
    for (const uint64_t at : {hash & mask_, hash >> 32 & mask_})
      if (count(at) != kStuck)
        counts_[at].store(static_cast<uint16_t>(count(at) + by), std::memory_order_relaxed);
  }

  std::array<uint64_t, 3> seed_;
  uint64_t mask_;
  std::unique_ptr<std::atomic<uint16_t>[]> counts_;
};

}  // namespace hecto::router::esp
