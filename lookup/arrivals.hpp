// Destinations of a block that have come to a slot, for the kernels' files alone.
#pragma once

#include <stdint.h>

namespace hecto::lookup {
namespace {

constexpr uint32_t kBlock = 128;

struct Arrivals {
  uint32_t count;
  // A vector more, so that whole ones can be read and stored.
  alignas(64) uint32_t index[kBlock + 16];  // twice the destination's number in the block
  alignas(64) uint32_t slot[kBlock + 16];
};

}  // namespace
}  // namespace hecto::lookup
