#include "lookup/kernels.hpp"

#include <cstdlib>
#include <cstring>

namespace hecto::lookup {
namespace {

// The set that was built for `isa` and that this CPU can run.
const Kernels* available(Isa isa) {
  switch (isa) {
    case Isa::kScalar:
      return &kScalarKernels;
#ifdef LOOKUP_HAVE_AVX2
    case Isa::kAvx2:
      // What x86-64-v3 means beyond AVX2, as far as compilers use it.
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                     __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")
                 ? &kAvx2Kernels
                 : nullptr;
#endif
#ifdef LOOKUP_HAVE_AVX512
    case Isa::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                     __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                     __builtin_cpu_supports("avx512cd") && available(Isa::kAvx2) != nullptr
                 ? &kAvx512Kernels
                 : nullptr;
#endif
#ifdef LOOKUP_HAVE_AVX512_GATHER
    case Isa::kAvx512Gather:
      return __builtin_cpu_supports("avx512vpopcntdq") && available(Isa::kAvx512) != nullptr
                 ? &kAvx512GatherKernels
                 : nullptr;
#endif
#ifdef LOOKUP_HAVE_NEON
    case Isa::kNeon:
      return &kNeonKernels;
#endif
    default:
      return nullptr;
  }
}

// Gathers are worth it from Intel's Sapphire Rapids on, the first that has both BF16 and VBMI2. CPUs
// before it have them slowed down (the mitigation of gather data sampling), AMD's take them from
// microcode.
bool gathers_are_quick() {
#ifdef LOOKUP_HAVE_AVX512_GATHER
  return __builtin_cpu_is("intel") && __builtin_cpu_supports("avx512bf16") &&
         __builtin_cpu_supports("avx512vbmi2");
#else
  return false;
#endif
}

Isa choose() {
  const char* wish = std::getenv("LOOKUP_ISA");
  for (Isa isa : kAllIsas) {
    if (wish != nullptr && is_supported(isa) && std::strcmp(wish, to_string(isa)) == 0) return isa;
  }
  return best_isa();
}

}  // namespace

const char* to_string(Isa isa) noexcept {
  constexpr const char* kNames[] = {"scalar", "avx2", "avx512", "avx512-gather", "neon"};
  return kNames[static_cast<size_t>(isa)];
}

bool is_supported(Isa isa) noexcept {
  return available(isa) != nullptr;
}

Isa best_isa() noexcept {
  Isa best = Isa::kScalar;
  for (Isa isa : kAllIsas) {
    if (is_supported(isa) && (isa != Isa::kAvx512Gather || gathers_are_quick())) best = isa;
  }
  return best;
}

const Kernels& kernels_of(Isa isa) noexcept {
  const Kernels* set = available(isa);
  return set != nullptr ? *set : kScalarKernels;
}

const Kernels& kernels() noexcept {
  static const Kernels& chosen = kernels_of(choose());
  return chosen;
}

}  // namespace hecto::lookup
