#include "router/dataplane/tables/socket_memory.hpp"

#include <numa.h>

#include "router/dataplane/tables/reserved_pages.hpp"

namespace hecto::router {

void* SocketMemory::allocate(size_t bytes, int socket) noexcept {
  ReservedPages& reserved = ReservedPages::of_process();
  if (void* block = reserved.allocate(bytes, socket)) return block;
  void* block = lookup::Memory::system().allocate(bytes, socket);
  // Not touched yet, so the binding decides where the pages will lie.
  if (block != nullptr && numa_available() >= 0 && numa_max_node() > 0)
    numa_tonode_memory(block, bytes, socket);
  if (block != nullptr) reserved.count_small(bytes, true);
  return block;
}

void SocketMemory::release(void* block, size_t bytes) noexcept {
  ReservedPages& reserved = ReservedPages::of_process();
  if (block == nullptr || reserved.release(block)) return;
  reserved.count_small(bytes, false);
  lookup::Memory::system().release(block, bytes);
}

}  // namespace hecto::router
