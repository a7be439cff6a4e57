// Sixteen headers at once, for x86-64-v4.
#include <immintrin.h>

#include "router/dataplane/stages/header_kernel.hpp"
#include "router/dataplane/stages/header_kernels.hpp"

namespace hecto::router {
namespace {

struct Avx512 {
  static constexpr unsigned kLanes = 16;
  using Words = uint32_t __attribute__((vector_size(64)));
  using Halves = uint16_t __attribute__((vector_size(64)));

  static Words words(__m512i value) noexcept { return reinterpret_cast<Words>(value); }
  static __m512i raw(Words value) noexcept { return reinterpret_cast<__m512i>(value); }
  static __m128i row(const uint8_t* at) noexcept {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  }

  static Words repeat(Row value) noexcept {
    return words(_mm512_broadcast_i32x4(reinterpret_cast<__m128i>(value)));
  }
  static Words rows(const uint8_t* const* frames, unsigned j, unsigned offset) noexcept {
    __m512i out = _mm512_castsi128_si512(row(frames[j] + offset));
    out = _mm512_inserti32x4(out, row(frames[j + 4] + offset), 1);
    out = _mm512_inserti32x4(out, row(frames[j + 8] + offset), 2);
    return words(_mm512_inserti32x4(out, row(frames[j + 12] + offset), 3));
  }
  static Words low32(Words a, Words b) noexcept {
    return words(_mm512_unpacklo_epi32(raw(a), raw(b)));
  }
  static Words high32(Words a, Words b) noexcept {
    return words(_mm512_unpackhi_epi32(raw(a), raw(b)));
  }
  static Words low64(Words a, Words b) noexcept {
    return words(_mm512_unpacklo_epi64(raw(a), raw(b)));
  }
  static Words high64(Words a, Words b) noexcept {
    return words(_mm512_unpackhi_epi64(raw(a), raw(b)));
  }
  static Words swap_bytes(Words value) noexcept {
    const __m512i order =
        _mm512_broadcast_i32x4(_mm_set_epi8(12, 13, 14, 15, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3));
    return words(_mm512_shuffle_epi8(raw(value), order));
  }
  static bool any(Words value) noexcept {
    return _mm512_test_epi32_mask(raw(value), raw(value)) != 0;
  }
};

}  // namespace

const HeaderKernels kAvx512Headers{Avx512::kLanes, HeaderGroups<Avx512>::run, &kAvx2Headers};

}  // namespace hecto::router
