// One packet of a job, as its kind wants it: what both launchers call.
#pragma once

#include "gpu_offload/crypto/cbc.hpp"
#include "gpu_offload/crypto/gcm.hpp"

namespace hecto::gpu_offload::crypto {

// By all lanes of the packet.
template <class Lanes, class Tables>
HD EspVerdict run_gcm(const Lanes& lanes, const Tables& tables, const EspJob& job, uint32_t index) {
  const EspPacket& packet = job.packets[index];
  if (!servable(job, packet)) return EspVerdict::kUnservable;
  Gcm<Lanes, Tables> gcm{lanes, tables, job.keys[packet.key], packet, job.buffer + packet.payload};
  if (job.kind == EspKind::kOpenGcm) return gcm.open() ? EspVerdict::kDone : EspVerdict::kForged;
  gcm.seal();
  return EspVerdict::kDone;
}

// By one thread.
template <class Tables>
HD EspVerdict run_cbc_seal(const Tables& tables, const EspJob& job, uint32_t index) {
  const EspPacket& packet = job.packets[index];
  if (!servable(job, packet)) return EspVerdict::kUnservable;
  cbc_seal(tables, job.keys[packet.key], packet, job.buffer + packet.payload);
  return EspVerdict::kDone;
}

// By one thread, before run_cbc_decrypt() for what is kDone.
HD inline EspVerdict run_cbc_verify(const EspJob& job, uint32_t index) {
  const EspPacket& packet = job.packets[index];
  if (!servable(job, packet)) return EspVerdict::kUnservable;
  bool authentic = cbc_authentic(job.keys[packet.key], packet, job.buffer + packet.payload);
  return authentic ? EspVerdict::kDone : EspVerdict::kForged;
}

// By all lanes of the packet.
template <class Lanes, class Tables>
HD void run_cbc_decrypt(const Lanes& lanes, const Tables& tables, const EspJob& job,
                        uint32_t index) {
  const EspPacket& packet = job.packets[index];
  cbc_decrypt(lanes, tables, job.keys[packet.key], packet, job.buffer + packet.payload);
}

}  // namespace hecto::gpu_offload::crypto
