#include "router/dataplane/filter/counter_slots.hpp"

#include <sys/mman.h>

#include "router/dataplane/filter/filter_tables.hpp"

namespace hecto::router {

CounterSlots::~CounterSlots() {
  for (const Page& page : pages_) munmap(page.cells, page_bytes());
}

Result<uint32_t> CounterSlots::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty()) {
    void* const cells =
        mmap(nullptr, page_bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (cells == MAP_FAILED) return fail("filters: no memory for their counters", errno);
    const auto first = static_cast<uint32_t>(owners_.size());
    pages_.push_back(
        {static_cast<CounterCell*>(cells), std::make_unique<Page::Base[]>(kPageSlots)});
    owners_.resize(owners_.size() + kPageSlots);
    for (uint32_t slot = first + kPageSlots; slot > first; --slot) free_.push_back(slot - 1);
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  owners_[slot] = 1;
  const FilterCount now = raw(slot);
  pages_[slot >> kPageBits].bases[slot % kPageSlots] = {now.packets, now.bytes};
  return slot;
}

void CounterSlots::keep(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  ++owners_[slot];
}

void CounterSlots::give_back(std::span<const uint32_t> slots) {
  const std::lock_guard lock(mutex_);
  for (const uint32_t slot : slots)
    if (--owners_[slot] == 0) free_.push_back(slot);
}

FilterCount CounterSlots::raw(uint32_t slot) const {
  FilterCount sum;
  const CounterCell* cell = pages_[slot >> kPageBits].cells + slot % kPageSlots;
  for (unsigned thread = 0; thread < threads_; ++thread, cell += kPageSlots) {
    sum.packets += cell->packets.get();
    sum.bytes += cell->bytes.get();
  }
  return sum;
}

FilterCount CounterSlots::count(uint32_t slot) const {
  const std::lock_guard lock(mutex_);
  const FilterCount now = raw(slot);
  const Page::Base& base = pages_[slot >> kPageBits].bases[slot % kPageSlots];
  return {now.packets - base.packets, now.bytes - base.bytes};
}

void CounterSlots::begin_with(uint32_t slot, const FilterCount& count) {
  const std::lock_guard lock(mutex_);
  Page::Base& base = pages_[slot >> kPageBits].bases[slot % kPageSlots];
  base.packets -= count.packets;  // modulo 2^64, as count() subtracts it
  base.bytes -= count.bytes;
}

std::vector<CounterCell*> CounterSlots::pages(unsigned thread) const {
  const std::lock_guard lock(mutex_);
  std::vector<CounterCell*> out;
  for (const Page& page : pages_) out.push_back(page.cells + size_t{thread} * kPageSlots);
  return out;
}

uint64_t CounterSlots::bytes() const {
  const std::lock_guard lock(mutex_);
  return pages_.size() * (page_bytes() + kPageSlots * sizeof(Page::Base));
}

}  // namespace hecto::router
