// The readers' half of the flow table.
#include "router/dataplane/flow/flow_table.hpp"

namespace hecto::router {

template <typename Key>
[[gnu::noinline]] uint32_t FlowTable<Key>::search(const MaskView& mask, const Key& key,
                                                  uint64_t hash) const noexcept {
  const uint32_t first = line_of(hash, mask.shift);
  const uint16_t signature = FlowLine::signature(hash);
  const auto in_line = [&](const FlowLine& line) -> uint32_t {
    for (unsigned slots = line.slots_of(signature); slots != 0; slots &= slots - 1) {
      const uint32_t index =
          line.entries[static_cast<unsigned>(__builtin_ctz(slots))].load(std::memory_order_acquire);
      if (index != 0 && same_flow(key, mask.mask, entries_[index].key)) return index;
    }
    return 0;
  };
  const FlowLine& one = mask.lines[first];
  const uint32_t found = in_line(one);
  if (found != 0 || one.elsewhere.load(std::memory_order_acquire) == 0) return found;
  return in_line(mask.lines[second_of(hash, first, mask.last)]);
}

// Mask by mask, and of each in three passes, so that no packet waits for a line of its own: which line;
// which entry; is it the key's.
template <typename Key>
void FlowTable<Key>::find(const MaskList& list, const Key* keys, unsigned n, const FlowCell* cells,
                          uint32_t* found) const noexcept {
  uint8_t left[kFlowGroup];     // who still looks
  uint64_t hashes[kFlowGroup];  // by place in `left`
  uint32_t candidates[kFlowGroup];
  for (unsigned i = 0; i < n; ++i) {
    found[i] = 0;
    left[i] = static_cast<uint8_t>(i);
  }
  unsigned count = n;
  for (uint32_t m = 0; m < list.count && count > 0; ++m) {
    const MaskView& mask = list.masks[m];
    for (unsigned j = 0; j < count; ++j) {
      hashes[j] = flow_hash_of(keys[left[j]], mask.mask, options_.seed);
      __builtin_prefetch(mask.lines + line_of(hashes[j], mask.shift));
    }
    for (unsigned j = 0; j < count; ++j) {
      const FlowLine& line = mask.lines[line_of(hashes[j], mask.shift)];
      const unsigned slots = line.slots_of(FlowLine::signature(hashes[j]));
      const uint32_t index = slots == 0
                                 ? 0
                                 : line.entries[static_cast<unsigned>(__builtin_ctz(slots))].load(
                                       std::memory_order_acquire);
      // None with that signature, and none elsewhere: it has no entry.
      const bool elsewhere = line.elsewhere.load(std::memory_order_acquire) != 0;
      candidates[j] = index != 0 ? index : (slots != 0 || elsewhere) ? UINT32_MAX : 0;
      if (index == 0) continue;
      __builtin_prefetch(entries_ + index);
      if constexpr (sizeof(Entry) > 64)
        __builtin_prefetch(reinterpret_cast<const char*>(entries_ + index) + 64);
      if (cells != nullptr) __builtin_prefetch(cells + index, 1);
    }
    const bool last = m + 1 == list.count;
    const uint32_t next_highest = last ? 0 : list.masks[m + 1].highest;
    unsigned kept = 0;
    for (unsigned j = 0; j < count; ++j) {
      const unsigned i = left[j];
      uint32_t index = candidates[j];
      if (index != 0 &&
          (index == UINT32_MAX || !same_flow(keys[i], mask.mask, entries_[index].key)))
        index = search(mask, keys[i], hashes[j]);
      if (index != 0 && (found[i] == 0 || entries_[index].priority > entries_[found[i]].priority))
        found[i] = index;
      if (!last && (found[i] == 0 || entries_[found[i]].priority < next_highest))
        left[kept++] = static_cast<uint8_t>(i);
    }
    count = kept;
  }
}

template uint32_t FlowTable<FilterKey4>::search(const MaskView&, const FilterKey4&,
                                                uint64_t) const noexcept;
template uint32_t FlowTable<FilterKey6>::search(const MaskView&, const FilterKey6&,
                                                uint64_t) const noexcept;
template void FlowTable<FilterKey4>::find(const MaskList&, const FilterKey4*, unsigned,
                                          const FlowCell*, uint32_t*) const noexcept;
template void FlowTable<FilterKey6>::find(const MaskList&, const FilterKey6*, unsigned,
                                          const FlowCell*, uint32_t*) const noexcept;

}  // namespace hecto::router
