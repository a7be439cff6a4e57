#include "router/esp/spd.hpp"

#include <algorithm>
#include <bit>
#include <map>

#include "router/esp/hash.hpp"

namespace hecto::router::esp {
namespace {

using lookup::Family;

constexpr uint32_t kNoRule = ~uint32_t{0};

// The first `bits` of `bytes` bytes set, in network order.
void set_prefix(uint8_t* bytes, unsigned length) {
  for (unsigned bit = 0; bit < length; ++bit)
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | 0x80 >> bit % 8);
}

uint64_t ports_and_if_id(uint16_t source, uint16_t destination, uint32_t if_id) {
  return uint64_t{source} << 48 | uint64_t{destination} << 32 | if_id;
}

template <size_t kWords>
std::array<uint64_t, kWords> masked(const std::array<uint64_t, kWords>& key,
                                    const std::array<uint64_t, kWords>& mask) {
  std::array<uint64_t, kWords> out;
  for (size_t i = 0; i < kWords; ++i) out[i] = key[i] & mask[i];
  return out;
}

// What == of arrays does by a call of memcmp.
template <size_t kWords>
bool same(const std::array<uint64_t, kWords>& a, const std::array<uint64_t, kWords>& b) {
  uint64_t difference = 0;
  for (size_t i = 0; i < kWords; ++i) difference |= a[i] ^ b[i];
  return difference == 0;
}

FlowKey flow_of(const IpsecSelector& selector) {
  FlowKey key{
      selector.family, selector.protocol, selector.source_port, selector.destination_port, {}, {}};
  key.source.bytes = selector.source.address.bytes;
  key.destination.bytes = selector.destination.address.bytes;
  return key;
}

}  // namespace

template <size_t kWords>
Spd::Words<kWords> Spd::words(const FlowKey& key, uint32_t if_id) noexcept {
  const uint64_t ports = ports_and_if_id(key.source_port, key.destination_port, if_id);
  if constexpr (kWords == 3) {
    return {load_word<uint32_t>(key.source.bytes.data()) |
                uint64_t{load_word<uint32_t>(key.destination.bytes.data())} << 32,
            ports, key.protocol};
  } else {
    return {load_word<uint64_t>(key.source.bytes.data()),
            load_word<uint64_t>(key.source.bytes.data() + 8),
            load_word<uint64_t>(key.destination.bytes.data()),
            load_word<uint64_t>(key.destination.bytes.data() + 8),
            ports,
            key.protocol};
  }
}

template <size_t kWords>
Spd::Words<kWords> Spd::masks(const IpsecSelector& selector) noexcept {
  FlowKey mask{selector.family,
               static_cast<uint8_t>(selector.protocol != 0 ? 0xff : 0),
               selector.source_port_mask,
               selector.destination_port_mask,
               {},
               {}};
  set_prefix(mask.source.bytes.data(), selector.source.length);
  set_prefix(mask.destination.bytes.data(), selector.destination.length);
  return words<kWords>(mask, ~uint32_t{0});
}

template <size_t kWords>
uint64_t Spd::hash(const Words<kWords>& words) const noexcept {
  if constexpr (kWords == 3) {
    return fold_product(words[0] ^ seed_[0], words[1] ^ seed_[1] ^ words[2] << 56);
  } else {
    return fold_product(words[0] ^ seed_[0], words[1] ^ seed_[1]) ^
           fold_product(words[2] ^ seed_[2], words[3] ^ seed_[3]) ^
           fold_product(words[4] ^ seed_[4], words[5] ^ seed_[5]);
  }
}

template <size_t kWords>
void Spd::build(std::span<const SpdRule> rules, Family family, Table<kWords>& table) {
  std::map<Words<kWords>, std::vector<uint32_t>> by_mask;  // numbers of rules, best first
  for (const SpdRule& rule : rules) {
    if (rule.selector.family != family) continue;
    const Words<kWords> mask = masks<kWords>(rule.selector);
    by_mask[mask].push_back(static_cast<uint32_t>(table.rules.size()));
    table.rules.push_back(
        {masked(words<kWords>(flow_of(rule.selector), rule.if_id), mask), rule.policy});
  }
  for (const auto& [mask, numbers] : by_mask) {
    const uint64_t slots = std::bit_ceil(numbers.size() * 2);
    table.shapes.push_back(
        {mask, numbers.front(), static_cast<uint32_t>(slots - 1), table.slots.size()});
    table.slots.resize(table.slots.size() + slots);
    const Shape<kWords>& shape = table.shapes.back();
    for (uint32_t number : numbers) {
      const Words<kWords>& key = table.rules[number].key;
      const uint64_t hash = this->hash(key);
      size_t read = 0;
      if (probe(table, shape, key, hash, kNoRule, read) != kNoRule) continue;  // a better one is in
      uint64_t at = hash;
      while (table.slots[shape.first + (at & shape.slot_mask)] != 0) ++at;
      table.slots[shape.first + (at & shape.slot_mask)] = hash >> 32 << 32 | (number + 1);
    }
  }
  std::sort(table.shapes.begin(), table.shapes.end(),
            [](const auto& a, const auto& b) { return a.best < b.best; });
}

