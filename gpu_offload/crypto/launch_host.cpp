#include "gpu_offload/crypto/aes_tables.hpp"
#include "gpu_offload/crypto/lanes.hpp"
#include "gpu_offload/crypto/launch.hpp"
#include "gpu_offload/crypto/run.hpp"

namespace hecto::gpu_offload::crypto {
namespace {

template <uint32_t Width>
EspVerdict run(const EspJob& job, uint32_t index) {
  constexpr HostLanes<Width> lanes;
  constexpr HostTables tables;
  switch (job.kind) {
    case EspKind::kSealGcm:
      return run_gcm_seal(lanes, tables, job, index);
    case EspKind::kOpenGcm:
      return run_gcm_open(lanes, tables, job, index);
    case EspKind::kSealCbc:
      return run_cbc_seal(tables, job, index);
    case EspKind::kOpenCbc:
      break;
  }
  EspVerdict verdict = run_cbc_verify(job, index);
  if (verdict == EspVerdict::kDone) run_cbc_decrypt(lanes, tables, job, index);
  return verdict;
}

}  // namespace

int launch_esp_host(void* /*stream*/, const EspJob& job) noexcept {
  auto* run_packet = lanes_for(job) == kMaxLanes ? run<kMaxLanes> : run<8>;
  for (uint32_t i = 0; i < job.packet_count; ++i) job.verdicts[i] = run_packet(job, i);
  return 0;
}

}  // namespace hecto::gpu_offload::crypto
