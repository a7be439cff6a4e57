// Sixteen loads at once and what goes with them, for the file of the kernel that gathers. Lanes that are not `chosen` load
// nothing and get 0.
//
// A lane is one load, aligned as what it loads, so it is as whole as a scalar one: a slot or a pair
// is the old one or the new one. Sanitizers do not see gathers, so they get loads that they do.
#pragma once

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

namespace hecto::lookup {
namespace {

inline __m512i all(uint32_t value) {
  return _mm512_set1_epi32(static_cast<int>(value));
}
inline __mmask16 first_lanes(size_t count) {
  return static_cast<__mmask16>(count < 16 ? (1u << count) - 1 : 0xffff);
}
// The lower halves.
inline void store_groups(char* to, __mmask16 chosen, __m512i groups) {
  _mm256_mask_storeu_epi16(to, chosen, _mm512_cvtepi32_epi16(groups));
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || defined(LOOKUP_EMULATED)
// Sixteen slots from `base` on, counted in slots.
inline __m512i gather_slots(const uint32_t* base, __m512i at, __mmask16 chosen) {
  alignas(64) uint32_t number[16], slot[16] = {};
  _mm512_store_si512(number, at);
  for (unsigned lane = 0; lane < 16; ++lane) {
    if ((chosen >> lane & 1) != 0)
      slot[lane] = __atomic_load_n(base + number[lane], __ATOMIC_ACQUIRE);
  }
  return _mm512_load_si512(slot);
}
// Eight pairs from `base` on, counted in pairs.
inline __m512i gather_pairs(const void* base, __m256i at, uint32_t chosen) {
  alignas(64) uint32_t number[8];
  alignas(64) uint64_t pair[8] = {};
  _mm256_store_si256(reinterpret_cast<__m256i*>(number), at);
  for (unsigned lane = 0; lane < 8; ++lane) {
    auto* from = static_cast<const uint64_t*>(base) + number[lane];
    if ((chosen >> lane & 1) != 0) pair[lane] = __atomic_load_n(from, __ATOMIC_ACQUIRE);
  }
  return _mm512_load_si512(pair);
}
// Sixteen entries of 16 bits.
inline __m512i gather_entries(const uint16_t* base, __m512i at, __mmask16 chosen) {
  alignas(64) uint32_t number[16], entry[16] = {};
  _mm512_store_si512(number, at);
  for (unsigned lane = 0; lane < 16; ++lane) {
    if ((chosen >> lane & 1) != 0)
      entry[lane] = __atomic_load_n(base + number[lane], __ATOMIC_RELAXED);
  }
  return _mm512_load_si512(entry);
}
// Sixteen words of any alignment, counted in units of kScale bytes.
template <int kScale>
inline __m512i gather_words(const char* base, __m512i at, __mmask16 chosen) {
  alignas(64) uint32_t number[16], word[16] = {};
  _mm512_store_si512(number, at);
  for (unsigned lane = 0; lane < 16; ++lane) {
    if ((chosen >> lane & 1) != 0) memcpy(word + lane, base + size_t{number[lane]} * kScale, 4);
  }
  return _mm512_load_si512(word);
}
#else
inline __m512i gather_slots(const uint32_t* base, __m512i at, __mmask16 chosen) {
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), chosen, at, base, 4);
}
inline __m512i gather_pairs(const void* base, __m256i at, uint32_t chosen) {
  return _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), static_cast<__mmask8>(chosen), at,
                                     base, 8);
}
inline __m512i gather_entries(const uint16_t* base, __m512i at, __mmask16 chosen) {
  // Words hold two.
  __m512i word = _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), chosen,
                                             _mm512_srli_epi32(at, 1), base, 4);
  __m512i shift = _mm512_slli_epi32(_mm512_and_si512(at, all(1)), 4);
  return _mm512_and_si512(_mm512_srlv_epi32(word, shift), all(0xffff));
}
template <int kScale>
inline __m512i gather_words(const char* base, __m512i at, __mmask16 chosen) {
  return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), chosen, at, base, kScale);
}
#endif

}  // namespace
}  // namespace hecto::lookup
