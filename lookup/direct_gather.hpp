// The look-up in a DIR-24-8 arena by gathers, sixteen destinations at a time; what they load is
// prefetched two gathers ahead.
#pragma once

#include <stddef.h>

#include "lookup/direct_layout.hpp"
#include "lookup/gathers.hpp"

namespace hecto::lookup {
namespace {

constexpr size_t kDirectAhead = 32;

inline void prefetch_entries(const uint16_t* root, const char* from, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    uint32_t destination;
    memcpy(&destination, from + 4 * i, sizeof(destination));
    __builtin_prefetch(root + (destination >> 8));
  }
}
inline void direct4(const uint32_t* arena, const void* destinations, void* groups, size_t n) {
  auto* root = reinterpret_cast<const uint16_t*>(arena + DIRECT_ROOT_WORD);
  auto* nodes = reinterpret_cast<const uint16_t*>(arena + DIRECT_NODES_WORD);
  auto* from = static_cast<const char*>(destinations);
  auto* to = static_cast<char*>(groups);
  prefetch_entries(root, from, 0, n < kDirectAhead ? n : kDirectAhead);
  for (size_t i = 0; i < n; i += 16) {
    size_t ahead = i + kDirectAhead;
    if (ahead + 16 <= n) prefetch_entries(root, from, ahead, ahead + 16);
    __mmask16 chosen = first_lanes(n - i);
    __m512i destination = _mm512_maskz_loadu_epi32(chosen, from + 4 * i);
    __m512i entry = gather_entries(root, _mm512_srli_epi32(destination, 8), chosen);
    __mmask16 deeper = _mm512_test_epi32_mask(entry, all(DIRECT_NODE));
    if (__builtin_expect(deeper != 0, 0)) {
      __m512i node = _mm512_slli_epi32(_mm512_andnot_si512(all(DIRECT_NODE), entry), 8);
      __m512i leaf = _mm512_or_si512(node, _mm512_and_si512(destination, all(0xff)));
      entry = _mm512_mask_mov_epi32(entry, deeper, gather_entries(nodes, leaf, deeper));
    }
    store_groups(to + 2 * i, chosen, entry);
  }
}

}  // namespace
}  // namespace hecto::lookup
