// AVX-512 for a CPU without it: SIMDe computes the same with what there is. Included before a kernel's
// source.
#pragma once

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <stdint.h>
#include <string.h>

// What SIMDe 0.7.4 lacks.
template <int kLanes, typename Vector>
static inline uint32_t emulated_cmplt_epu16(uint32_t wanted, Vector a, Vector b) {
  uint16_t left[kLanes];
  uint16_t right[kLanes];
  memcpy(left, &a, sizeof(left));
  memcpy(right, &b, sizeof(right));
  uint32_t mask = 0;
  for (int i = 0; i < kLanes; ++i) mask |= static_cast<uint32_t>(left[i] < right[i]) << i;
  return mask & wanted;
}
#define _mm256_mask_cmplt_epu16_mask emulated_cmplt_epu16<16>
#define _mm512_cmplt_epu16_mask(a, b) emulated_cmplt_epu16<32>(~0u, a, b)

template <typename Vector>
static inline Vector emulated_loadu_words(uint32_t wanted, const void* from) {
  uint32_t words[sizeof(Vector) / 4] = {};
  for (unsigned i = 0; i < sizeof(Vector) / 4; ++i) {
    if ((wanted >> i & 1) != 0) memcpy(words + i, static_cast<const char*>(from) + 4 * i, 4);
  }
  Vector vector;
  memcpy(&vector, words, sizeof(vector));
  return vector;
}
template <typename Vector>
static inline __m256i emulated_cvtepi32_epi16(Vector wide) {
  uint32_t words[16];
  uint16_t halves[16];
  memcpy(words, &wide, sizeof(words));
  for (int i = 0; i < 16; ++i) halves[i] = static_cast<uint16_t>(words[i]);
  __m256i narrow;
  memcpy(&narrow, halves, sizeof(narrow));
  return narrow;
}
static inline void emulated_storeu_halves(void* to, uint32_t wanted, __m256i vector) {
  uint16_t halves[16];
  memcpy(halves, &vector, sizeof(halves));
  for (int i = 0; i < 16; ++i) {
    if ((wanted >> i & 1) != 0) memcpy(static_cast<char*>(to) + 2 * i, halves + i, 2);
  }
}
#define _mm512_maskz_loadu_epi32(wanted, from) emulated_loadu_words<__m512i>(wanted, from)
#define _mm512_cvtepi32_epi16(wide) emulated_cvtepi32_epi16(wide)
#define _mm256_mask_storeu_epi16(to, wanted, vector) emulated_storeu_halves(to, wanted, vector)

#define LOOKUP_EMULATED  // gathers.hpp
