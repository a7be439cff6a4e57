#include "lookup/memory.hpp"

#include <sys/mman.h>

#include <cstdint>

namespace hecto::lookup {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = 2u << 20;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

class SystemMemory final : public Memory {
 public:
  void* allocate(size_t bytes, int /*socket*/) noexcept override {
    if (bytes == 0 || bytes > SIZE_MAX - 2 * kHugePageBytes) return nullptr;
    size_t size = size_of(bytes);
    if (size < kHugePageBytes) return map(size);
    // Mapped with room to spare and trimmed, so that huge pages can start at the first byte.
    auto* start = static_cast<char*>(map(size + kHugePageBytes));
    if (start == nullptr) return nullptr;
    size_t lead = round_up(reinterpret_cast<uintptr_t>(start), kHugePageBytes) -
                  reinterpret_cast<uintptr_t>(start);
    if (lead != 0) munmap(start, lead);
    if (lead != kHugePageBytes) munmap(start + lead + size, kHugePageBytes - lead);
    madvise(start + lead, size, MADV_HUGEPAGE);
    return start + lead;
  }

  void release(void* block, size_t bytes) noexcept override {
    if (block != nullptr) munmap(block, size_of(bytes));
  }

 private:
  // From half a huge page on, whole ones: a part of one would be small pages.
  static size_t size_of(size_t bytes) {
    return round_up(bytes, bytes < kHugePageBytes / 2 ? kPageBytes : kHugePageBytes);
  }
  static void* map(size_t size) {
    void* block = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return block == MAP_FAILED ? nullptr : block;
  }
};

class NoReaders final : public Reclaimer {
 public:
  uint64_t start() noexcept override { return 0; }
  bool passed(uint64_t /*token*/) noexcept override { return true; }
};

}  // namespace

const char* to_string(Error error) noexcept {
  switch (error) {
    case Error::kBadPrefix:
      return "the prefix has host bits set or its length is out of range";
    case Error::kNotFound:
      return "the prefix or route is not in the table";
    case Error::kUnknownGroup:
      return "the next-hop group does not exist";
    case Error::kTableFull:
      return "the table is full";
    case Error::kNoMemory:
      return "no memory";
    case Error::kArenaFull:
      return "no room in the arena: its limit is reached, or there is no memory";
    case Error::kDuplicate:
      return "the prefix or route is in the table already";
    case Error::kUnknownTable:
      return "table that was not created";
    case Error::kBadGroup:
      return "the next-hop group cannot hold that, or is a member of another group";
  }
  return "unknown error";
}

Memory& Memory::system() {
  static SystemMemory memory;
  return memory;
}

Reclaimer& Reclaimer::none() {
  static NoReaders reclaimer;
  return reclaimer;
}

}  // namespace hecto::lookup
