// A line of a mask's hash: eight keys, by a signature of each and where its entry is.
//
// One writer; readers without locks. What a reader finds by a signature may be another key's, so it
// compares the entry's own.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace hecto::router {

struct alignas(64) FlowLine {
  static constexpr unsigned kSlots = 8;

  std::atomic<uint64_t> signatures[2];    // 16 bits each, the lowest first
  std::atomic<uint32_t> entries[kSlots];  // 0: free
  std::atomic<uint32_t> elsewhere;  // keys of which it is the first line, and that lie in another

  static uint16_t signature(uint64_t hash) noexcept { return static_cast<uint16_t>(hash); }

  // By bit, slots that may have it.
  unsigned slots_of(uint16_t signature) const noexcept {
    const uint64_t low = signatures[0].load(std::memory_order_relaxed);
    const uint64_t high = signatures[1].load(std::memory_order_relaxed);
#if defined(__SSE2__)
    const __m128i all = _mm_set_epi64x(static_cast<int64_t>(high), static_cast<int64_t>(low));
    const __m128i same = _mm_cmpeq_epi16(all, _mm_set1_epi16(static_cast<int16_t>(signature)));
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi16(same, same))) & 0xff;
#else
    unsigned slots = 0;
    for (unsigned i = 0; i < 4; ++i) {
      slots |= unsigned{static_cast<uint16_t>(low >> 16 * i) == signature} << i;
      slots |= unsigned{static_cast<uint16_t>(high >> 16 * i) == signature} << (i + 4);
    }
    return slots;
#endif
  }

  // ---- The writer ----
  unsigned free_slots() const noexcept {
    unsigned free = 0;
    for (const auto& entry : entries) free += entry.load(std::memory_order_relaxed) == 0;
    return free;
  }
  bool put(uint16_t signature, uint32_t entry) noexcept {
    for (unsigned i = 0; i < kSlots; ++i) {
      if (entries[i].load(std::memory_order_relaxed) != 0) continue;
      std::atomic<uint64_t>& word = signatures[i / 4];
      const unsigned shift = i % 4 * 16;
      const uint64_t others = word.load(std::memory_order_relaxed) & ~(uint64_t{0xffff} << shift);
      word.store(others | uint64_t{signature} << shift, std::memory_order_relaxed);
      entries[i].store(entry, std::memory_order_release);
      return true;
    }
    return false;
  }
};
static_assert(sizeof(FlowLine) == 64);

}  // namespace hecto::router
