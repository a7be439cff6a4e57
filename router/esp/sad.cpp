#include "router/esp/sad.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "router/esp/hash.hpp"
#include "router/esp/sa.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

constexpr uint64_t kEmpty = 0;
constexpr uint64_t kTombstone = 1;
constexpr unsigned kTagShift = 48;  // user-space addresses of Linux end below 2^48 unless asked
constexpr uint64_t kPointer = (uint64_t{1} << kTagShift) - 1;
constexpr uint64_t kMinSlots = 64;
constexpr unsigned kSlotsInLine = 8;
constexpr size_t kBatch = 64;  // lines in flight are fewer, the loop's cost is spread

// Never 0, so that neither an empty slot nor a tombstone looks like it.
uint64_t tag(uint64_t hash) {
  return hash >> kTagShift | 1;
}

uint64_t pack(uint64_t hash, const Sa* sa) {
  return tag(hash) << kTagShift | reinterpret_cast<uintptr_t>(sa);
}

Sa* unpack(uint64_t slot) {
  return reinterpret_cast<Sa*>(slot & kPointer);
}

bool is(const Sa& sa, const SadKey& key) {
  const lookup::IpAddress& destination = sa.id.destination;
  return sa.id.spi == key.spi && destination.family == key.family &&
         (key.family == Family::kIpv4
              ? std::memcmp(destination.bytes.data(), key.destination, 4) == 0
              : std::memcmp(destination.bytes.data(), key.destination, 16) == 0);
}

SadKey key_of(const SaId& id) {
  return {id.spi, id.destination.family, id.destination.bytes.data()};
}

}  // namespace

struct Sad::Table {
  struct alignas(64) Line {
    std::array<std::atomic<uint64_t>, kSlotsInLine> slots{};
  };

  explicit Table(uint64_t slots)
      : mask(slots - 1), lines(std::make_unique<Line[]>(slots / kSlotsInLine)) {}
  std::atomic<uint64_t>& slot(uint64_t at) const {
    return lines[(at & mask) / kSlotsInLine].slots[at % kSlotsInLine];
  }

  const uint64_t mask;
  const std::unique_ptr<Line[]> lines;
};

Sad::Sad(uint32_t max_sas, lookup::Reclaimer& readers)
    : max_sas_(max_sas), readers_(readers), seed_(random_words<3>()) {
  table_ = std::make_unique<Table>(kMinSlots);
  current_.store(table_.get(), std::memory_order_release);
}

Sad::~Sad() = default;

uint64_t Sad::hash(uint32_t spi, Family family, const uint8_t* destination) const noexcept {
  if (family == Family::kIpv4)
    return fold_product(load_word<uint32_t>(destination) ^ seed_[0], spi ^ seed_[1]);
  const uint64_t address = fold_product(load_word<uint64_t>(destination) ^ seed_[0],
                                        load_word<uint64_t>(destination + 8) ^ seed_[2]);
  return fold_product(address, spi ^ seed_[1]);
}

Sa* Sad::probe(const Table& table, uint64_t hash, const SadKey& key) noexcept {
  for (uint64_t at = hash;; ++at) {
    const uint64_t slot = table.slot(at).load(std::memory_order_acquire);
    if (slot == kEmpty) return nullptr;
    if (slot >> kTagShift == tag(hash) && is(*unpack(slot), key)) return unpack(slot);
  }
}

Sa* Sad::find(uint32_t spi, Family family, const uint8_t* destination) const noexcept {
  const Table& table = *current_.load(std::memory_order_acquire);
  return probe(table, hash(spi, family, destination), {spi, family, destination});
}

void Sad::find_batch(std::span<const SadKey> keys, Sa** found) const noexcept {
  const Table& table = *current_.load(std::memory_order_acquire);
  while (!keys.empty()) {
    uint64_t hashes[kBatch];
    const size_t count = std::min(keys.size(), kBatch);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = hash(keys[i].spi, keys[i].family, keys[i].destination);
      __builtin_prefetch(&table.slot(hashes[i]));
    }
    for (size_t i = 0; i < count; ++i) {
      const uint64_t slot = table.slot(hashes[i]).load(std::memory_order_relaxed);
      if (slot >> kTagShift == tag(hashes[i])) __builtin_prefetch(unpack(slot));
    }
    for (size_t i = 0; i < count; ++i) found[i] = probe(table, hashes[i], keys[i]);
    keys = keys.subspan(count);
    found += count;
  }
}

Result<Sa*> Sad::insert(Sa* sa) {
  const SadKey key = key_of(sa->id);
  const uint64_t hash = this->hash(key.spi, key.family, key.destination);
  std::atomic<uint64_t>* place = nullptr;
  for (uint64_t at = hash;; ++at) {
    std::atomic<uint64_t>& slot = table_->slot(at);
    const uint64_t seen = slot.load(std::memory_order_relaxed);
    if (seen >> kTagShift == tag(hash) && is(*unpack(seen), key)) {
      slot.store(pack(hash, sa), std::memory_order_release);
      return unpack(seen);
    }
    if (place == nullptr && seen <= kTombstone) place = &slot;
    if (seen == kEmpty) break;
  }
  if (live_ == max_sas_) {
    return fail(fmt::format("there are {} SAs already, as many as ipsec.max_sas allows", live_));
  }
  if (place->load(std::memory_order_relaxed) == kEmpty) {
    if (uint64_t{used_ + 1} * 2 > table_->mask + 1) {
      rebuild(live_ + 1);
      return insert(sa);
    }
    ++used_;
  }
  ++live_;
  place->store(pack(hash, sa), std::memory_order_release);
  return nullptr;
}

Sa* Sad::remove(const SaId& id) {
  const SadKey key = key_of(id);
  const uint64_t hash = this->hash(key.spi, key.family, key.destination);
  for (uint64_t at = hash;; ++at) {
    const uint64_t seen = table_->slot(at).load(std::memory_order_relaxed);
    if (seen == kEmpty) return nullptr;
    if (seen >> kTagShift != tag(hash) || !is(*unpack(seen), key)) continue;
    --live_;
    table_->slot(at).store(kTombstone, std::memory_order_release);
    // Nobody is found behind a tombstone that an empty slot follows.
    if (table_->slot(at + 1).load(std::memory_order_relaxed) == kEmpty) {
      for (; table_->slot(at).load(std::memory_order_relaxed) == kTombstone; --at, --used_)
        table_->slot(at).store(kEmpty, std::memory_order_release);
    }
    return unpack(seen);
  }
}

// Leaves room for half as many more, or as many that come and go, before the next rebuild.
void Sad::rebuild(uint32_t sas) {
  auto fresh = std::make_unique<Table>(std::max(kMinSlots, std::bit_ceil(uint64_t{sas} * 3)));
  for (uint64_t at = 0; at <= table_->mask; ++at) {
    const uint64_t slot = table_->slot(at).load(std::memory_order_relaxed);
    if (slot <= kTombstone) continue;
    const SadKey key = key_of(unpack(slot)->id);
    uint64_t to = hash(key.spi, key.family, key.destination);
    while (fresh->slot(to).load(std::memory_order_relaxed) != kEmpty) ++to;
    fresh->slot(to).store(slot, std::memory_order_relaxed);
  }
  current_.store(fresh.get(), std::memory_order_release);
  std::swap(table_, fresh);
  used_ = live_;
  retired_.push_back({readers_.start(), std::move(fresh)});
  reclaim();
}

void Sad::reclaim() {
  while (!retired_.empty() && readers_.passed(retired_.front().token)) retired_.pop_front();
}

}  // namespace hecto::router::esp
