#include "router/ipsec/esp/sad.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "router/ipsec/esp/hash.hpp"
#include "router/ipsec/esp/sa.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

constexpr size_t kBatch = 64;  // lines in flight are fewer, the loop's cost is spread

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

Sad::Sad(uint32_t max_sas, lookup::Reclaimer& readers)
    : max_sas_(max_sas), readers_(readers), seed_(random_words<3>()) {
  slots_ = std::make_unique<Slots>(0);
  current_.store(slots_.get(), std::memory_order_release);
}

Sad::~Sad() = default;

uint64_t Sad::hash(const SadKey& key) const noexcept {
  const uint8_t* destination = key.destination;
  if (key.family == Family::kIpv4)
    return fold_product(load_word<uint32_t>(destination) ^ seed_[0], key.spi ^ seed_[1]);
  const uint64_t address = fold_product(load_word<uint64_t>(destination) ^ seed_[0],
                                        load_word<uint64_t>(destination + 8) ^ seed_[2]);
  return fold_product(address, key.spi ^ seed_[1]);
}

Sa* Sad::find(Spi spi, Family family, const uint8_t* destination) const noexcept {
  const SadKey key{spi, family, destination};
  return current_.load(std::memory_order_acquire)->find(hash(key), [&key](const Sa& sa) {
    return is(sa, key);
  });
}

void Sad::find_batch(std::span<const SadKey> keys, Sa** found) const noexcept {
  const Slots& slots = *current_.load(std::memory_order_acquire);
  while (!keys.empty()) {
    uint64_t hashes[kBatch];
    const size_t count = std::min(keys.size(), kBatch);
    for (size_t i = 0; i < count; ++i) {
      hashes[i] = hash(keys[i]);
      slots.prefetch(hashes[i]);
    }
    for (size_t i = 0; i < count; ++i) {
      const Sa* sa = slots.candidate(hashes[i]);
      if (sa == nullptr) continue;
      __builtin_prefetch(&sa->id);
      __builtin_prefetch(&sa->shape().salt);
      __builtin_prefetch(&sa->sequence, 1);
    }
    for (size_t i = 0; i < count; ++i)
      found[i] = slots.find(hashes[i], [key = keys[i]](const Sa& sa) { return is(sa, key); });
    keys = keys.subspan(count);
    found += count;
  }
}

Result<Sa*> Sad::insert(Sa* sa) {
  const SadKey key = key_of(sa->id);
  const bool there = find(key.spi, key.family, key.destination) != nullptr;
  if (!there && size() == max_sas_)
    return fail(fmt::format("there are {} SAs already, as many as ipsec.max_sas allows", size()));
  if (slots_->crowded()) rebuild(size() + 1);
  if (!there) of_family_[index_of(key.family)].fetch_add(1, std::memory_order_release);
  return slots_->put(hash(key), sa, [&key](const Sa& other) { return is(other, key); });
}

Sa* Sad::remove(const SaId& id) {
  const SadKey key = key_of(id);
  Sa* taken = slots_->take(hash(key), [&key](const Sa& sa) { return is(sa, key); });
  if (taken != nullptr) of_family_[index_of(key.family)].fetch_sub(1, std::memory_order_release);
  return taken;
}

void Sad::rebuild(uint32_t sas) {
  auto fresh = slots_->resized(sas, [this](const Sa& sa) { return hash(key_of(sa.id)); });
  current_.store(fresh.get(), std::memory_order_release);
  std::swap(slots_, fresh);
  retired_.push_back({readers_.start(), std::move(fresh)});
  reclaim();
}

void Sad::reclaim() {
  while (!retired_.empty() && readers_.passed(retired_.front().token)) retired_.pop_front();
}

}  // namespace hecto::router::esp
