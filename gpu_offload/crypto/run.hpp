// One packet of a job, as its kind wants it: what both launchers call.
#pragma once

#include "gpu_offload/crypto/cbc.hpp"
#include "gpu_offload/crypto/gcm.hpp"

namespace hecto::gpu_offload::crypto {

template <class Lanes, class Tables>
HD Gcm<Lanes, Tables> gcm_of(const Lanes& lanes, const Tables& tables, const EspJob& job,
                             const EspPacket& packet) {
  return {lanes, tables, job.keys[packet.key], packet, job.buffer + packet.payload};
}

// By all lanes of the packet.
template <class Lanes, class Tables>
HD EspVerdict run_gcm_seal(const Lanes& lanes, const Tables& tables, const EspJob& job,
                           uint32_t index) {
  const EspPacket& packet = job.packets[index];
  if (!servable(job, packet)) return EspVerdict::kUnservable;
  gcm_of(lanes, tables, job, packet).seal();
  return EspVerdict::kDone;
}

template <class Lanes, class Tables>
HD EspVerdict run_gcm_open(const Lanes& lanes, const Tables& tables, const EspJob& job,
                           uint32_t index) {
  const EspPacket& packet = job.packets[index];
  if (!servable(job, packet)) return EspVerdict::kUnservable;
  bool authentic = gcm_of(lanes, tables, job, packet).open();
  return authentic ? EspVerdict::kDone : EspVerdict::kForged;
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
