#include "router/dataplane/tables/socket_memory.hpp"

#include <numa.h>

namespace hecto::router {

void* SocketMemory::allocate(size_t bytes, int socket) noexcept {
  void* block = lookup::Memory::system().allocate(bytes, socket);
  // Not touched yet, so the binding decides where the pages will lie.
  if (block != nullptr && numa_available() >= 0 && numa_max_node() > 0)
    numa_tonode_memory(block, bytes, socket);
  return block;
}

void SocketMemory::release(void* block, size_t bytes) noexcept {
  lookup::Memory::system().release(block, bytes);
}

}  // namespace hecto::router
