// A small IPv4 table on a device, and a worker with a stage that looks up there: numbered packets
// go in, and every one must come out once, in order, with the table's answer.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <memory>
#include <vector>

#include "gpu_offload/device_control.hpp"
#include "gpu_offload/devices/scripted.hpp"
#include "gpu_offload/stage.hpp"
#include "gpu_offload/table_feed.hpp"
#include "lookup/fib.hpp"

namespace hecto::gpu_offload {

inline constexpr uint64_t kUs = 1000, kSecond = 1'000'000'000;  // of a clock of nanoseconds

inline uint64_t steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

// The table: the address's third byte says the group, but for 10.0.0.0/24, which has none.
inline std::unique_ptr<lookup::Fib4> small_fib() {
  lookup::FibOptions options;
  options.engine = lookup::Engine::kTrie;
  options.tables = 2;  // with the same routes
  auto fib = lookup::Fib4::create(options).value();
  for (uint32_t i = 1; i < 200; ++i) {
    for (lookup::TableId table : {0, 1})
      (void)fib->add({{0x0a000000 + (i << 8)}, 24}, static_cast<lookup::GroupId>(i), table);
  }
  fib->publish();
  return fib;
}
inline lookup::GroupId group_of(uint32_t key) {
  return static_cast<lookup::GroupId>(key >> 8 & 0xff);
}
inline uint32_t key_of(uint64_t number) {
  return 0x0a000000 + static_cast<uint32_t>(number * 2654435761u % 200 << 8);
}

// What a worker does around its stage.
class TestWorker {
 public:
  explicit TestWorker(Stage& stage)
      : stage_(stage), slots_(stage.options().slots + stage.options().spares) {}

  // A chunk of `n` packets to that side; false where the stage has no room.
  bool send(Side side, uint32_t n, uint64_t now_ns, uint16_t table = 0) {
    Slot* slot = stage_.room(side, table, n, 0, now_ns);
    if (slot == nullptr) return false;
    auto* keys = reinterpret_cast<uint32_t*>(slot->input) + slot->count;
    for (uint32_t i = 0; i < n; ++i) {
      keys[i] = key_of(next_);
      slots_[slot->index].push_back(next_++);
    }
    slot->add(n);
    return true;
  }
  unsigned poll(uint64_t now_ns) {
    return stage_.poll(now_ns, [this](Slot& slot, Outcome outcome) noexcept {
      auto* groups = reinterpret_cast<const lookup::GroupId*>(slot.output);
      auto* keys = reinterpret_cast<const uint32_t*>(slot.input);
      auto& numbers = slots_[slot.index];
      EXPECT_EQ(numbers.size(), slot.count);
      for (uint32_t i = 0; i < slot.count; ++i) {
        EXPECT_EQ(numbers[i], expected_++);  // in order, none lost, none twice
        EXPECT_EQ(keys[i], key_of(numbers[i]));
        if (outcome == Outcome::kRedo) continue;
        EXPECT_EQ(groups[i], group_of(keys[i]));
      }
      (outcome == Outcome::kShaded ? shaded_ : redone_) += slot.count;
      numbers.clear();
    });
  }
  uint64_t sent() const { return next_; }
  uint64_t received() const { return expected_; }
  uint64_t shaded() const { return shaded_; }
  uint64_t redone() const { return redone_; }

 private:
  Stage& stage_;
  std::vector<std::vector<uint64_t>> slots_;
  uint64_t next_ = 0;
  uint64_t expected_ = 0;
  uint64_t shaded_ = 0;
  uint64_t redone_ = 0;
};

// A worker on a scripted device.
class ScriptedStage {
 public:
  explicit ScriptedStage(StageOptions options = {}) : fib_(small_fib()) {
    auto device = std::make_unique<ScriptedDevice>(now_ns, [this](const Job&) {
      if (next_answers.empty()) return script;
      Script one = script;
      one.answer = next_answers.front();
      next_answers.pop_front();
      return one;
    });
    this->device = device.get();
    control = std::make_unique<DeviceControl>(std::move(device));
    mirror = &control->add_table([this] { return fib_->image(); });
    feed.add(*mirror);
    fib_->attach(&feed.journal());
    stage = std::make_unique<Stage>(
        options, *this->device, control->health(), StageTables{&mirror->table(), &mirror->table()},
        this->device->make_queue(options.slots + options.spares), lookup::Memory::system());
    control->add_user(stage->holds());
    worker = std::make_unique<TestWorker>(*stage);
    tick();
  }
  // Control's turn, then the worker's.
  unsigned tick(uint64_t ns = 0) {
    now_ns += ns;
    for (int i = 0; i < 4; ++i) control->tick(now_ns);
    return worker->poll(now_ns);
  }
  // Sends one slot of `n` packets on its way.
  void send(uint32_t n = 10, Side side = Side::kDevice) {
    ASSERT_TRUE(worker->send(side, n, now_ns));
    stage->close(now_ns);
  }
  const StageCounters& counters() const { return stage->counters(); }
  lookup::Fib4& fib() { return *fib_; }

  uint64_t now_ns = 1'000'000;
  Script script;
  std::deque<Answer> next_answers;  // before the script's
  ScriptedDevice* device;
  TableFeed feed;
  std::unique_ptr<DeviceControl> control;
  TableMirror* mirror;
  std::unique_ptr<Stage> stage;
  std::unique_ptr<TestWorker> worker;

 private:
  std::unique_ptr<lookup::Fib4> fib_;
};

}  // namespace hecto::gpu_offload
