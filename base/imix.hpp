// The simple Internet mix: of 12 frames 7 small, 4 middle, 1 large. Bytes with FCS.
#pragma once

#include <array>
#include <cstdint>

namespace hecto {

struct ImixPart {
  uint16_t frame_bytes;
  uint16_t weight;
};
inline constexpr std::array<ImixPart, 3> kImix = {{{64, 7}, {594, 4}, {1518, 1}}};

}  // namespace hecto
