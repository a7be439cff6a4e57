// The AVX-512 kernels for a CPU without AVX-512: SIMDe computes the same with what there is.
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

#include "lookup/kernel_avx512.cpp"
