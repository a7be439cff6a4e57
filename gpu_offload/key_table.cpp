#include "gpu_offload/key_table.hpp"

#include <algorithm>
#include <cstring>

#include "gpu_offload/secret_memory.hpp"

namespace hecto::gpu_offload {

using crypto::EspKey;
using lookup::TableUpdate;

// Twice the size; whoever has a copy gets the whole image with the next update.
bool KeyTable::grow() {
  const uint32_t wanted = std::min(std::max(2 * capacity_, kFirstKeys), most_);
  if (wanted <= capacity_) return false;
  lookup::MemoryBlock larger(secret_memory(), size_t{wanted} * sizeof(EspKey), -1);
  if (larger.as<EspKey>() == nullptr) return false;
  if (capacity_ != 0) std::memcpy(larger.as<EspKey>(), keys(), size_t{capacity_} * sizeof(EspKey));
  arena_ = std::move(larger);
  capacity_ = wanted;
  is_changed_.resize(wanted, false);
  grown_ = true;
  return true;
}

void KeyTable::note(uint32_t index) {
  if (is_changed_[index]) return;
  is_changed_[index] = true;
  changed_.push_back(index);
}

uint32_t KeyTable::add(const EspKey& key) {
  reclaim();
  uint32_t index = next_;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else if (next_ < capacity_ || grow()) {
    ++next_;
  } else {
    return kNone;
  }
  keys()[index] = key;
  note(index);
  ++count_;
  return index;
}

void KeyTable::remove(uint32_t index) {
  crypto::wipe(keys()[index]);
  note(index);
  leaving_.push_back({index, generation_ + 1});
  --count_;
}

void KeyTable::publish() {
  if (changed_.empty() && !grown_) return;
  ++generation_;
  // As in a Journal: changes take twice the bytes of what they change.
  if (grown_ || changed_.size() > capacity_ / 4) {
    for (TableMirror* mirror : mirrors_) mirror->push(image());
  } else {
    auto update = std::make_shared<TableUpdate>(&secret_resource());
    update->generation = generation_;
    update->words = size_t{capacity_} * kWords;
    update->changes.reserve(changed_.size() * kWords);
    const auto* words = arena_.as<uint32_t>();
    for (const uint32_t index : changed_)
      for (uint32_t word = index * kWords; word < (index + 1) * kWords; ++word)
        update->changes.push_back({word, words[word]});
    for (TableMirror* mirror : mirrors_) mirror->push(update);
  }
  for (const uint32_t index : changed_) is_changed_[index] = false;
  changed_.clear();
  grown_ = false;
}

TableMirror::Update KeyTable::image() const {
  auto update = std::make_shared<TableUpdate>(&secret_resource());
  update->generation = generation_;
  update->words = size_t{std::max(capacity_, 1U)} * kWords;  // a device has no empty tables
  update->image.resize(update->words);
  if (capacity_ != 0) std::memcpy(update->image.data(), keys(), size_t{capacity_} * sizeof(EspKey));
  return update;
}

void KeyTable::reclaim() {
  while (!leaving_.empty() && passed(leaving_.front().generation)) {
    free_.push_back(leaving_.front().index);
    leaving_.pop_front();
  }
}

bool KeyTable::passed(uint64_t generation) const {
  return generation <= generation_ && std::ranges::all_of(mirrors_, [&](const TableMirror* mirror) {
           return mirror->passed(generation);
         });
}

}  // namespace hecto::gpu_offload
