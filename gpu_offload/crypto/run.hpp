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

// How many steps a packet's sealing has; 0: it is not servable.
HD inline uint32_t cbc_seal_steps(const EspJob& job, const EspPacket& packet) {
  return servable(job, packet) ? hash_blocks(EspMessage{packet, nullptr}) : 0;
}

// By one thread.
template <class Tables>
HD EspVerdict run_cbc_seal(const Tables& tables, const EspJob& job, uint32_t index) {
  const EspPacket& packet = job.packets[index];
  const uint32_t steps = cbc_seal_steps(job, packet);
  if (steps == 0) return EspVerdict::kUnservable;
  CbcSeal<Tables> seal(tables, job.keys[packet.key], packet, job.buffer + packet.payload);
  for (uint32_t step = 0; step < steps; ++step) {
    seal.encrypt(step);
    seal.hash(step);
  }
  seal.write_icv();
  return EspVerdict::kDone;
}

enum class SealRole : uint8_t { kEncrypts, kHashes, kWaits };

// By two threads a packet; who hashes has the verdict. more = sync(mine) is a barrier of a group of packets
// and tells all of it whether any has steps left.
template <class Tables, class Sync>
HD EspVerdict run_cbc_seal(const Tables& tables, const EspJob& job, uint32_t index, SealRole role,
                           Sync sync) {
  const EspPacket& packet = job.packets[index];
  const uint32_t steps = cbc_seal_steps(job, packet);
  const bool mine = steps != 0;
  CbcSeal<Tables> seal(tables, job.keys[mine ? packet.key : 0], packet,
                       job.buffer + (mine ? packet.payload : 0));
  uint32_t step = 0;
  do {
    if (role == SealRole::kEncrypts && step < steps) seal.encrypt(step);
    if (role == SealRole::kHashes && step != 0 && step <= steps) seal.hash(step - 1);
  } while (sync(step++ < steps));
  if (role == SealRole::kHashes && mine) seal.write_icv();
  return mine ? EspVerdict::kDone : EspVerdict::kUnservable;
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
