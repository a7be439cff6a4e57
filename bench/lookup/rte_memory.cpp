#include "bench/lookup/rte_memory.hpp"

#include <malloc.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

// Anonymous memory in use, whoever mapped it: no hugepages of DPDK's, nor its file without them.
uint64_t private_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("RssAnon:")) return strtoull(line.c_str() + 8, nullptr, 10) * 1024;
  return 0;
}

}  // namespace

void* RteMemory::allocate(size_t bytes, int socket) noexcept {
  return rte_zmalloc_socket("hecto", bytes, RTE_CACHE_LINE_SIZE, socket);
}

void RteMemory::release(void* block, size_t /*bytes*/) noexcept {
  rte_free(block);
}

uint64_t allocated_bytes() {
  malloc_trim(0);
  uint64_t bytes = private_bytes();
  for (unsigned i = 0; i < rte_socket_count(); ++i) {
    rte_malloc_socket_stats stats{};
    if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
      bytes += stats.heap_allocsz_bytes;
  }
  return bytes;
}

}  // namespace hecto::bench
