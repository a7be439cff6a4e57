#include "router/dataplane/tables/kept_memory.hpp"

#include <fmt/format.h>
#include <linux/memfd.h>
#include <numa.h>
#include <sys/mman.h>
#include <unistd.h>

#include "router/process/service/service_manager.hpp"

namespace hecto::router {
namespace {

constexpr size_t kPageBytes = 2 << 20;

size_t rounded(size_t bytes) {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

}  // namespace

void* KeptMemory::allocate_kept(size_t bytes, int socket) {
  if (!service_.keeps()) return nullptr;
  const size_t size = rounded(bytes);
  // Names sort in the order of their making.
  const std::string name = fmt::format("table-{}-{}-{:04}", table_, socket, next_);
  const FileDescriptor file(memfd_create(name.c_str(), MFD_CLOEXEC | MFD_HUGETLB | MFD_HUGE_2MB));
  if (!file || ftruncate(file.get(), static_cast<off_t>(size)) != 0) return nullptr;
  void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (block == MAP_FAILED) return nullptr;  // no huge page is free
  if (numa_available() >= 0 && numa_max_node() > 0) numa_tonode_memory(block, size, socket);
  if (!service_.keep(name, file.get())) {
    munmap(block, size);
    return nullptr;
  }
  blocks_[block] = {name, size};
  ++next_;
  return block;
}

void* KeptMemory::allocate(size_t bytes, int socket) noexcept {
  if (void* block = allocate_kept(bytes, socket)) return block;
  void* block = otherwise_.allocate(bytes, socket);
  elsewhere_ += block != nullptr;
  return block;
}

void KeptMemory::release(void* block, size_t bytes) noexcept {
  const auto kept = blocks_.extract(block);
  if (!kept) {
    elsewhere_ -= block != nullptr;
    return otherwise_.release(block, bytes);
  }
  if (!leaving_) service_.forget(kept.mapped().name);
  munmap(block, kept.mapped().bytes);
}

}  // namespace hecto::router
