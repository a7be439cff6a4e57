// Look-ups by gathers: x86-64-v4 that counts bits in vectors (AVX512-VPOPCNTDQ).
#include "lookup/direct_gather.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_gather.hpp"

namespace hecto::lookup {
namespace {

constexpr Isa kIsa = Isa::kAvx512Gather;

}  // namespace
}  // namespace hecto::lookup

#include "lookup/kernel_entry.hpp"

namespace hecto::lookup {
const Kernels kAvx512GatherKernels = {kIsa, direct4_kernel, trie4_kernel, trie6_kernel};
}  // namespace hecto::lookup
