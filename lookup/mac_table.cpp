#include "lookup/mac_table.hpp"

#include <algorithm>
#include <bit>

namespace hecto::lookup {

// One or two entries a line on average: two lines to choose from are full together in none of a million keys.
MacTable::MacTable(size_t entries, uint64_t seed, Memory& memory, int socket, Reclaimer& readers)
    : factor_(seed | 1), readers_(readers) {
  constexpr size_t kMost = size_t{1} << 20;
  count_ = std::bit_ceil(std::clamp<size_t>(entries, 16, kMost) * 4 / kSlots);
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(count_));
  block_ = MemoryBlock(memory, count_ * sizeof(Line), socket);
  lines_ = block_.as<Line>();
}

unsigned MacTable::free_slots(const Line& line) noexcept {
  return static_cast<unsigned>(
      std::count_if(std::begin(line.keys), std::end(line.keys),
                    [](const auto& key) { return key.load(std::memory_order_relaxed) == kFree; }));
}

// Null: it is not there.
MacTable::Line* MacTable::line_of(uint64_t key, unsigned& slot) noexcept {
  const uint64_t hash = hash_of(key);
  for (const size_t at : {first(hash), second(hash)})
    if (slot = slot_of(lines_[at], key); slot < kSlots) return lines_ + at;
  return nullptr;
}

bool MacTable::set(uint64_t key, uint16_t place) noexcept {
  if (lines_ == nullptr) return false;
  unsigned slot = 0;
  if (Line* const line = line_of(key, slot)) {
    line->places[slot].store(place, std::memory_order_relaxed);
    return true;
  }
  // Into the first line, which is the one that readers fetch, while that is not nearly full.
  const uint64_t hash = hash_of(key);
  Line& one = lines_[first(hash)];
  Line& other = lines_[second(hash)];
  const unsigned free = free_slots(one);
  Line& line = free > 1 || free >= free_slots(other) ? one : other;
  slot = slot_of(line, kFree);
  if (slot >= kSlots) return false;
  line.places[slot].store(place, std::memory_order_relaxed);
  line.marks[slot].store(1, std::memory_order_relaxed);  // it has been heard just now
  line.keys[slot].store(key, std::memory_order_release);
  ++size_;
  return true;
}

bool MacTable::erase(uint64_t key) noexcept {
  unsigned slot = 0;
  Line* const line = lines_ == nullptr ? nullptr : line_of(key, slot);
  if (line == nullptr) return false;
  line->keys[slot].store(kErased, std::memory_order_relaxed);
  erased_.push_back({&line->keys[slot], readers_.start()});
  --size_;
  return true;
}

bool MacTable::take_mark(uint64_t key) noexcept {
  unsigned slot = 0;
  Line* const line = lines_ == nullptr ? nullptr : line_of(key, slot);
  return line != nullptr && line->marks[slot].exchange(0, std::memory_order_relaxed) != 0;
}

void MacTable::reclaim() noexcept {
  for (; !erased_.empty() && readers_.passed(erased_.front().token); erased_.pop_front())
    erased_.front().key->store(kFree, std::memory_order_relaxed);
}

}  // namespace hecto::lookup
