#include "lookup/journal.hpp"

#include <algorithm>

namespace hecto::lookup {

void Journal::note(size_t word, size_t words, bool visible) {
  visible_ |= visible;
  if (whole_) return;
  for (size_t at = word; at < word + words; ++at) {
    uint64_t bit = uint64_t{1} << at % 64;
    if ((is_noted_[at / 64] & bit) != 0) continue;
    is_noted_[at / 64] |= bit;
    noted_.push_back(static_cast<uint32_t>(at));
  }
  // A change takes twice the bytes of a word, and scattering them is slower than copying.
  whole_ = noted_.size() > words_ / 4;
}

void Journal::resized(size_t words) {
  words_ = words;
  whole_ = true;
}

void Journal::publish(const uint32_t* arena, uint64_t generation) {
  generation_ = generation;
  visible_ = false;
  if (whole_) {
    sink_(image_of(arena, words_, generation));
  } else {
    auto update = std::make_shared<TableUpdate>();
    update->generation = generation;
    update->words = words_;
    update->changes.reserve(noted_.size());
    for (uint32_t word : noted_) update->changes.push_back({word, arena[word]});
    sink_(std::move(update));
  }
  forget();
}

std::shared_ptr<const TableUpdate> Journal::image_of(const uint32_t* arena, size_t words,
                                                     uint64_t generation) {
  auto update = std::make_shared<TableUpdate>();
  update->generation = generation;
  update->words = words;
  update->image.assign(arena, arena + words);
  return update;
}

void Journal::forget() {
  if (whole_) {
    is_noted_.assign((words_ + 63) / 64, 0);
  } else {
    for (uint32_t word : noted_) is_noted_[word / 64] = 0;
  }
  noted_.clear();
  whole_ = false;
}

}  // namespace hecto::lookup
