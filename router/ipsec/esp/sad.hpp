// The SAD as workers read it: SPI and destination -> Sa, in one open-addressed hash table.
//
// The table (pointer_slots.hpp) is replaced behind an atomic pointer when it is crowded, by one of
// the size that its SAs need: 24 to 48 bytes for each. The hash is seeded, since a peer chooses the
// SPIs that it receives.
//
// One writer (control); any number of readers. The Sad does not own its SAs: what insert() and
// remove() hand out may be destroyed when all readers have passed (QSBR).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>

#include "lookup/memory.hpp"
#include "router/ipsec/esp/pointer_slots.hpp"
#include "router/ipsec/esp/sa_state.hpp"
#include "router/ipsec/esp/tables.hpp"

namespace hecto::router::esp {

class Sad {
 public:
  static constexpr uint32_t kDefaultMax = 16384;

  explicit Sad(uint32_t max_sas = kDefaultMax,
               lookup::Reclaimer& readers = lookup::Reclaimer::none());
  ~Sad();
  Sad(const Sad&) = delete;
  Sad& operator=(const Sad&) = delete;

  // Readers.
  // Any SA whose destination is of the family.
  bool has(lookup::Family family) const noexcept {
    return of_family_[index_of(family)].load(std::memory_order_acquire) != 0;
  }
  // `destination`: 4 or 16 bytes in network order. Null: no such SA.
  Sa* find(Spi spi, lookup::Family family, const uint8_t* destination) const noexcept;
  // The same for many at once: cache lines are fetched while others are looked at.
  void find_batch(std::span<const SadKey> keys, Sa** found) const noexcept;

  // Control. Puts the SA into the place of the one with its id, which is returned (null: none).
  // Refused when max_sas are there already.
  Result<Sa*> insert(Sa* sa);
  Sa* remove(const SaId& id);  // null: there was none
  void reclaim();              // frees replaced tables that nobody reads any more
  uint32_t size() const { return static_cast<uint32_t>(slots_->size()); }
  uint32_t max_sas() const { return max_sas_; }

 private:
  using Slots = PointerSlots<Sa>;
  struct Retired {
    uint64_t token;
    std::unique_ptr<Slots> slots;
  };
  uint64_t hash(const SadKey& key) const noexcept;
  void rebuild(uint32_t sas);
  static size_t index_of(lookup::Family family) noexcept {
    return family == lookup::Family::kIpv4 ? 0 : 1;
  }

  const uint32_t max_sas_;
  lookup::Reclaimer& readers_;
  std::array<uint64_t, 3> seed_;
  std::atomic<const Slots*> current_{nullptr};
  std::unique_ptr<Slots> slots_;  // what current_ points at
  std::deque<Retired> retired_;
  std::array<std::atomic<uint32_t>, 2> of_family_{};  // SAs
};

}  // namespace hecto::router::esp
