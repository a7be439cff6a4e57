#include "gpu_offload/table_mirror.hpp"

#include <algorithm>
#include <unordered_set>

namespace hecto::gpu_offload {

void TableMirror::start() {
  table_.reset();
  for (Copy& copy : copies_) copy = {};
  running_ = running_first_ = nullptr;
  started_ = true;
  const Update image = image_();
  started_at_ = image->generation;
  replace_by(image);
}

// One image instead of all that waits.
void TableMirror::replace_by(Update image) {
  first_ = end();
  updates_.assign(1, std::move(image));
  waiting_changes_ = 0;
  for (Copy& copy : copies_) copy.next = first_;
}

void TableMirror::push(Update update) {
  if (!started_) return;
  if (!update->image.empty()) {
    replace_by(std::move(update));
    return;
  }
  waiting_changes_ += update->changes.size();
  if (waiting_changes_ > update->words / 4 && updates_.size() > kMostAtOnce) {
    replace_by(image_());
  } else {
    updates_.push_back(std::move(update));
  }
}

// A copy that jobs could still be reading, or one that is complete, is left alone.
Status TableMirror::advance() {
  if (!started_) return Status::kOk;
  for (;;) {
    uint8_t active = table_.active();
    uint8_t idle = active == 0 ? 1 : 0;
    if (running_ != nullptr) {
      Status status = device_.update_status();
      if (status != Status::kOk) return status == Status::kBusy ? Status::kOk : status;
      finish(idle);
      continue;
    }
    Copy& copy = copies_[idle];
    uint64_t ahead = active == DeviceTable::kNone
                         ? copy.next - first_
                         : copy.next - std::min(copy.next, copies_[active].next);
    if (copy.next == end() || ahead >= kMostAtOnce) {
      if (ahead == 0) return Status::kOk;
      table_.activate(idle);
      continue;
    }
    if (table_.is_read(idle)) return Status::kOk;
    Status status = begin(idle);
    if (status != Status::kOk) return status == Status::kBusy ? Status::kOk : status;
  }
}

Status TableMirror::begin(uint8_t side) {
  Copy& copy = copies_[side];
  const Update first = updates_[copy.next - first_];
  const uint64_t count = mergeable(copy.next);
  const Update update = count == 1 ? first : merged(copy.next, count);
  if (copy.arena == nullptr || copy.words != update->words) {
    if (copy.arena != nullptr) device_.release_arena(copy.arena);
    copy.arena = device_.create_arena(update->words);
    copy.words = update->words;
    if (copy.arena == nullptr) return Status::kNoMemory;
  }
  Status status = device_.start_update(copy.arena, *update);
  if (status != Status::kOk) return status;
  running_ = update;
  running_first_ = first;
  running_count_ = count;
  return status;
}

// How many updates from that one on can go as one.
uint64_t TableMirror::mergeable(uint64_t first) const {
  const auto is_changes = [&](uint64_t number) {
    const lookup::TableUpdate& update = *updates_[number - first_];
    return update.image.empty() && update.words == updates_[first - first_]->words;
  };
  uint64_t count = 1;
  if (is_changes(first))
    while (count < kMostAtOnce && first + count < end() && is_changes(first + count)) ++count;
  return count;
}

// In the same kind of memory, as they may be of keys; from the last to the first, as the last counts.
TableMirror::Update TableMirror::merged(uint64_t first, uint64_t count) const {
  const Update& last = updates_[first + count - 1 - first_];
  auto update = std::make_shared<lookup::TableUpdate>(last->changes.get_allocator().resource());
  update->generation = last->generation;
  update->words = last->words;
  size_t changes = 0;
  for (uint64_t i = 0; i < count; ++i) changes += updates_[first + i - first_]->changes.size();
  update->changes.reserve(changes);
  std::unordered_set<uint32_t> seen(changes);
  for (uint64_t i = count; i-- > 0;)
    for (const lookup::WordChange& change : updates_[first + i - first_]->changes)
      if (seen.insert(change.word).second) update->changes.push_back(change);
  return update;
}

void TableMirror::finish(uint8_t side) {
  Copy& copy = copies_[side];
  if (!running_->image.empty()) copy.magic = running_->image[0];
  table_.set(side, copy.arena, static_cast<uint32_t>(copy.words), copy.magic, running_->generation);
  if (copy.next < end() && updates_[copy.next - first_] == running_first_) {
    copy.next += running_count_;
  } else {
    // Overtaken by an image that replaced all others. It is whole, and newer than what jobs read: where
    // changes never end they would else read that for ever.
    const uint8_t active = table_.active();
    if (active == DeviceTable::kNone || running_->generation > table_.generation(active))
      table_.activate(side);
  }
  running_ = running_first_ = nullptr;
  forget_taken();
}

void TableMirror::forget_taken() {
  while (first_ < std::min(copies_[0].next, copies_[1].next)) {
    waiting_changes_ -= updates_.front()->changes.size();
    updates_.pop_front();
    ++first_;
  }
}

uint64_t TableMirror::generation() const {
  uint8_t active = table_.active();
  return active == DeviceTable::kNone ? 0 : table_.generation(active);
}

bool TableMirror::passed(uint64_t generation) const {
  uint8_t active = table_.active();
  // What is being loaded is what jobs will read first, with changes since then still to come.
  if (started_ && active == DeviceTable::kNone && started_at_ < generation) return false;
  for (uint8_t side : {0, 1}) {
    if (side != active && !table_.is_held(side)) continue;
    if (table_.generation(side) < generation) return false;
  }
  return true;
}

}  // namespace hecto::gpu_offload
