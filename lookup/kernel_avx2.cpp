// Look-ups for x86-64-v3: keys of a line compared at once, bitmaps counted by one instruction.
#include <immintrin.h>
#include <string.h>

#include "lookup/arrivals.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

constexpr Isa kIsa = Isa::kAvx2;

inline uint32_t count_bits(uint32_t bits) {
  return static_cast<uint32_t>(__builtin_popcount(bits));
}
// All ones in the lanes whose key is not below `value`.
inline __m256i not_below(const uint16_t* keys, __m256i value) {
  __m256i line = _mm256_load_si256(reinterpret_cast<const __m256i*>(keys));
  return _mm256_cmpeq_epi16(_mm256_max_epu16(line, value), line);
}
inline uint16_t result_of(const uint16_t* line, uint16_t value) {
  __m256i wanted = _mm256_set1_epi16(static_cast<short>(value));
  // Two bits a key, as many as a result has bytes; the sixteenth halfword is a result.
  auto mask = static_cast<uint32_t>(_mm256_movemask_epi8(not_below(line, wanted))) & 0x3fffffff;
  uint16_t result;
  const char* last = reinterpret_cast<const char*>(line + 2 * TRIE_KEYS);
  memcpy(&result, last - size_t{count_bits(mask)}, sizeof(result));
  return result;
}
inline uint32_t count_fan(const uint16_t* keys, uint16_t value) {
  __m256i wanted = _mm256_set1_epi16(static_cast<short>(value));
  __m256i both = _mm256_packs_epi16(not_below(keys, wanted), not_below(keys + 16, wanted));
  return TRIE_FAN_KEYS - count_bits(static_cast<uint32_t>(_mm256_movemask_epi8(both)));
}

// For each mask of eight lanes: where the chosen lanes come from, one after the other.
struct LaneOrders {
  alignas(64) uint64_t of[256];  // eight bytes each
  constexpr LaneOrders() : of() {
    for (unsigned mask = 0; mask < 256; ++mask) {
      unsigned next = 0;
      for (unsigned lane = 0; lane < 8; ++lane) {
        if ((mask >> lane & 1) != 0) of[mask] |= uint64_t{lane} << 8 * next++;
      }
    }
  }
};
constexpr LaneOrders kLaneOrders;

// Appends the chosen lanes; the new length of the list.
inline uint32_t put_lanes(Arrivals& list, uint32_t count, __m256i index, __m256i slot,
                          __m256i chosen) {
  auto mask = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(chosen)));
  __m256i order =
      _mm256_cvtepu8_epi32(_mm_cvtsi64_si128(static_cast<long long>(kLaneOrders.of[mask])));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(list.index + count),
                      _mm256_permutevar8x32_epi32(index, order));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(list.slot + count),
                      _mm256_permutevar8x32_epi32(slot, order));
  return count + count_bits(mask);
}

inline void sort_by_kind(Arrivals& arrived, Arrivals& branches, Arrivals& ranges, Arrivals& fans) {
  // What lies behind the last one counts as a leaf.
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(arrived.slot + arrived.count),
                      _mm256_setzero_si256());
  const __m256i branch = _mm256_set1_epi32(TRIE_BRANCH >> 30);
  const __m256i range = _mm256_set1_epi32(TRIE_RANGES_LINE >> 29);
  const __m256i fan = _mm256_set1_epi32(TRIE_FAN >> 29);
  uint32_t branch_count = 0;
  uint32_t range_count = 0;
  uint32_t fan_count = 0;
  for (uint32_t k = 0; k < arrived.count; k += 8) {
    __m256i index = _mm256_load_si256(reinterpret_cast<const __m256i*>(arrived.index + k));
    __m256i slot = _mm256_load_si256(reinterpret_cast<const __m256i*>(arrived.slot + k));
    __m256i kind = _mm256_srli_epi32(slot, 29);
    __m256i is_branch = _mm256_cmpeq_epi32(_mm256_srli_epi32(slot, 30), branch);
    branch_count = put_lanes(branches, branch_count, index, slot, is_branch);
    range_count = put_lanes(ranges, range_count, index, slot, _mm256_cmpeq_epi32(kind, range));
    fan_count = put_lanes(fans, fan_count, index, slot, _mm256_cmpeq_epi32(kind, fan));
  }
  branches.count = branch_count;
  ranges.count = range_count;
  fans.count = fan_count;
}

}  // namespace
}  // namespace hecto::lookup

#include "lookup/direct_walk.hpp"
#include "lookup/kernel_entry.hpp"
#include "lookup/trie_walk.hpp"

namespace hecto::lookup {
const Kernels kAvx2Kernels = {kIsa, direct4_kernel, trie4_kernel, trie6_kernel};
}  // namespace hecto::lookup
