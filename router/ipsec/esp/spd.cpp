#include "router/ipsec/esp/spd.hpp"

#include <algorithm>
#include <utility>

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

// The first `bits` of `bytes` bytes set, in network order.
void set_prefix(uint8_t* bytes, unsigned length) {
  for (unsigned bit = 0; bit < length; ++bit)
    bytes[bit / 8] = static_cast<uint8_t>(bytes[bit / 8] | 0x80 >> bit % 8);
}

template <size_t kWords>
SpdWords<kWords> mask_of(const Policy& policy) {
  const IpsecSelector& selector = policy.selector;
  FlowKey mask{selector.family,
               static_cast<uint8_t>(selector.protocol != 0 ? 0xff : 0),
               selector.source_port_mask,
               selector.destination_port_mask,
               {},
               {}};
  set_prefix(mask.source.bytes.data(), selector.source.length);
  set_prefix(mask.destination.bytes.data(), selector.destination.length);
  return spd_words<kWords>(mask, policy.left_out ? 0 : ~uint32_t{0});
}

FlowKey flow_of(const IpsecSelector& selector) {
  FlowKey key{
      selector.family, selector.protocol, selector.source_port, selector.destination_port, {}, {}};
  key.source.bytes = selector.source.address.bytes;
  key.destination.bytes = selector.destination.address.bytes;
  return key;
}

template <size_t kWords>
SpdWords<kWords> key_of(const Policy& policy) {
  SpdWords<kWords> key;
  std::copy_n(policy.key.begin(), kWords, key.begin());
  return key;
}

}  // namespace

// ---- readers

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

// Packets that are looked up together, shape by shape. For which of them a shape is asked, and of
// which it may know, differs from packet to packet: their lists are made without a branch.
template <size_t kWords>
class Spd::Group {
 public:
  static constexpr size_t kPackets = 64;

  Group(std::span<const SpdWords<kWords>> keys, const uint32_t* if_ids, const Policy** found,
        const std::array<uint64_t, 6>& seed) noexcept
      : keys_(keys), if_ids_(if_ids), found_(found), seed_(seed), open_count_(keys.size()) {}

  void search(const List<kWords>& list) noexcept {
    if (list.size() == 1) return search_only(list.front());
    for (size_t i = 0; i < keys_.size(); ++i) {
      best_[i] = {~uint32_t{0}, ~uint64_t{0}};
      open_[i] = static_cast<uint8_t>(i);
    }
    bool any = false;
    for (const ShapeView<kWords>& shape : list) {
      if (any && !close(shape.best)) return;
      any |= search(shape);
    }
  }

 private:
  struct Search {
    uint64_t hash;
    size_t packet;
  };

