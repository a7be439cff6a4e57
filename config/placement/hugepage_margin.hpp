// How many hugepages a need of memory takes.
#pragma once

#include <cstdint>

namespace hecto::config {

// hectod asks for a sixteenth more than its pools hold, and for 56 bytes more of each mbuf than the
// plan counts: 8.8% of the smallest data room. With fewer it takes ordinary pages.
constexpr uint64_t with_hugepage_margin(uint64_t bytes) noexcept {
  return bytes + bytes / 8;
}

}  // namespace hecto::config
