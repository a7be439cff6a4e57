// A packet on its way through ESP, and what came of it. No DPDK here: the stages make these of
// mbufs.
#pragma once

#include <cstdint>

#include "base/reason.hpp"

namespace hecto::router::esp {

class Sa;

struct Packet {
  uint8_t* ip = nullptr;          // in: its IP header. out: the new one's
  uint32_t bytes = 0;             // from `ip`, contiguous. out: the new length
  uint16_t headroom = 0;          // writable bytes before `ip`
  uint16_t tailroom = 0;          // writable bytes behind
  Sa* sa = nullptr;               // inbound: null is unknown_spi
  Reason reason = Reason::kNone;  // out: kNone is done; then `ip` starts a whole IP packet
};

}  // namespace hecto::router::esp
