#include "router/dataplane/flow/flow_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

namespace hecto::router {
namespace {

// Half full at most.
constexpr uint32_t kKeysALine = 4, kFewestLines = 4;
// Where keys meet all the same, lines are doubled up to this many, and no more.
constexpr uint32_t kMostEmptyLines = 64, kMostLinesAKey = 2;
// Entries that wait for readers beside those that there are.
uint32_t flow_slots(uint32_t entries) {
  return entries + entries / 8 + 1024;
}

template <typename Key>
std::string fields_of(const Key& mask) {
  std::string out;
  const auto add = [&](const std::string& word) { out += (out.empty() ? "" : " ") + word; };
  const auto prefix = [&](const char* name, const auto& bytes) {
    int length = 0;
    for (const uint8_t byte : bytes) length += __builtin_popcount(byte);
    if (length > 0) add(fmt::format("{}/{}", name, length));
  };
  if (mask.interface[0] != 0) add("interface");
  prefix("from", mask.source);
  prefix("to", mask.destination);
  if (mask.protocol != 0) add("protocol");
  if (mask.ports[0] != 0) add(mask.ports[1] != 0 ? "sport" : "type");
  if (mask.ports[0] == 0 && mask.ports[1] != 0) add("code");
  if (mask.ports[2] != 0) add("dport");
  if (mask.tcp_flags != 0) add("tcp_flags");
  if (mask.dscp != 0) add("dscp");
  if (mask.mark[0] != 0) add("mark");
  return out.empty() ? "any" : out;
}

}  // namespace

FlowSeed random_flow_seed() {
  std::random_device device;
  const auto word = [&] { return uint64_t{device()} << 32 | device(); };
  FlowSeed seed;
  for (uint64_t& each : seed.words) each = word();
  seed.low = word() | 1;
  seed.high = word() | 1;
  return seed;
}

template <typename Key>
FlowTable<Key>::FlowTable(const Options& options, lookup::Memory& memory,
                          lookup::Reclaimer& readers)
    : options_(options), memory_(memory), readers_(readers), slots_(flow_slots(options.entries)) {
  block_ = lookup::MemoryBlock(memory, slots_ * sizeof(Entry), options.socket);
  entries_ = block_.template as<Entry>();
  publish();
}

template <typename Key>
FlowTable<Key>::~FlowTable() = default;

// ---- The writer ----

template <typename Key>
auto FlowTable<Key>::mask_for(const Key& mask) const -> Mask* {
  for (const auto& each : masks_)
    if (each && std::memcmp(&each->mask, &mask, kFlowKeyWords<Key> * 8) == 0) return each.get();
  return nullptr;
}

template <typename Key>
auto FlowTable<Key>::make_mask(const Key& mask, uint32_t needs) -> Result<Mask*> {
  auto free = std::find(masks_.begin(), masks_.end(), nullptr);
  if (free == masks_.end() && masks_.size() == kMostFlowMasks)
    return fail(
        fmt::format("flows: entries ask for {} different sets of fields already, and one more "
                    "is wanted; use the same fields, or delete those of one set",
                    kMostFlowMasks),
        ENOSPC);
  auto made = std::make_unique<Mask>();
  made->mask = mask;
  made->needs = needs;
  if (!resize(*made, kFewestLines))
    return fail("flows: no memory for another set of fields", ENOMEM);
  if (free == masks_.end()) free = masks_.emplace(masks_.end());
  *free = std::move(made);
  changed_ = true;
  return free->get();
}

// False: no room in its two lines.
template <typename Key>
bool FlowTable<Key>::put(FlowLine* lines, uint32_t count, uint64_t hash, uint32_t index) {
  const uint32_t first = line_of(hash, 64 - static_cast<uint32_t>(__builtin_ctz(count)));
  FlowLine& one = lines[first];
  FlowLine& other = lines[second_of(hash, first, count - 1)];
  // Into the first, which is the one that readers fetch, while that is not nearly full: of lines half full
  // 1 key in 20 lies in its second, and none finds both full.
  const unsigned free = one.free_slots();
  const bool second = free <= 2 && free < other.free_slots();
  if (!(second ? other : one).put(FlowLine::signature(hash), index)) return false;
  if (second)
    one.elsewhere.store(one.elsewhere.load(std::memory_order_relaxed) + 1,
                        std::memory_order_release);
  return true;
}

// All of its entries into new lines, which readers see at the next commit(). False: no memory, or the
// lines are too few; all is as it was.
template <typename Key>
bool FlowTable<Key>::resize(Mask& mask, uint32_t lines) {
  lookup::MemoryBlock block(memory_, size_t{lines} * sizeof(FlowLine), options_.socket);
  FlowLine* const at = block.template as<FlowLine>();
  if (at == nullptr) return false;
  constexpr unsigned kAhead = 16;
  std::vector<uint32_t> moved;
  moved.reserve(mask.size);
  for (uint32_t i = 0; i < mask.count; ++i)
    for (const auto& entry : mask.lines[i].entries)
      if (const uint32_t index = entry.load(std::memory_order_relaxed); index != 0)
        moved.push_back(index);
  for (size_t i = 0; i < moved.size(); ++i) {
    if (i + kAhead < moved.size()) __builtin_prefetch(entries_ + moved[i + kAhead]);
    const Key& key = entries_[moved[i]].key;
    if (!put(at, lines, flow_hash_of(key, mask.mask, options_.seed), moved[i])) return false;
  }
  if (mask.lines != nullptr) pending_.blocks.push_back(std::move(mask.block));
  mask.block = std::move(block);
  mask.lines = at;
  mask.count = lines;
  changed_ = true;
  return true;
}

template <typename Key>
auto FlowTable<Key>::place_of(const Mask& mask, const Key& key) const -> Place {
  const uint64_t hash = flow_hash_of(key, mask.mask, options_.seed);
  const uint32_t first = line_of(hash, mask.shift());
  for (const bool second : {false, true}) {
    FlowLine& line = mask.lines[second ? second_of(hash, first, mask.count - 1) : first];
    for (unsigned slots = line.slots_of(FlowLine::signature(hash)); slots != 0;
         slots &= slots - 1) {
      const auto slot = static_cast<unsigned>(__builtin_ctz(slots));
      const uint32_t index = line.entries[slot].load(std::memory_order_relaxed);
      if (index != 0 && same_flow(key, mask.mask, entries_[index].key))
        return {&line, slot, second};
    }
  }
  return {};
}

template <typename Key>
uint32_t FlowTable<Key>::index_of(const Key& key, const Key& mask) const {
  const Mask* const found = mask_for(mask);
  if (found == nullptr) return 0;
  const Place place = place_of(*found, key);
  return place.line == nullptr ? 0
                               : place.line->entries[place.slot].load(std::memory_order_relaxed);
}

template <typename Key>
uint32_t FlowTable<Key>::take_entry() {
  if (free_.empty() && next_ >= slots_) reclaim();
  if (!free_.empty()) {
    const uint32_t index = free_.back();
    free_.pop_back();
    return index;
  }
  return next_ < slots_ ? next_++ : 0;
}

template <typename Key>
void FlowTable<Key>::count(Mask& mask, uint32_t priority, int more) {
  const auto highest = [&] {
    return mask.priorities.empty() ? 0 : mask.priorities.rbegin()->first;
  };
  const uint32_t before = highest();
  const bool was_empty = mask.size == 0;
  const auto found = mask.priorities.try_emplace(priority, 0).first;
  found->second += static_cast<uint32_t>(more);
  if (found->second == 0) mask.priorities.erase(found);
  mask.size += static_cast<uint32_t>(more);
  size_ += static_cast<uint32_t>(more);
  changed_ |= before != highest() || was_empty || mask.size == 0;
}

template <typename Key>
auto FlowTable<Key>::set(const Key& key, const Key& mask, const Fields& fields) -> Result<Change> {
  Mask* into = mask_for(mask);
  if (into == nullptr) {
    auto made = make_mask(mask, fields.needs);
    if (!made) return tl::unexpected(made.error());
    into = *made;
  }
  const Place place = place_of(*into, key);
  const uint32_t replaced =
      place.line == nullptr ? 0 : place.line->entries[place.slot].load(std::memory_order_relaxed);
  if (replaced == 0 && size_ >= options_.entries)
    return fail(fmt::format("flows: the table is full: it has {} entries; raise flows.entries, or "
                            "delete some",
                            size_),
                ENOSPC);
  const uint32_t index = take_entry();
  if (index == 0) return fail("flows: workers still read what was deleted last; try again", EAGAIN);
  Entry& entry = entries_[index];
  entry.key = key;
  entry.priority = fields.priority;
  entry.action = fields.action;
  entry.used_s.store(fields.now_s, std::memory_order_relaxed);
  entry.idle_s = fields.idle_s;
  entry.hard_s = fields.hard_s;
  entry.added_s = fields.now_s;
  entry.mask = static_cast<uint16_t>(
      std::find_if(masks_.begin(), masks_.end(), [&](const auto& m) { return m.get() == into; }) -
      masks_.begin());
  entry.live = true;
  if (replaced != 0) {
    place.line->entries[place.slot].store(index, std::memory_order_release);
    entries_[replaced].live = false;
    pending_.entries.push_back(replaced);
  } else {
    if (into->size >= into->count * kKeysALine) (void)resize(*into, into->count * 2);
    const uint64_t hash = flow_hash_of(key, into->mask, options_.seed);
    // By chance both lines may be full: twice as many are then enough.
    bool there = put(into->lines, into->count, hash, index);
    while (!there && into->count < kMostEmptyLines + into->size * kMostLinesAKey)
      if (resize(*into, into->count * 2))
        there = put(into->lines, into->count, hash, index);
      else
        break;
    if (!there) {
      entry.live = false;
      free_.push_back(index);
      return fail(
          "flows: no room for another entry of these fields: no memory, or too many of them "
          "meet in one line of the hash",
          ENOMEM);
    }
  }
  count(*into, fields.priority, 1);
  if (replaced != 0) count(*into, entries_[replaced].priority, -1);
  return Change{index, replaced};
}

template <typename Key>
void FlowTable<Key>::remove(uint32_t index) {
  Entry& entry = entries_[index];
  Mask& mask = *masks_[entry.mask];
  const Place place = place_of(mask, entry.key);
  place.line->entries[place.slot].store(0, std::memory_order_release);
  if (place.second) {
    const uint64_t hash = flow_hash_of(entry.key, mask.mask, options_.seed);
    FlowLine& first = mask.lines[line_of(hash, mask.shift())];
    first.elsewhere.store(first.elsewhere.load(std::memory_order_relaxed) - 1,
                          std::memory_order_release);
  }
  entry.live = false;
  count(mask, entry.priority, -1);
}

template <typename Key>
void FlowTable<Key>::erase(uint32_t index) {
  remove(index);
  pending_.entries.push_back(index);
}

template <typename Key>
void FlowTable<Key>::undo(const Change& change) {
  Entry& entry = entries_[change.index];
  Mask& mask = *masks_[entry.mask];
  undone_.push_back(change.index);
  if (change.replaced == 0) {
    remove(change.index);
    return;
  }
  const Place place = place_of(mask, entry.key);
  place.line->entries[place.slot].store(change.replaced, std::memory_order_release);
  pending_.entries.pop_back();
  entry.live = false;
  entries_[change.replaced].live = true;
  count(mask, entries_[change.replaced].priority, 1);
  count(mask, entry.priority, -1);
}

template <typename Key>
void FlowTable<Key>::erase_all() {
  for (uint32_t index = 1; index < next_; ++index) {
    if (!entries_[index].live) continue;
    entries_[index].live = false;
    pending_.entries.push_back(index);
  }
  for (auto& mask : masks_) {
    if (!mask) continue;
    pending_.blocks.push_back(std::move(mask->block));
    mask.reset();
  }
  size_ = 0;
  changed_ = true;
}

template <typename Key>
void FlowTable<Key>::publish() {
  auto list = std::make_unique<MaskList>();
  for (const auto& mask : masks_) {
    if (!mask) continue;
    MaskView& view = list->masks[list->count++];
    view.mask = mask->mask;
    view.lines = mask->lines;
    view.shift = mask->shift();
    view.last = mask->count - 1;
    view.highest = mask->priorities.rbegin()->first;
    list->needs |= mask->needs;
  }
  std::stable_sort(list->masks, list->masks + list->count,
                   [](const MaskView& a, const MaskView& b) { return a.highest > b.highest; });
  list_.store(list.get(), std::memory_order_release);
  if (published_) pending_.lists.push_back(std::move(published_));
  published_ = std::move(list);
  changed_ = false;
}

template <typename Key>
void FlowTable<Key>::commit() {
  if (changed_) {
    for (auto& mask : masks_) {
      if (!mask || mask->size > 0) continue;
      pending_.blocks.push_back(std::move(mask->block));
      mask.reset();
    }
    publish();
  }
  pending_.entries.insert(pending_.entries.end(), undone_.begin(), undone_.end());
  undone_.clear();
  if (!pending_.empty()) {
    pending_.token = readers_.start();
    retired_.push_back(std::move(pending_));
    pending_ = Batch();
  }
  reclaim();
}

template <typename Key>
void FlowTable<Key>::reclaim() {
  for (; !retired_.empty() && readers_.passed(retired_.front().token); retired_.pop_front())
    free_.insert(free_.end(), retired_.front().entries.begin(), retired_.front().entries.end());
}

template <typename Key>
std::vector<FlowMaskStatus> FlowTable<Key>::masks() const {
  std::vector<FlowMaskStatus> all;
  for (size_t i = 0; i < masks_.size(); ++i)
    if (const auto& mask = masks_[i]; mask && mask->size > 0)
      all.push_back({static_cast<unsigned>(i), mask->size, mask->priorities.rbegin()->first,
                     mask->block.bytes(), fields_of(mask->mask)});
  std::stable_sort(all.begin(), all.end(), [](const FlowMaskStatus& a, const FlowMaskStatus& b) {
    return a.highest > b.highest;
  });
  return all;
}

template <typename Key>
uint64_t FlowTable<Key>::bytes() const {
  uint64_t sum = uint64_t{next_} * sizeof(Entry);
  for (const auto& mask : masks_)
    if (mask) sum += mask->block.bytes();
  return sum;
}

template class FlowTable<FilterKey4>;
template class FlowTable<FilterKey6>;

}  // namespace hecto::router
