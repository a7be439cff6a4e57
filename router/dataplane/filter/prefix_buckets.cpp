#include "router/dataplane/filter/prefix_buckets.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <new>
#include <utility>

namespace hecto::router {

// At once, so that those of a long set lie on few of the machine's pages.
bool PrefixBuckets::grow(size_t buckets) {
  const size_t pages = (buckets + kPageBuckets - 1) >> kPageBits;
  const size_t bytes = pages * kPageBuckets * sizeof(PrefixBucket);
  lookup::MemoryBlock block(lookup::Memory::system(), bytes, 0);
  auto* const at = block.as<PrefixBucket>();
  if (at == nullptr) return false;
  blocks_.push_back(std::move(block));
  for (size_t page = 0; page < pages; ++page)
    pages_.push_back({at + page * kPageBuckets, &exceeded_.emplace_back(false)});
  return true;
}

Result<void> PrefixBuckets::take(std::span<uint32_t> numbers) {
  const std::lock_guard lock(mutex_);
  const size_t room = pages_.size() * kPageBuckets - owners_.size() + free_.size();
  if (numbers.size() > room && !grow(numbers.size() - room))
    return fail(fmt::format("no memory for the buckets of {} prefixes, {} MiB", numbers.size(),
                            numbers.size() * sizeof(PrefixBucket) >> 20),
                ENOMEM);
  for (uint32_t& number : numbers) {
    if (!free_.empty()) {
      number = free_.back();
      free_.pop_back();
    } else {
      number = static_cast<uint32_t>(owners_.size());
      owners_.push_back(0);
    }
    owners_[number] = 1;
    new (&pages_[number >> kPageBits].buckets[number % kPageBuckets]) PrefixBucket(profile_);
  }
  return {};
}

void PrefixBuckets::keep(std::span<const uint32_t> numbers) {
  const std::lock_guard lock(mutex_);
  for (const uint32_t number : numbers) ++owners_[number];
}

void PrefixBuckets::give_back(std::span<const uint32_t> numbers) {
  const std::lock_guard lock(mutex_);
  for (const uint32_t number : numbers)
    if (--owners_[number] == 0) free_.push_back(number);
}

std::vector<PrefixBuckets::Page> PrefixBuckets::pages() const {
  const std::lock_guard lock(mutex_);
  return pages_;
}

uint64_t PrefixBuckets::bytes() const {
  const std::lock_guard lock(mutex_);
  uint64_t sum = 0;
  for (const lookup::MemoryBlock& block : blocks_) sum += block.bytes();
  return sum;
}

}  // namespace hecto::router
