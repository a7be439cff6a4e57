// How a packet's policy is found.
#include "router/ipsec/esp/spd.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

// With so many slots policies are no longer in the L1 cache.
constexpr uint64_t kManySlots = 1024;

// Written, too: they count packets.
template <size_t kWords>
void prefetch(const Policy* policy) noexcept {
  __builtin_prefetch(policy, 1);
  if constexpr (kWords == 6) __builtin_prefetch(&policy->key[3]);
}

}  // namespace

template <size_t kWords>
const Policy* Spd::search(const Table<kWords>& table, const SpdWords<kWords>& key) const noexcept {
  const Policy* best = nullptr;
  for (const ShapeView<kWords>& shape : *table.published.load(std::memory_order_acquire)) {
    if (best != nullptr && shape.best >= rank(*best)) break;
    const SpdWords<kWords> words = masked(key, shape.mask);
    const Policy* found = shape.slots->find(
        spd_hash(words, seed_), [&words](const Policy& policy) { return has_key(policy, words); });
    if (found != nullptr && (best == nullptr || rank(*found) < rank(*best))) best = found;
  }
  return best;
}

const Policy* Spd::find(const FlowKey& key, uint32_t if_id) const noexcept {
  return key.family == Family::kIpv4 ? search(v4_, spd_words<3>(key, if_id))
                                     : search(v6_, spd_words<6>(key, if_id));
}

template <size_t kWords>
void Spd::search_batch(const Table<kWords>& table, Family family, std::span<const FlowKey> keys,
                       const uint32_t* if_ids, const Policy** found) const noexcept {
  constexpr size_t kGroup = 64;
  struct Search {
    SpdWords<kWords> key, masked;
    uint64_t hash;
    const Policy* best;
    uint32_t place;  // in `found`
  };
  const List<kWords>& list = *table.published.load(std::memory_order_acquire);
  for (size_t at = 0; at < keys.size();) {
    Search searches[kGroup];
    size_t count = 0;
    for (; at < keys.size() && count < kGroup; ++at) {
      if (keys[at].family != family) continue;
      Search& search = searches[count++];
      search.key = spd_words<kWords>(keys[at], if_ids[at]);
      search.best = nullptr;
      search.place = static_cast<uint32_t>(at);
    }
    for (const ShapeView<kWords>& shape : list) {
      uint8_t open[kGroup];  // searches that this shape may answer
      size_t open_count = 0;
      for (size_t i = 0; i < count; ++i) {
        Search& search = searches[i];
        if (search.best != nullptr && shape.best >= rank(*search.best)) continue;
        search.masked = masked(search.key, shape.mask);
        search.hash = spd_hash(search.masked, seed_);
        if (!shape.slots->may_have(search.hash)) continue;
        shape.slots->prefetch(search.hash);
        open[open_count++] = static_cast<uint8_t>(i);
      }
      if (shape.slots->slots() >= kManySlots) {
        for (const uint8_t i : std::span(open, open_count)) {
          const Policy* candidate = shape.slots->candidate(searches[i].hash);
          if (candidate != nullptr) prefetch<kWords>(candidate);
        }
      }
      for (const uint8_t i : std::span(open, open_count)) {
        Search& search = searches[i];
        const Policy* policy = shape.slots->find(
            search.hash, [&search](const Policy& one) { return has_key(one, search.masked); });
        if (policy != nullptr && (search.best == nullptr || rank(*policy) < rank(*search.best)))
          search.best = policy;
      }
    }
    for (size_t i = 0; i < count; ++i) found[searches[i].place] = searches[i].best;
  }
}

void Spd::find_batch(std::span<const FlowKey> keys, const uint32_t* if_ids,
                     const Policy** found) const noexcept {
  search_batch(v4_, Family::kIpv4, keys, if_ids, found);
  search_batch(v6_, Family::kIpv6, keys, if_ids, found);
}

template <size_t kWords>
size_t Spd::slots_read(const Table<kWords>& table, const SpdWords<kWords>& key) const noexcept {
  size_t slots = 0;
  for (const ShapeView<kWords>& shape : *table.published.load(std::memory_order_acquire)) {
    const SpdWords<kWords> words = masked(key, shape.mask);
    slots += shape.slots->slots_read(
        spd_hash(words, seed_), [&words](const Policy& policy) { return has_key(policy, words); });
  }
  return slots;
}

size_t Spd::slots_read(const FlowKey& key, uint32_t if_id) const noexcept {
  return key.family == Family::kIpv4 ? slots_read(v4_, spd_words<3>(key, if_id))
                                     : slots_read(v6_, spd_words<6>(key, if_id));
}

}  // namespace hecto::router::esp
