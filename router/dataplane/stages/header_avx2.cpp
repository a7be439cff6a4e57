// Eight headers at once, for x86-64-v3.
#include <immintrin.h>

#include "router/dataplane/stages/header_kernel.hpp"
#include "router/dataplane/stages/header_kernels.hpp"

namespace hecto::router {
namespace {

struct Avx2 {
  static constexpr unsigned kLanes = 8;
  using Words = uint32_t __attribute__((vector_size(32)));
  using Halves = uint16_t __attribute__((vector_size(32)));

  static Words words(__m256i value) noexcept { return reinterpret_cast<Words>(value); }
  static __m256i raw(Words value) noexcept { return reinterpret_cast<__m256i>(value); }
  static __m128i row(const uint8_t* at) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  }

  static Words repeat(Row value) noexcept {
    return words(_mm256_broadcastsi128_si256(reinterpret_cast<__m128i>(value)));
  }
  static Words rows(const uint8_t* const* frames, unsigned j, unsigned offset) noexcept {
    const __m256i low = _mm256_castsi128_si256(row(frames[j] + offset));
    return words(_mm256_inserti128_si256(low, row(frames[j + 4] + offset), 1));
  }
  static Words low32(Words a, Words b) noexcept {
    return words(_mm256_unpacklo_epi32(raw(a), raw(b)));
  }
  static Words high32(Words a, Words b) noexcept {
    return words(_mm256_unpackhi_epi32(raw(a), raw(b)));
  }
  static Words low64(Words a, Words b) noexcept {
    return words(_mm256_unpacklo_epi64(raw(a), raw(b)));
  }
  static Words high64(Words a, Words b) noexcept {
    return words(_mm256_unpackhi_epi64(raw(a), raw(b)));
  }
  static Words swap_bytes(Words value) noexcept {
    const __m256i order = _mm256_broadcastsi128_si256(
        _mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
    return words(_mm256_shuffle_epi8(raw(value), order));
  }
  static bool any(Words value) noexcept { return _mm256_testz_si256(raw(value), raw(value)) == 0; }
};

}  // namespace

const HeaderKernels kAvx2Headers{Avx2::kLanes, HeaderGroups<Avx2>::run};

}  // namespace hecto::router
