#include "lookup/kernels.hpp"

#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace hecto::lookup {
namespace {

constexpr Kernels kScalarKernels{Isa::kScalar, lookup4_scalar, lookup6_scalar};
#ifdef LOOKUP_HAVE_AVX2
constexpr Kernels kAvx2Kernels{Isa::kAvx2, lookup4_scalar, lookup6_avx2};
#endif

Isa choose() {
  Isa best = is_supported(Isa::kAvx2) ? Isa::kAvx2 : Isa::kScalar;
  const char* wish = std::getenv("LOOKUP_ISA");
  if (wish == nullptr) return best;
  for (Isa isa : {Isa::kScalar, Isa::kAvx2}) {
    if (std::strcmp(wish, to_string(isa)) == 0 && is_supported(isa)) return isa;
  }
  return best;
}

}  // namespace

const char* to_string(Isa isa) noexcept {
  return isa == Isa::kAvx2 ? "avx2" : "scalar";
}

bool is_supported(Isa isa) noexcept {
  if (isa == Isa::kScalar) return true;
#ifdef LOOKUP_HAVE_AVX2
  // What x86-64-v3 means beyond AVX2, as far as compilers use it.
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
         __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

const Kernels& kernels_of(Isa isa) noexcept {
#ifdef LOOKUP_HAVE_AVX2
  if (isa == Isa::kAvx2 && is_supported(isa)) return kAvx2Kernels;
#endif
  (void)isa;
  return kScalarKernels;
}

const Kernels& kernels() noexcept {
  static const Kernels& chosen = kernels_of(choose());
  return chosen;
}

}  // namespace hecto::lookup
