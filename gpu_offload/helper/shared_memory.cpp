#include "gpu_offload/helper/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/secret_memory.hpp"

namespace hecto::gpu_offload {
namespace {

constexpr size_t kPage = 4096, kHugePage = size_t{2} << 20;
constexpr int kPreferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr unsigned kMostSockets = 64;

size_t rounded(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

void* map_shared(int memory, size_t bytes) noexcept {
  void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  return start == MAP_FAILED ? nullptr : start;
}

// Sealed in its size: who cuts off what the other has mapped ends it by SIGBUS.
void* make(size_t& bytes, FileDescriptor& memory) noexcept {
  memory = FileDescriptor(memfd_create("hecto-gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  bytes = rounded(bytes, kPage);
  if (!memory || ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return nullptr;
  void* start = map_shared(memory.get(), bytes);
  // Not those that are set aside for DPDK: those are counted.
  if (start != nullptr && bytes >= kHugePage) madvise(start, bytes, MADV_HUGEPAGE);
  return start;
}

void prefer(void* start, size_t bytes, int socket) noexcept {
  if (socket < 0 || static_cast<unsigned>(socket) >= kMostSockets) return;
  const unsigned long mask = 1ul << socket;
  syscall(SYS_mbind, start, bytes, kPreferred, &mask, kMostSockets + 1, 0);  // as good as it goes
}

}  // namespace

SharedMemory::~SharedMemory() {
  for (auto& [start, block] : blocks_) munmap(start, block.bytes);
}

void* SharedMemory::allocate(size_t bytes, int socket) noexcept {
  if (bytes == 0) return nullptr;
  FileDescriptor memory;
  size_t mapped = bytes;
  void* start = make(mapped, memory);
  if (start == nullptr) return nullptr;
  prefer(start, mapped, socket);
  if (!keep_secret(start, mapped)) {
    munmap(start, mapped);
    return nullptr;
  }
  Block& block = blocks_[start] = {next_id_++, mapped, std::move(memory)};
  if (came) came(start, block);
  return start;
}

void SharedMemory::release(void* block, size_t /*bytes*/) noexcept {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return;
  const uint32_t id = found->second.id;
  wipe(block, found->second.bytes);
  munmap(block, found->second.bytes);
  blocks_.erase(found);
  if (went) went(id);
}

bool SharedMemory::has(const void* start, size_t bytes) const {
  auto next = blocks_.upper_bound(const_cast<void*>(start));
  if (next == blocks_.begin()) return false;
  const auto& [begin, block] = *--next;
  const auto offset =
      static_cast<size_t>(static_cast<const char*>(start) - static_cast<char*>(begin));
  return offset <= block.bytes && bytes <= block.bytes - offset;
}

// What it says of its size is held against the memory's own: beyond its end is a SIGBUS.
SharedView::SharedView(int memory, size_t bytes) noexcept {
  struct stat about {};
  if (fstat(memory, &about) != 0 || static_cast<size_t>(about.st_size) < bytes) return;
  auto* start = static_cast<char*>(map_shared(memory, bytes));
  if (start == nullptr) return;
  if (!keep_secret(start, bytes)) {
    munmap(start, bytes);
    return;
  }
  start_ = start;
  bytes_ = bytes;
}

SharedView::~SharedView() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

}  // namespace hecto::gpu_offload
