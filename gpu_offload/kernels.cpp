#include "gpu_offload/kernels.hpp"

#include <cstring>

#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/esp_job.hpp"

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
      std::memcpy(job.result, job.payload, job.payload_bytes);
      return crypto::launch_esp_host(nullptr, esp_job(job)) == 0;
  }
}

}  // namespace hecto::gpu_offload
