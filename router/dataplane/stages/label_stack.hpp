// Labels of MPLS before a packet (RFC 3032 §2.1): put on by rewrite, and by the stage of labels that come
// in.
#pragma once

#include <cstring>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "lookup/nexthop.hpp"

namespace hecto::router {

inline constexpr uint32_t kBottomOfStack = 0x100;          // as load32_be sees an entry
inline constexpr uint32_t kBottomOfStackNative = 0x10000;  // as load32_native does

// The record's, right before `at`. `bottom`: no label is behind them. Returns where they begin.
inline uint8_t* write_labels(uint8_t* at, const lookup::NextHopRecord& record, uint32_t ttl,
                             bool bottom) noexcept {
  uint32_t last = bottom ? kBottomOfStackNative : 0;
  for (unsigned i = record.label_count; i > 0; --i) {
    at -= kLabelBytes;
    const uint32_t entry = record.labels[i - 1] | ttl << 24 | last;
    std::memcpy(at, &entry, sizeof entry);
    last = 0;
  }
  return at;
}

}  // namespace hecto::router