Spd::Spd(std::span<const SpdRule> rules) : seed_(random_words<6>()) {
  build(rules, Family::kIpv4, v4_);
  build(rules, Family::kIpv6, v6_);
}

// The number of the shape's rule for this key when it is better than `best`, else `best`.
template <size_t kWords>
uint32_t Spd::probe(const Table<kWords>& table, const Shape<kWords>& shape,
                    const Words<kWords>& masked, uint64_t hash, uint32_t best,
                    size_t& slots) const noexcept {
  for (uint64_t at = hash;; ++at) {
    const uint64_t slot = table.slots[shape.first + (at & shape.slot_mask)];
    ++slots;
    if (slot == 0) return best;
    if (slot >> 32 != hash >> 32) continue;
    const uint32_t number = static_cast<uint32_t>(slot) - 1;
    if (same(table.rules[number].key, masked)) return std::min(number, best);
  }
}

template <size_t kWords>
const Policy* Spd::search(const Table<kWords>& table, const Words<kWords>& key,
                          size_t& slots) const noexcept {
  uint32_t best = kNoRule;
  for (const Shape<kWords>& shape : table.shapes) {
    if (shape.best >= best) break;
    const Words<kWords> looked_at = masked(key, shape.mask);
    best = probe(table, shape, looked_at, hash(looked_at), best, slots);
  }
  return best == kNoRule ? nullptr : table.rules[best].policy;
}

const Policy* Spd::find(const FlowKey& key, uint32_t if_id) const noexcept {
  size_t slots = 0;
  return key.family == Family::kIpv4 ? search(v4_, words<3>(key, if_id), slots)
                                     : search(v6_, words<6>(key, if_id), slots);
}

size_t Spd::slots_read(const FlowKey& key, uint32_t if_id) const noexcept {
  size_t slots = 0;
  if (key.family == Family::kIpv4)
    search(v4_, words<3>(key, if_id), slots);
  else
    search(v6_, words<6>(key, if_id), slots);
  return slots;
}

template <size_t kWords>
void Spd::search_batch(const Table<kWords>& table, Family family, std::span<const FlowKey> keys,
                       const uint32_t* if_ids, const Policy** found) const noexcept {
  constexpr size_t kGroup = 32;
  const bool many = table.rules.size() > 256;  // others stay in the L1 cache
  struct Search {
    Words<kWords> key, masked;
    uint64_t hash;
    uint32_t best;
    uint32_t place;  // in `found`
  };
  for (size_t at = 0; at < keys.size();) {
    Search searches[kGroup];
    size_t count = 0;
    for (; at < keys.size() && count < kGroup; ++at) {
      if (keys[at].family != family) continue;
      Search& search = searches[count++];
      search.key = words<kWords>(keys[at], if_ids[at]);
      search.best = kNoRule;
      search.place = static_cast<uint32_t>(at);
    }
    size_t slots = 0;
    for (const Shape<kWords>& shape : table.shapes) {
      for (size_t i = 0; i < count; ++i) {
        if (shape.best >= searches[i].best) continue;
        searches[i].masked = masked(searches[i].key, shape.mask);
        searches[i].hash = hash(searches[i].masked);
        __builtin_prefetch(&table.slots[shape.first + (searches[i].hash & shape.slot_mask)]);
      }
      for (size_t i = 0; many && i < count; ++i) {
        if (shape.best >= searches[i].best) continue;
        const uint64_t hash = searches[i].hash;
        const uint64_t slot = table.slots[shape.first + (hash & shape.slot_mask)];
        if (slot >> 32 == hash >> 32)
          __builtin_prefetch(&table.rules[static_cast<uint32_t>(slot) - 1]);
      }
      for (size_t i = 0; i < count; ++i) {
        Search& search = searches[i];
        if (shape.best >= search.best) continue;
        search.best = probe(table, shape, search.masked, search.hash, search.best, slots);
      }
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t best = searches[i].best;
      found[searches[i].place] = best == kNoRule ? nullptr : table.rules[best].policy;
    }
  }
}

void Spd::find_batch(std::span<const FlowKey> keys, const uint32_t* if_ids,
                     const Policy** found) const noexcept {
  search_batch(v4_, Family::kIpv4, keys, if_ids, found);
  search_batch(v6_, Family::kIpv6, keys, if_ids, found);
}

size_t Spd::shapes(Family family) const {
  return family == Family::kIpv4 ? v4_.shapes.size() : v6_.shapes.size();
}

}  // namespace hecto::router::esp
