#include "router/ipsec/esp/replay.hpp"

#include <algorithm>
#include <bit>

namespace hecto::router::esp {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// How far the block of `number` is ahead of the one a word belongs to, modulo 2^32.
int32_t ahead(uint64_t word, uint64_t block) {
  return static_cast<int32_t>(static_cast<uint32_t>(block) - static_cast<uint32_t>(word >> 32));
}

uint64_t fresh_word(uint64_t block, uint32_t bits) {
  return block << 32 | bits;
}

}  // namespace

// The ring holds the window and one block more: a word is only replaced by a block that has pushed
// all of its numbers out of the window.
ReplayWindow::ReplayWindow(uint32_t window, uint64_t top)
    : window_(std::min(window, kMaxWindow)), mask_(0), top_(top) {
  if (window_ == 0) return;
  const uint32_t words = std::bit_ceil((window_ + kBits - 1) / kBits + 1);
  mask_ = words - 1;
  words_ = near_.data();
  if (words > near_.size()) {
    far_ = std::make_unique<std::atomic<uint64_t>[]>(words);
    words_ = far_.get();
  }
  if (top == 0) return;
  const uint64_t last = top / kBits;
  for (uint64_t block = last + 1 > words ? last + 1 - words : 0; block <= last; ++block) {
    const uint32_t seen = block < last ? ~0U : ~0U >> (kBits - 1 - top % kBits);
    word(block).store(fresh_word(block, seen), kRelaxed);
  }
}

uint64_t ReplayWindow::extend(uint32_t low, bool esn) const noexcept {
  if (!esn) return low;
  const uint64_t top = this->top();
  const auto top_low = static_cast<uint32_t>(top);
  uint64_t high = top >> 32;
  const uint32_t window = window_ == 0 ? 1U << 31 : window_;
  const uint32_t bottom = top_low - window + 1;
  if (top_low >= window - 1) {  // case A: the window lies in one subspace of 2^32 numbers
    if (low < bottom) ++high;
    if (high >> 32 != 0) return 0;
  } else if (low >= bottom) {  // case B: it spans two, and this number lies in the earlier
    if (high == 0) return 0;
    --high;
  }
  return high << 32 | low;
}

ReplayWindow::Verdict ReplayWindow::check(uint64_t sequence) const noexcept {
  if (window_ == 0) return Verdict::kFresh;
  if (sequence == 0) return Verdict::kSeen;  // RFC 4303 §3.3.3: the first number is 1
  if (too_old(sequence, top())) return Verdict::kTooOld;
  const uint64_t block = sequence / kBits;
  const uint64_t seen = word(block).load(kRelaxed);
  const int32_t distance = ahead(seen, block);
  if (distance < 0) return Verdict::kTooOld;
  return distance == 0 && (seen >> (sequence % kBits) & 1) != 0 ? Verdict::kSeen : Verdict::kFresh;
}

ReplayWindow::Verdict ReplayWindow::mark(uint64_t sequence) noexcept {
  uint64_t top = this->top();
  const Verdict verdict = claim(sequence, top);
  if (verdict == Verdict::kFresh) advance(top);
  return verdict;
}

ReplayWindow::Verdict ReplayWindow::claim(uint64_t sequence, uint64_t& top) noexcept {
  if (window_ != 0) {
    if (sequence == 0) return Verdict::kSeen;
    if (too_old(sequence, top)) return Verdict::kTooOld;
    const Verdict verdict = set(sequence);
    if (verdict != Verdict::kFresh) return verdict;
  }
  top = std::max(top, sequence);
  return Verdict::kFresh;
}

ReplayWindow::Verdict ReplayWindow::set(uint64_t sequence) noexcept {
  const uint64_t block = sequence / kBits;
  const uint32_t bit = 1U << sequence % kBits;
  std::atomic<uint64_t>& place = word(block);
  uint64_t seen = place.load(kRelaxed);
  for (;;) {
    const int32_t distance = ahead(seen, block);
    if (distance < 0) return Verdict::kTooOld;
    if (distance == 0 && (seen & bit) != 0) return Verdict::kSeen;
    const uint64_t marked = distance == 0 ? seen | bit : fresh_word(block, bit);
    if (place.compare_exchange_weak(seen, marked, kRelaxed)) return Verdict::kFresh;
  }
}

void ReplayWindow::advance(uint64_t top) noexcept {
  uint64_t now = this->top();
  while (top > now && !top_.compare_exchange_weak(now, top, kRelaxed)) {
  }
}

}  // namespace hecto::router::esp
