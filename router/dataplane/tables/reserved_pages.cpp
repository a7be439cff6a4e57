#include "router/dataplane/tables/reserved_pages.hpp"

#include <fmt/format.h>
#include <linux/mman.h>
#include <numa.h>
#include <sys/mman.h>

#include <fstream>
#include <string>

namespace hecto::router {
namespace {

bool transparent_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string line;
  return std::getline(file, line) && line.find("[never]") == std::string::npos;
}

size_t whole_pages(size_t bytes) {
  constexpr size_t kPage = ReservedPages::kPageBytes;
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

uint64_t free_reserved_bytes(int socket) {
  constexpr const char* kFile = "hugepages/hugepages-2048kB/free_hugepages";
  std::ifstream file(fmt::format("/sys/devices/system/node/node{}/{}", socket, kFile));
  if (!file && socket == 0) file.open(fmt::format("/sys/kernel/mm/{}", kFile));
  uint64_t pages = 0;
  file >> pages;
  return pages * ReservedPages::kPageBytes;
}

ReservedPages& ReservedPages::of_process() {
  static ReservedPages pages(transparent_pages());
  return pages;
}

// Filled at once, since one that is not to be had on its socket would end the process when it is
// written to. MADV_POPULATE_WRITE is of Linux 5.14; before, none is taken.
void* ReservedPages::allocate(size_t bytes, int socket) noexcept {
  const size_t size = whole_pages(bytes);
  const auto spare = spare_.find(socket);
  if (transparent_ || bytes < kPageBytes || spare == spare_.end() || spare->second < size)
    return nullptr;
  void* const block = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_HUGE_2MB, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  if (numa_available() >= 0 && numa_max_node() > 0) numa_tonode_memory(block, size, socket);
  if (madvise(block, size, MADV_POPULATE_WRITE) != 0) {
    munmap(block, size);
    return nullptr;
  }
  spare->second -= size;
  blocks_[block] = {size, socket};
  return block;
}

bool ReservedPages::release(void* block) noexcept {
  const auto found = blocks_.extract(block);
  if (!found) return false;
  munmap(block, found.mapped().bytes);
  spare_[found.mapped().socket] += found.mapped().bytes;
  return true;
}

void ReservedPages::count_small(size_t bytes, bool taken) noexcept {
  if (transparent_ || bytes < kPageBytes) return;
  small_bytes_ += taken ? whole_pages(bytes) : -whole_pages(bytes);
}

}  // namespace hecto::router
