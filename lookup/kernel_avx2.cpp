// IPv6 look-ups for x86-64-v3: eight destinations a vector, four vectors whose gathers overlap.
// The rest of a batch goes to the scalar kernel. For IPv4 a gather of 2-byte entries was no faster
// than the scalar loop.
#include <immintrin.h>

#include "lookup/kernels.hpp"
#include "lookup/walk.hpp"

namespace hecto::lookup {
namespace {

constexpr size_t kLanes = 8;
constexpr size_t kVectors = 4;  // 32 destinations whose loads overlap
constexpr size_t kBlock = kLanes * kVectors;

// The low halves of sixteen 32-bit lanes, in order.
inline __m256i pack_halves(__m256i low, __m256i high) {
  const __m256i half = _mm256_set1_epi32(0xffff);
  __m256i packed = _mm256_packus_epi32(_mm256_and_si256(low, half), _mm256_and_si256(high, half));
  return _mm256_permute4x64_epi64(packed, _MM_SHUFFLE(3, 1, 2, 0));
}

inline void store_block(char* to, const __m256i* entries) {
  for (size_t v = 0; v < kVectors; v += 2) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + v * kLanes * 2),
                        pack_halves(entries[v], entries[v + 1]));
  }
}

}  // namespace

Isa lookup6_avx2(const uint32_t* arena, const void* destinations, void* groups, size_t n) noexcept {
  auto* base = reinterpret_cast<const int*>(arena + LOOKUP_ROOT_WORD);
  const __m256i lane_words = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
  const __m256i swap = _mm256_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2,
                                        1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
  const __m256i low_byte = _mm256_set1_epi32(0xff);
  const __m256i first_node = _mm256_set1_epi32(LOOKUP_ROOT_ENTRIES);
  auto* from = static_cast<const char*>(destinations);
  auto* to = static_cast<char*>(groups);
  for (; n >= kBlock; n -= kBlock, from += 16 * kBlock, to += 2 * kBlock) {
    __m256i entries[kVectors];
    __m256i words[kVectors];  // 32 bits of each address, the next byte to use on top
    auto load_words = [&](size_t v, size_t word) {
      auto* at = reinterpret_cast<const int*>(from + v * kLanes * 16 + word * 4);
      return _mm256_shuffle_epi8(_mm256_i32gather_epi32(at, lane_words, 4), swap);
    };
    __m256i any = _mm256_setzero_si256();
    for (size_t v = 0; v < kVectors; ++v) {
      words[v] = load_words(v, 0);
      entries[v] = _mm256_i32gather_epi32(base, _mm256_srli_epi32(words[v], 8), 4);
      words[v] = _mm256_slli_epi32(words[v], 24);
      any = _mm256_or_si256(any, entries[v]);
    }
    for (size_t level = 0; _mm256_movemask_ps(_mm256_castsi256_ps(any)) != 0; ++level) {
      any = _mm256_setzero_si256();
      for (size_t v = 0; v < kVectors; ++v) {
        if (level % 4 == 1) words[v] = load_words(v, level / 4 + 1);
        // The shift takes out the top bit that says "extended".
        __m256i at = _mm256_add_epi32(_mm256_slli_epi32(entries[v], LOOKUP_STEP_BITS), first_node);
        at = _mm256_or_si256(at, _mm256_and_si256(_mm256_srli_epi32(words[v], 24), low_byte));
        words[v] = _mm256_slli_epi32(words[v], 8);
        entries[v] = _mm256_mask_i32gather_epi32(entries[v], base, at, entries[v], 4);
        any = _mm256_or_si256(any, entries[v]);
      }
    }
    store_block(to, entries);
  }
  lookup6_scalar(arena, from, to, n);
  return Isa::kAvx2;
}

}  // namespace hecto::lookup