  SpdWords<kWords> key_of(size_t packet, const SpdWords<kWords>& mask) const noexcept {
    SpdWords<kWords> key = keys_[packet];
    key[kWords - 2] |= if_ids_[packet];
    return masked(key, mask);
  }
  // Of so many packets, packet_of(n), those that the shape may know, on their way into the cache.
  template <typename PacketOf>
  std::span<const Search> gather(const ShapeView<kWords>& shape, size_t packets,
                                 PacketOf&& packet_of) noexcept {
    const auto filter = shape.slots->filter();
    const auto mask = shape.mask;
    const auto seed = seed_;
    size_t count = 0;
    for (size_t n = 0; n < packets; ++n) {
      const size_t packet = packet_of(n);
      const uint64_t hash = spd_hash(key_of(packet, mask), seed);
      searches_[count] = {hash, packet};
      count += filter.may_have(hash);
    }
    const std::span searches(searches_, count);
    if (shape.slots->slots() < kManySlots) return searches;
    for (const Search& search : searches) shape.slots->prefetch(search.hash);
    for (const Search& search : searches) {
      const Policy* candidate = shape.slots->candidate(search.hash);
      if (candidate != nullptr) prefetch<kWords>(candidate);
    }
    return searches;
  }
  const Policy* find(const Search& search, const ShapeView<kWords>& shape) const noexcept {
    const SpdWords<kWords> key = key_of(search.packet, shape.mask);
    return shape.slots->find(search.hash,
                             [&key](const Policy& policy) { return has_key(policy, key); });
  }
  // Of few slots in a single pass: there is nothing to wait for.
  void search_only(const ShapeView<kWords>& shape) noexcept {
    const Slots& slots = *shape.slots;
    if (slots.slots() >= kManySlots) {
      for (const Search& search : gather(shape, keys_.size(), [](size_t n) { return n; }))
        found_[search.packet] = find(search, shape);
      return;
    }
    const auto filter = slots.filter();
    const auto mask = shape.mask;
    const auto seed = seed_;
    for (size_t packet = 0; packet < keys_.size(); ++packet) {
      const SpdWords<kWords> key = key_of(packet, mask);
      const uint64_t hash = spd_hash(key, seed);
      if (!filter.may_have(hash)) continue;
      found_[packet] =
          slots.find(hash, [&key](const Policy& policy) { return has_key(policy, key); });
    }
  }
  bool search(const ShapeView<kWords>& shape) noexcept {
    bool any = false;
    for (const Search& search : gather(shape, open_count_, [this](size_t n) { return open_[n]; })) {
      const Policy* policy = find(search, shape);
      if (policy == nullptr || !rank(*policy).better(best_[search.packet])) continue;
      best_[search.packet] = rank(*policy);
      found_[search.packet] = policy;
      any = true;
    }
    return any;
  }
  // Packets for which a policy of this rank were no better than what was found are done with. False:
  // all of them.
  bool close(const Rank& rank) noexcept {
    size_t count = 0;
    for (size_t n = 0; n < open_count_; ++n) {
      const uint8_t packet = open_[n];
      open_[count] = packet;
      count += rank.better(best_[packet]);
    }
    open_count_ = count;
    return count > 0;
  }

  std::span<const SpdWords<kWords>> keys_;
  const uint32_t* if_ids_;
  const Policy** found_;
  const std::array<uint64_t, 6>& seed_;
  size_t open_count_;
  uint8_t open_[kPackets];
  Rank best_[kPackets];  // found so far
  Search searches_[kPackets];
};

template <size_t kWords>
void Spd::search_batch(const Table<kWords>& table, std::span<const SpdWords<kWords>> keys,
                       const uint32_t* if_ids, const Policy** found) const noexcept {
  const List<kWords>& list = *table.published.load(std::memory_order_acquire);
  std::fill_n(found, keys.size(), nullptr);
  if (list.empty()) return;
  for (size_t at = 0; at < keys.size(); at += Group<kWords>::kPackets) {
    const size_t count = std::min(Group<kWords>::kPackets, keys.size() - at);
    Group<kWords>(keys.subspan(at, count), if_ids + at, found + at, seed_).search(list);
  }
}

void Spd::find_batch(std::span<const SpdWords<3>> keys, const uint32_t* if_ids,
                     const Policy** found) const noexcept {
  search_batch(v4_, keys, if_ids, found);
}

