// Which of a stream's sequence numbers have come, the newest 262,144 of them: what is new, what
// comes again, what comes late. One writer, no allocation after construction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hecto::bench {

// The whole number behind its lowest `bits` bits, taken to lie near `next`.
inline uint64_t expand_near(uint64_t next, uint32_t low, unsigned bits) noexcept {
  const unsigned shift = 64 - bits;
  const auto ahead = static_cast<int64_t>((uint64_t{low} - next) << shift) >> shift;
  return next + static_cast<uint64_t>(ahead);
}

class SequenceWindow {
 public:
  static constexpr uint64_t kSize = uint64_t{1} << 18;

  // Numbers below `first` belong to an earlier trial.
  void restart(uint64_t first) noexcept {
    first_ = whole_from_ = next_ = first;
    skipped_ = duplicated_ = reordered_ = stale_ = 0;
    set(first - kSize, first, false);
  }

  // Near the newest one.
  uint64_t expand(uint32_t low, unsigned bits) const noexcept {
    return expand_near(next_, low, bits);
  }
  // Of an earlier trial. In 64 bits, what is below its beginning wraps far ahead.
  bool is_stale(uint64_t sequence) const noexcept {
    return sequence < first_ || sequence - first_ > INT64_MAX;
  }

  // True when it is the first with this number.
  bool take(uint64_t sequence) noexcept {
    if (sequence != next_) [[unlikely]]
      return take_other(sequence);
    ++next_;
    return true;
  }

  // Each number once.
  uint64_t received() const noexcept { return next_ - first_ - skipped_ + reordered_; }
  uint64_t duplicated() const noexcept { return duplicated_; }
  uint64_t reordered() const noexcept { return reordered_; }
  uint64_t stale() const noexcept { return stale_; }

 private:
  static constexpr uint64_t kWords = kSize / 64;

  [[gnu::noinline]] bool take_other(uint64_t sequence) noexcept {
    if (is_stale(sequence)) {
      ++stale_;
      return false;
    }
    if (sequence > next_) {
      set(whole_from_, next_, true);
      set(next_, sequence, false);
      skipped_ += sequence - next_;
      whole_from_ = sequence;
      next_ = sequence + 1;
      return true;
    }
    // Behind the window nothing is known: it counts as new, like all that comes late.
    if (next_ - sequence <= kSize) {
      uint64_t& word = bits_[sequence / 64 % kWords];
      const uint64_t bit = uint64_t{1} << (sequence & 63);
      if (sequence >= whole_from_ || (word & bit) != 0) {
        ++duplicated_;
        return false;
      }
      word |= bit;
    }
    ++reordered_;
    return true;
  }

  void set(uint64_t from, uint64_t to, bool value) noexcept {
    if (to - from > kSize) from = to - kSize;
    while (from != to) {
      const uint64_t count = std::min(64 - (from & 63), to - from);
      const uint64_t mask = (~uint64_t{0} >> (64 - count)) << (from & 63);
      uint64_t& word = bits_[from / 64 % kWords];
      word = value ? word | mask : word & ~mask;
      from += count;
    }
  }

  std::vector<uint64_t> bits_ = std::vector<uint64_t>(kWords);  // of numbers below whole_from_
  uint64_t first_ = 0;
  uint64_t whole_from_ = 0;  // from here on to next_ all have come
  uint64_t next_ = 0;        // one above the highest
  uint64_t skipped_ = 0, duplicated_ = 0, reordered_ = 0, stale_ = 0;
};

}  // namespace hecto::bench
