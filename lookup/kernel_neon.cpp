// Look-ups for AArch64: keys of a line compared eight at a time.
#include <arm_neon.h>

#include "lookup/kernels.hpp"
#include "lookup/sort_by_kind.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

constexpr Isa kIsa = Isa::kNeon;

inline uint32_t count_bits(uint32_t bits) {
  return static_cast<uint32_t>(__builtin_popcount(bits));
}
// Lane by lane minus one where a key is below `value`.
inline uint16x8_t below(const uint16_t* keys, uint16x8_t value) {
  return vcltq_u16(vld1q_u16(keys), value);
}
inline uint16_t result_of(const uint16_t* line, uint16_t value) {
  uint16x8_t wanted = vdupq_n_u16(value);
  // The sixteenth halfword is a result, not a key.
  uint16x8_t last = vsetq_lane_u16(0, below(line + 8, wanted), 7);
  uint16x8_t sum = vaddq_u16(below(line, wanted), last);
  return line[TRIE_KEYS + static_cast<uint16_t>(-vaddvq_u16(sum))];
}
inline uint32_t count_fan(const uint16_t* keys, uint16_t value) {
  uint16x8_t wanted = vdupq_n_u16(value);
  uint16x8_t sum = vaddq_u16(vaddq_u16(below(keys, wanted), below(keys + 8, wanted)),
                             vaddq_u16(below(keys + 16, wanted), below(keys + 24, wanted)));
  return static_cast<uint16_t>(-vaddvq_u16(sum));
}

}  // namespace
}  // namespace hecto::lookup

#include "lookup/direct_walk.hpp"
#include "lookup/kernel_entry.hpp"
#include "lookup/trie_walk.hpp"

namespace hecto::lookup {
const Kernels kNeonKernels = {kIsa, direct4_kernel, trie4_kernel, trie6_kernel};
}  // namespace hecto::lookup
