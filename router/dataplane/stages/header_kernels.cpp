#include "router/dataplane/stages/header_kernels.hpp"

namespace hecto::router {
namespace {

constexpr HeaderKernels kNone{1, nullptr};

}  // namespace

const HeaderKernels& header_kernels_of(lookup::Isa isa) noexcept {
  if (!lookup::is_supported(isa)) return kNone;
  switch (isa) {
#ifdef LOOKUP_HAVE_AVX2
    case lookup::Isa::kAvx2:
      return kAvx2Headers;
#endif
#ifdef LOOKUP_HAVE_AVX512
    case lookup::Isa::kAvx512:
    case lookup::Isa::kAvx512Gather:
      return kAvx512Headers;
#endif
    default:
      return kNone;
  }
}

const HeaderKernels& header_kernels() noexcept {
  static const HeaderKernels& chosen = header_kernels_of(lookup::kernels().isa);
  return chosen;
}

}  // namespace hecto::router
