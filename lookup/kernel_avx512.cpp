// Look-ups for x86-64-v4: keys of a line compared into a mask, lists packed in
// one instruction.
#include <immintrin.h>

#include "lookup/arrivals.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

constexpr Isa kIsa = Isa::kAvx512;

inline uint32_t count_bits(uint32_t bits) {
  return static_cast<uint32_t>(__builtin_popcount(bits));
}
inline uint16_t result_of(const uint16_t* line, uint16_t value) {
  __m256i keys = _mm256_load_si256(reinterpret_cast<const __m256i*>(line));
  __m256i wanted = _mm256_set1_epi16(static_cast<short>(value));
  // The sixteenth halfword is a result.
  return line[TRIE_KEYS + count_bits(_mm256_mask_cmplt_epu16_mask(0x7fff, keys, wanted))];
}
inline uint32_t count_fan(const uint16_t* keys, uint16_t value) {
  __m512i wanted = _mm512_set1_epi16(static_cast<short>(value));
  return count_bits(_mm512_cmplt_epu16_mask(_mm512_load_si512(keys), wanted));
}

// Appends the chosen lanes; the new length of the list.
inline uint32_t put_lanes(Arrivals& list, uint32_t count, __m512i index, __m512i slot,
                          __mmask16 chosen) {
  _mm512_storeu_si512(list.index + count, _mm512_maskz_compress_epi32(chosen, index));
  _mm512_storeu_si512(list.slot + count, _mm512_maskz_compress_epi32(chosen, slot));
  return count + count_bits(chosen);
}

inline void sort_by_kind(Arrivals& arrived, Arrivals& branches, Arrivals& ranges, Arrivals& fans) {
  // What lies behind the last one counts as a leaf.
  _mm512_storeu_si512(arrived.slot + arrived.count, _mm512_setzero_si512());
  const __m512i branch = _mm512_set1_epi32(TRIE_BRANCH >> 30);
  const __m512i range = _mm512_set1_epi32(TRIE_RANGES_LINE >> 29);
  const __m512i fan = _mm512_set1_epi32(TRIE_FAN >> 29);
  uint32_t branch_count = 0;
  uint32_t range_count = 0;
  uint32_t fan_count = 0;
  for (uint32_t k = 0; k < arrived.count; k += 16) {
    __m512i index = _mm512_load_si512(arrived.index + k);
    __m512i slot = _mm512_load_si512(arrived.slot + k);
    __m512i kind = _mm512_srli_epi32(slot, 29);
    __mmask16 is_branch = _mm512_cmpeq_epi32_mask(_mm512_srli_epi32(slot, 30), branch);
    branch_count = put_lanes(branches, branch_count, index, slot, is_branch);
    range_count = put_lanes(ranges, range_count, index, slot, _mm512_cmpeq_epi32_mask(kind, range));
    fan_count = put_lanes(fans, fan_count, index, slot, _mm512_cmpeq_epi32_mask(kind, fan));
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
const Kernels kAvx512Kernels = {kIsa, direct4_kernel, trie4_kernel, trie6_kernel};
}  // namespace hecto::lookup
