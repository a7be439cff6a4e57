// The anti-replay window (RFC 4303 §3.4.3, with the blocks of RFC 6479), shared by workers without
// a lock.
//
// A ring of words, each with 32 bits of the window and the number of the block they belong to. A
// mark is one compare-and-swap; a word of an older block is replaced by it, so that nothing is ever
// cleared ahead and no two workers need to agree on where the window ends. `top` only grows.
//
// Why each number is accepted once: its bit lives in one word, and a word that lost the bit holds a
// later block, whose presence alone says that the number is too old. A block's number is kept
// modulo 2^32, and compared as a distance: exact for jumps below 2^36, and ESN has none of 2^32.
//
// Numbers up to the `top` that a window starts with count as seen: nobody knows better.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace hecto::router::esp {

class ReplayWindow {
 public:
  enum class Verdict : uint8_t { kFresh, kSeen, kTooOld };
  static constexpr uint32_t kMaxWindow = 4096;

  // `window`: 0 (off) or up to 4096, in packets, as the SA says. `top`: highest received so far.
  explicit ReplayWindow(uint32_t window = 0, uint64_t top = 0);

  // The 64-bit number of one on the wire (RFC 4303 appendix A2.2); without ESN the number itself.
  // 0, which is never fresh, when it would lie before the first or behind the last number. Without
  // a window the number nearest to `top`.
  uint64_t extend(uint32_t low, bool esn) const noexcept;
  Verdict check(uint64_t sequence) const noexcept;  // before the ICV is verified
  Verdict mark(uint64_t sequence) noexcept;         // after; the last word
  // The same for several in a row: `top` is `top()` before the first, and goes to `advance` behind
  // the last.
  Verdict claim(uint64_t sequence, uint64_t& top) noexcept;
  void advance(uint64_t top) noexcept;
  // Asks for the line that the next numbers are looked for in; without a window for none.
  void prefetch() const noexcept {
    if (const auto* next = next_word(); next != nullptr) __builtin_prefetch(next, 1);
  }
  // Where the number behind `top` is marked; null: there is no window.
  const std::atomic<uint64_t>* next_word() const noexcept {
    return words_ == nullptr ? nullptr : &word((top() + 1) / kBits);
  }
  uint64_t top() const noexcept { return top_.load(std::memory_order_relaxed); }
  uint32_t window() const noexcept { return window_; }

 private:
  static constexpr unsigned kBits = 32;  // of the window in a word

  std::atomic<uint64_t>& word(uint64_t block) const noexcept { return words_[block & mask_]; }
  bool too_old(uint64_t sequence, uint64_t top) const noexcept {
    return top >= window_ && sequence <= top - window_;
  }
  Verdict set(uint64_t sequence) noexcept;

  uint32_t window_;
  uint32_t mask_;  // words - 1
  std::atomic<uint64_t> top_;
  std::atomic<uint64_t>* words_ = nullptr;  // block number << 32 | bits
  // Where they are: of windows up to 96 beside the SA's other numbers.
  std::unique_ptr<std::atomic<uint64_t>[]> far_;
  std::array<std::atomic<uint64_t>, 4> near_{};
};

}  // namespace hecto::router::esp
