// The batch look-ups, one set of functions per instruction set, and the choice among them.
//
// The choice is made once, at the first look-up or when a FIB is created: the best set that the
// CPU has, or the one that the environment variable LOOKUP_ISA names (scalar, avx2, avx512,
// avx512-gather, neon).
#pragma once

#include <cstddef>
#include <cstdint>

namespace hecto::lookup {

enum class Isa : uint8_t { kScalar, kAvx2, kAvx512, kAvx512Gather, kNeon };
inline constexpr Isa kAllIsas[] = {Isa::kScalar, Isa::kAvx2, Isa::kAvx512, Isa::kAvx512Gather,
                                   Isa::kNeon};
const char* to_string(Isa isa) noexcept;

// `destinations` as lookup_batch takes them, without alignment; so are `groups`, two bytes each.
// A kernel returns the instruction set that it was built for: that proves which one ran.
using Kernel = Isa (*)(const uint32_t* arena, uint32_t table, const void* destinations,
                       void* groups, size_t n) noexcept;

struct Kernels {
  Isa isa;
  Kernel direct4;  // direct_layout.hpp; knows one table
  Kernel trie4;    // trie_layout.hpp
  Kernel trie6;
};

bool is_supported(Isa isa) noexcept;          // by this CPU and this build
Isa best_isa() noexcept;                      // the one that is chosen where none is named
const Kernels& kernels_of(Isa isa) noexcept;  // the scalar ones where it is not supported
const Kernels& kernels() noexcept;            // the chosen ones

extern const Kernels kScalarKernels;
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
extern const Kernels kAvx512GatherKernels;
extern const Kernels kNeonKernels;

}  // namespace hecto::lookup
