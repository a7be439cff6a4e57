// An ESP job as crypto/ takes it, wherever its memory lies.
#pragma once

#include "gpu_offload/crypto/esp.hpp"
#include "gpu_offload/job.hpp"

namespace hecto::gpu_offload {

static_assert(sizeof(crypto::EspPacket) == input_bytes(JobKind::kSealGcm));
static_assert(sizeof(crypto::EspVerdict) == output_bytes(JobKind::kSealGcm));
static_assert(static_cast<uint32_t>(JobKind::kOpenCbc) - static_cast<uint32_t>(JobKind::kSealGcm) ==
              static_cast<uint32_t>(crypto::EspKind::kOpenCbc));

// `job.result` holds the payload already: it is worked on in place.
inline crypto::EspJob esp_job(const Job& job) {
  const auto kind = static_cast<uint32_t>(job.kind) - static_cast<uint32_t>(JobKind::kSealGcm);
  return {static_cast<crypto::EspKind>(kind),
          job.count,
          static_cast<uint32_t>(uint64_t{job.arena_info} * 4 / sizeof(crypto::EspKey)),
          job.payload_bytes,
          job.payload_bytes,
          static_cast<uint8_t*>(job.result),
          static_cast<const crypto::EspPacket*>(job.input),
          reinterpret_cast<const crypto::EspKey*>(job.arena),
          static_cast<crypto::EspVerdict*>(job.output)};
}

}  // namespace hecto::gpu_offload
