// Memory for keys on their way to a device: locked where the limits allow it, kept out of core
// dumps, wiped when it is given back. Whole pages, so not for small things. Thread-safe.
#pragma once

#include <memory_resource>

#include "lookup/memory.hpp"

namespace hecto::gpu_offload {

// As lookup::Memory::system() beside this. Nothing where the kernel would dump it.
lookup::Memory& secret_memory() noexcept;
// The same for containers; without memory it throws std::bad_alloc.
std::pmr::memory_resource& secret_resource() noexcept;

}  // namespace hecto::gpu_offload
