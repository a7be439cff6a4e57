// Memory for keys: locked where the limits allow it, kept out of core dumps, wiped when it is given
// back.
//
// Sizes in bytes, blocks aligned to 64. Thread-safe. Blocks of one size come from slabs of 2 MiB
// (huge pages where Linux has them), which stay mapped until the process ends.
#pragma once

#include <cstddef>
#include <memory>

#include "router/esp/transform.hpp"

namespace hecto::router::esp {

// Zeroed; null when there is none.
void* allocate_key_memory(size_t bytes) noexcept;
void release_key_memory(void* memory, size_t bytes) noexcept;  // `bytes`: as it was asked for

// A copy there, wiped when the last one lets go of it; null when there is no memory.
std::shared_ptr<const Keys> keep(const Keys& keys);

}  // namespace hecto::router::esp
