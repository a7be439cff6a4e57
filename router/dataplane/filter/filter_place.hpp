// Where a filter judges packets.
#pragma once

#include <cstdint>

namespace hecto::router {

enum class FilterPlace : uint8_t {
  kIn,     // of the interface that they came in by
  kVrf,    // of that one's VRF
  kOut,    // of the interface that they leave by
  kLocal,  // of what is for the router itself
};

constexpr const char* to_string(FilterPlace place) noexcept {
  constexpr const char* kWords[] = {"in", "vrf", "out", "local"};
  return kWords[static_cast<unsigned>(place)];
}

}  // namespace hecto::router
