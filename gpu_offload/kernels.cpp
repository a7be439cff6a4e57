#include "gpu_offload/kernels.hpp"

namespace hecto::gpu_offload {

bool run_on_cpu(const Job& job) noexcept {
  switch (job.kind) {
    case JobKind::kLookup4:
      for (uint32_t i = 0; i < job.count; ++i) shade_lookup4(job, i);
      return true;
    case JobKind::kLookup6:
      for (uint32_t i = 0; i < job.count; ++i) shade_lookup6(job, i);
      return true;
    default:
      return false;
  }
}

}  // namespace hecto::gpu_offload
