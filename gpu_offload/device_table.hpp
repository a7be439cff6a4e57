// A table on a device as jobs see it: two copies, of which they read the active one while control
// brings the other up to date (TableMirror). So a job reads one generation, and neither side waits
// for the other.
//
// A job counts itself in and looks again whether its copy is still the active one; control makes
// the other copy active and changes the old one only when its count is zero. Both are sequentially
// consistent, so one of them sees the other. A job counts twice: as a reader until the device has
// done with it, and as a holder until nobody uses its answers (group ids) any more.
#pragma once

#include <atomic>
#include <cstdint>

namespace hecto::gpu_offload {

class DeviceTable {
 public:
  struct Copy {
    const uint32_t* arena = nullptr;  // nullptr: the table is not on the device now
    uint32_t words = 0;
    uint32_t magic = 0;  // the arena's first word
    uint8_t side = 0;
  };

  // Any thread. Each Copy with an arena is released both ways, once.
  Copy acquire() noexcept {
    for (;;) {
      uint8_t side = active_.load();
      if (side == kNone) return {};
      sides_[side].jobs.fetch_add(kReader + kHolder);
      if (active_.load() == side) return copy_of(side);
      sides_[side].jobs.fetch_sub(kReader + kHolder);
    }
  }
  void release_arena(const Copy& copy) noexcept { sides_[copy.side].jobs.fetch_sub(kReader); }
  void release_answers(const Copy& copy) noexcept { sides_[copy.side].jobs.fetch_sub(kHolder); }

  // Control.
  static constexpr uint8_t kNone = 2;
  uint8_t active() const noexcept { return active_.load(); }
  bool is_read(uint8_t side) const noexcept { return sides_[side].jobs.load() % kHolder != 0; }
  bool is_held(uint8_t side) const noexcept { return sides_[side].jobs.load() >= kHolder; }
  uint64_t generation(uint8_t side) const noexcept { return sides_[side].generation; }
  // Only of a side that is neither active nor read.
  void set(uint8_t side, const uint32_t* arena, uint32_t words, uint32_t magic,
           uint64_t generation) noexcept {
    sides_[side].arena = arena;
    sides_[side].words = words;
    sides_[side].magic = magic;
    sides_[side].generation = generation;
  }
  void activate(uint8_t side) noexcept { active_.store(side); }
  // The device was restarted, so that nothing reads there, and nobody uses this table now.
  void reset() noexcept {
    activate(kNone);
    for (Side& side : sides_) {
      side.jobs.store(0);
      side.arena = nullptr;
      side.generation = 0;
    }
  }

 private:
  static constexpr uint64_t kReader = 1;
  static constexpr uint64_t kHolder = uint64_t{1} << 32;

  struct alignas(64) Side {
    std::atomic<uint64_t> jobs{0};  // readers, and holders in the upper half
    const uint32_t* arena = nullptr;
    uint32_t words = 0;
    uint32_t magic = 0;
    uint64_t generation = 0;
  };
  Copy copy_of(uint8_t side) const noexcept {
    return {sides_[side].arena, sides_[side].words, sides_[side].magic, side};
  }

  Side sides_[2];
  std::atomic<uint8_t> active_{kNone};
};

}  // namespace hecto::gpu_offload