void Spd::find_batch(std::span<const SpdWords<6>> keys, const uint32_t* if_ids,
                     const Policy** found) const noexcept {
  search_batch(v6_, keys, if_ids, found);
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

// ---- control

Spd::Spd(lookup::Reclaimer& readers) : readers_(readers), seed_(random_words<6>()) {
  publish(v4_);
  publish(v6_);
}

template <size_t kWords>
void Spd::replace(Table<kWords>& table, Shape& shape, std::unique_ptr<Slots> slots) {
  std::swap(shape.slots, slots);
  shape.fresh = true;
  table.dirty = true;
  leaving_.slots.push_back(std::move(slots));
}

template <size_t kWords>
Spd::Slots& Spd::writable(Table<kWords>& table, Shape& shape) {
  if (!in_place_ && !shape.fresh) replace(table, shape, shape.slots->copy());
  return *shape.slots;
}

template <size_t kWords>
void Spd::insert(Table<kWords>& table, Policy& policy) {
  const SpdWords<kWords> mask = mask_of<kWords>(policy);
  const SpdWords<kWords> key =
      masked(spd_words<kWords>(flow_of(policy.selector), policy.if_id), mask);
  std::copy(key.begin(), key.end(), policy.key.begin());
  Shape& shape = table.shapes[mask];
  table.dirty |= shape.ranks.empty() || rank(policy) < *shape.ranks.begin();
  shape.ranks.insert(rank(policy));
  const auto is = [&key](const Policy& other) { return has_key(other, key); };
  const uint64_t hash = spd_hash(key, seed_);
  Policy* best = shape.slots->find(hash, is);
  if (best != nullptr && rank(*best) < rank(policy)) {
    Policy* before = best;
    while (before->shadowed != nullptr && rank(*before->shadowed) < rank(policy))
      before = before->shadowed;
    policy.shadowed = std::exchange(before->shadowed, &policy);
    return;
  }
  policy.shadowed = best;
  if (shape.slots->crowded()) {
    const auto hash_of = [this](const Policy& other) {
      return spd_hash(key_of<kWords>(other), seed_);
    };
    replace(table, shape, shape.slots->resized(shape.slots->size() + 1, hash_of));
  }
  writable(table, shape).put(hash, &policy, is);
}

template <size_t kWords>
void Spd::remove(Table<kWords>& table, Policy& policy) {
  const auto at = table.shapes.find(mask_of<kWords>(policy));
  Shape& shape = at->second;
  const SpdWords<kWords> key = key_of<kWords>(policy);
  const auto is = [&key](const Policy& other) { return has_key(other, key); };
  const uint64_t hash = spd_hash(key, seed_);
  table.dirty |= rank(policy) == *shape.ranks.begin();
  shape.ranks.erase(rank(policy));
  Policy* best = shape.slots->find(hash, is);
  if (best != &policy) {
    Policy* before = best;
    while (before->shadowed != &policy) before = before->shadowed;
    before->shadowed = policy.shadowed;
  } else if (policy.shadowed != nullptr) {
    writable(table, shape).put(hash, policy.shadowed, is);
  } else if (shape.ranks.empty()) {
    leaving_.slots.push_back(std::move(shape.slots));
    table.shapes.erase(at);
  } else {
    writable(table, shape).take(hash, is);
  }
}

template <size_t kWords>
std::unique_ptr<Spd::List<kWords>> Spd::publish(Table<kWords>& table) {
  auto list = std::make_unique<List<kWords>>();
  for (auto& [mask, shape] : table.shapes) {
    list->push_back({mask, *shape.ranks.begin(), shape.slots.get()});
    shape.fresh = false;
  }
  std::ranges::sort(*list, {}, &ShapeView<kWords>::best);
  table.published.store(list.get(), std::memory_order_release);
  std::swap(table.list, list);
  table.dirty = false;
  return list;
}

void Spd::change(std::span<Policy* const> inserted, std::span<Policy* const> removed) {
  reclaim();
  if (inserted.empty() && removed.empty()) return;
  in_place_ = inserted.size() + removed.size() == 1 && retired_.empty();
  for (Policy* policy : inserted)
    policy->selector.family == Family::kIpv4 ? insert(v4_, *policy) : insert(v6_, *policy);
  for (Policy* policy : removed)
    policy->selector.family == Family::kIpv4 ? remove(v4_, *policy) : remove(v6_, *policy);
  if (v4_.dirty) leaving_.list4 = publish(v4_);
  if (v6_.dirty) leaving_.list6 = publish(v6_);
  leaving_.token = readers_.start();
  retired_.push_back(std::exchange(leaving_, {}));
}

void Spd::reclaim() {
  while (!retired_.empty() && readers_.passed(retired_.front().token)) retired_.pop_front();
}

size_t Spd::shapes(Family family) const {
  return family == Family::kIpv4 ? v4_.shapes.size() : v6_.shapes.size();
}

}  // namespace hecto::router::esp
