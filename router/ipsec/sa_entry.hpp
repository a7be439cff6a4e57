// An SA as control keeps it: what was said of it, and the Sa that workers use. Control thread.
#pragma once

#include <cstdint>
#include <memory>

#include "router/ipsec/esp/sa.hpp"
#include "router/ipsec/esp/sa_state.hpp"

namespace hecto::router {

struct SaEntry {
  SaState state;                          // without its keys
  std::shared_ptr<const esp::Keys> keys;  // in key memory: to know them again
  uint64_t fingerprint = 0;               // of transform and keys; of Linux's SAs none
  std::unique_ptr<esp::Sa> sa;
  uint64_t serial = 0;  // newest is highest
  uint32_t added_s = 0;
  uint32_t generation = 0;  // of Linux's state, in which it was confirmed last
  bool soft_expired = false;
  bool expired = false;
  uint64_t counted_bytes = 0, counted_packets = 0;  // in the table's totals
  // At the last look at lifetimes.
  uint32_t sampled_s = 0;
  uint64_t sampled_bytes = 0, sampled_packets = 0;
  uint64_t bytes_per_s = 0, packets_per_s = 0;
};

}  // namespace hecto::router
