// Fetches what a look-up reads, for whoever knows a destination before its batch is whole. Kernels of
// any instruction set include it, as they do the layouts.
#pragma once

#include <stdint.h>

#include "lookup/direct_layout.hpp"

namespace hecto::lookup {
namespace {

// The entry that a look-up of `destination` (host order) reads first. `level`: what first_level() gave.
inline const uint16_t* first_entry(const void* level, uint32_t destination) {
  return static_cast<const uint16_t*>(level) + (destination >> 8);
}
inline void fetch_ahead(const void* level, uint32_t destination) {
  __builtin_prefetch(first_entry(level, destination));
}

}  // namespace
}  // namespace hecto::lookup
