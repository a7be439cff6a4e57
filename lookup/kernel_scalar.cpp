// Look-ups for any CPU; the compiler uses what its baseline has (SSE2 on x86-64).
#include "lookup/kernels.hpp"
#include "lookup/sort_by_kind.hpp"
#include "lookup/trie_layout.hpp"

namespace hecto::lookup {
namespace {

constexpr Isa kIsa = Isa::kScalar;

// In registers: without an instruction for it compilers call a function.
inline uint32_t count_bits(uint32_t bits) {
  bits -= bits >> 1 & 0x55555555;
  bits = (bits & 0x33333333) + (bits >> 2 & 0x33333333);
  return ((bits + (bits >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

template <int kKeys>
inline uint32_t count(const uint16_t* keys, uint16_t value) {
  uint16_t below = 0;
  for (int i = 0; i < kKeys; ++i) below = static_cast<uint16_t>(below + (keys[i] < value));
  return below;
}
inline uint16_t result_of(const uint16_t* line, uint16_t value) {
  return line[TRIE_KEYS + count<TRIE_KEYS>(line, value)];
}
inline uint32_t count_fan(const uint16_t* keys, uint16_t value) {
  return count<TRIE_FAN_KEYS>(keys, value);
}

}  // namespace
}  // namespace hecto::lookup

#include "lookup/direct_walk.hpp"
#include "lookup/kernel_entry.hpp"
#include "lookup/trie_walk.hpp"

namespace hecto::lookup {
const Kernels kScalarKernels = {kIsa, direct4_kernel, trie4_kernel, trie6_kernel};
}  // namespace hecto::lookup
