#include "lookup/pool.hpp"

#include <sys/mman.h>

#include <algorithm>

namespace hecto::lookup {
namespace {

constexpr size_t kPageBytes = 4096;
constexpr size_t kHugePageBytes = 2u << 20;

size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Addresses without memory behind them, so placed that huge pages can begin at the first byte.
void* reserve_addresses(size_t bytes) {
  void* block = mmap(nullptr, bytes + kHugePageBytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (block == MAP_FAILED) return nullptr;
  auto* start = static_cast<char*>(block);
  size_t lead = round_up(reinterpret_cast<uintptr_t>(start), kHugePageBytes) -
                reinterpret_cast<uintptr_t>(start);
  if (lead != 0) munmap(start, lead);
  if (lead != kHugePageBytes) munmap(start + lead + bytes, kHugePageBytes - lead);
  return start + lead;
}

void* map(size_t bytes) {
  int fixed = 0;
  void* place = nullptr;
  if (bytes >= kHugePageBytes) {
    place = reserve_addresses(bytes);
    if (place == nullptr) return nullptr;
    fixed = MAP_FIXED;
  }
  void* block =
      mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
  if (block != MAP_FAILED) return block;
  if (place != nullptr) munmap(place, bytes);
  return nullptr;
}

void* remap(void* old, size_t old_bytes, size_t bytes) {
  void* block = mremap(old, old_bytes, bytes, 0);  // in place, where nothing lies behind
  if (block != MAP_FAILED) return block;
  if (bytes < kHugePageBytes) {
    block = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE);
    return block == MAP_FAILED ? nullptr : block;
  }
  void* place = reserve_addresses(bytes);
  if (place == nullptr) return nullptr;
  block = mremap(old, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place);
  if (block != MAP_FAILED) return block;
  munmap(place, bytes);
  return nullptr;
}

}  // namespace

GrowingPages::~GrowingPages() {
  if (start_ != nullptr) munmap(start_, bytes_);
}

bool GrowingPages::grow_to_hold(size_t bytes) noexcept {
  size_t unit = bytes < kHugePageBytes ? kPageBytes : kHugePageBytes;
  size_t step = bytes < kHugePageBytes ? bytes_ / 2 : bytes_ / 32;
  size_t wanted = round_up(std::max(bytes, bytes_ + step), unit);
  void* start = start_ == nullptr ? map(wanted) : remap(start_, bytes_, wanted);
  if (start == nullptr) return false;
  if (wanted >= kHugePageBytes) madvise(start, wanted, MADV_HUGEPAGE);
  start_ = start;
  bytes_ = wanted;
  return true;
}

}  // namespace hecto::lookup
