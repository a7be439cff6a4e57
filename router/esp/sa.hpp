// A security association as workers use it: what it says, its keys expanded, its numbers.
//
// Made by control in memory that is locked, kept out of core dumps, and wiped when it dies; read by
// all workers. What they write (sequence, replay window, use) is atomic: one SA's traffic may
// spread over all of them. Control frees it after every worker has been through a quiescent state.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "router/control/ipsec_state.hpp"
#include "router/esp/replay.hpp"

namespace hecto::router::esp {

struct ExpandedKeys;  // crypto.cpp: what ipsec-mb wants

class Sa {
 public:
  // Refuses keys that do not fit, and memory that cannot be had. One line for the operator.
  static Result<std::unique_ptr<Sa>> create(const SaState& state);
  ~Sa();
  Sa(const Sa&) = delete;
  Sa& operator=(const Sa&) = delete;

  // How many bytes a packet of `inner` bytes (its IP header and all) becomes, and the other way:
  // the largest inner packet that fits `outer_mtu`. `family`: of the inner packet.
  uint32_t outer_bytes(uint32_t inner) const noexcept;
  uint32_t inner_mtu(uint32_t outer_mtu) const noexcept;

  // ---- constant
  SaId id;
  IpAddress source;
  IpsecMode mode;
  Transform transform;
  uint32_t reqid, if_id;
  uint32_t number = 0;  // dense, given by control: index of its counters in views
  // ... (template of the outer header, flags, lifetimes, ExpandedKeys)

  // ---- written by workers
  alignas(64) std::atomic<uint64_t> sequence{0};          // last one given out
  std::atomic<uint64_t> bytes{0}, packets{0};             // payload as RFC 4301 counts lifetimes
  std::atomic<uint32_t> first_used_s{0}, last_used_s{0};  // seconds of `now_s`
  std::atomic<bool> expired{false};  // hard lifetime over, or sequence numbers used up
  ReplayWindow replay;
};

}  // namespace hecto::router::esp
