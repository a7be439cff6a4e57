// Which interface a frame's tags mean, where it has two, or one of 802.1ad: open addressing in one
// array, at most half full. Made by control, read by any number of workers; never changes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/net.hpp"

namespace hecto::router {

struct TagSlot {
  static constexpr uint32_t kFree = 0xffffffff;
  uint32_t key = kFree;
  InterfaceId interface = kNoInterface;
};

// What a worker needs of a TagTable, in registers; by itself one that is empty.
struct TagView {
  static constexpr uint32_t kSpread = 0x9e3779b1;  // Knuth, TAOCP 3, section 6.4
  static constexpr TagSlot kEmpty[2] = {};
  const TagSlot* slots = kEmpty;
  uint32_t mask = 1;
  unsigned shift = 31;

  // The key's slot, or a free one.
  const TagSlot* at(uint32_t key) const noexcept {
    uint32_t place = key * kSpread >> shift;
    while (slots[place].key != key && slots[place].key != TagSlot::kFree)
      place = (place + 1) & mask;
    return &slots[place];
  }
  InterfaceId find(uint32_t key) const noexcept { return at(key)->interface; }
};

class TagTable {
 public:
  using Entry = std::pair<VlanTags, InterfaceId>;
  // Of equal tags the first counts.
  explicit TagTable(std::span<const Entry> entries)
      : slots_(std::max<size_t>(kFewest, std::bit_ceil(4 * entries.size()))) {
    for (const auto& [tags, interface] : entries) {
      put(key(tags), interface);
      // Found, so that others within this tag are known to be none of ours.
      if (tags.count() == 2) put(key_of_two(tags.service, tags.outer_vlan, kNoVlan), kNoInterface);
    }
  }

  // Of the VLANs as they stand in the tags. One inside that is 0 is in no table.
  static constexpr uint32_t key_of_one(bool service, unsigned vlan) noexcept {
    return uint32_t{service} << 24 | vlan << 12;
  }
  static constexpr uint32_t key_of_two(bool service, unsigned outer, unsigned inner) noexcept {
    return 1u << 25 | key_of_one(service, outer) | inner;
  }
  static constexpr uint32_t key(const VlanTags& tags) noexcept {
    return tags.outer_vlan == 0 ? key_of_one(tags.service, tags.vlan)
                                : key_of_two(tags.service, tags.outer_vlan, tags.vlan);
  }

  TagView view() const noexcept {
    const auto bits = static_cast<unsigned>(std::countr_zero(slots_.size()));
    return {slots_.data(), static_cast<uint32_t>(slots_.size() - 1), 32 - bits};
  }
  InterfaceId find(const VlanTags& tags) const noexcept { return view().find(key(tags)); }
  // Whether there is an interface with two tags of which this one is the outer.
  bool has_within(bool service, unsigned outer) const noexcept {
    return view().at(key_of_two(service, outer, kNoVlan))->key != TagSlot::kFree;
  }

 private:
  static constexpr unsigned kNoVlan = 4095;  // that no tag may have
  static constexpr size_t kFewest = 16;

  void put(uint32_t key, InterfaceId interface) noexcept {
    TagSlot& slot = slots_[static_cast<size_t>(view().at(key) - slots_.data())];
    if (slot.key == TagSlot::kFree) slot = {key, interface};
  }

  std::vector<TagSlot> slots_;
};

}  // namespace hecto::router
