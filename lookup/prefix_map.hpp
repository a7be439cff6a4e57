// A hash map from IPv4 prefix to group that also finds what lies above a prefix.
//
// Open addressing with linear probes, 8 bytes an entry, at most three quarters full. An exact
// search touches one cache line; the search for the next shorter prefix tries the lengths that the
// map has, all of whose lines are fetched at once. One thread only.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "lookup/fib.hpp"

namespace hecto::lookup {

class PrefixMap {
 public:
  struct Match {
    GroupId group;
    uint8_t length;
  };

  const GroupId* find(const Prefix4& prefix) const {
    const Entry& entry = entries_[slot_of(prefix.address.value, prefix.length)];
    return entry.used ? &entry.group : nullptr;
  }
  // Adds or replaces.
  void put(const Prefix4& prefix, GroupId group) {
    if (size_ >= entries_.size() / 4 * 3) rehash();
    Entry& entry = entries_[slot_of(prefix.address.value, prefix.length)];
    if (!entry.used) {
      ++size_;
      ++of_length_[prefix.length];
    }
    entry = {prefix.address.value, group, prefix.length, true};
  }
  bool erase(const Prefix4& prefix) {
    size_t hole = slot_of(prefix.address.value, prefix.length);
    if (!entries_[hole].used) return false;
    --size_;
    --of_length_[prefix.length];
    // Those behind move up where the hole lies on their way.
    for (size_t at = next(hole); entries_[at].used; at = next(at)) {
      size_t home = home_of(entries_[at].address, entries_[at].length);
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      entries_[hole] = entries_[at];
      hole = at;
    }
    entries_[hole].used = false;
    return true;
  }
  // The longest prefix that is strictly shorter and covers.
  std::optional<Match> parent(const Prefix4& prefix) const {
    for (unsigned length = prefix.length; length-- > 0;) {
      if (of_length_[length] != 0)
        __builtin_prefetch(&entries_[home_of(head_of(prefix, length), length)]);
    }
    for (unsigned length = prefix.length; length-- > 0;) {
      if (of_length_[length] == 0) continue;
      const Entry& entry = entries_[slot_of(head_of(prefix, length), length)];
      if (entry.used) return Match{entry.group, entry.length};
    }
    return std::nullopt;
  }
  size_t size() const { return size_; }

 private:
  struct Entry {
    uint32_t address;
    GroupId group;
    uint8_t length;
    bool used;
  };

  static uint32_t head_of(const Prefix4& prefix, unsigned length) {
    return Prefix4::make(prefix.address, static_cast<uint8_t>(length)).address.value;
  }
  size_t mask() const { return entries_.size() - 1; }
  size_t next(size_t at) const { return (at + 1) & mask(); }
  size_t home_of(uint32_t address, unsigned length) const {
    uint64_t key = uint64_t{address} << 6 | length;
    return key * 0x9e3779b97f4a7c15u >> shift_;
  }
  // Where the prefix is, or where it would go.
  size_t slot_of(uint32_t address, unsigned length) const {
    size_t at = home_of(address, length);
    while (entries_[at].used &&
           (entries_[at].address != address || entries_[at].length != length)) {
      at = next(at);
    }
    return at;
  }
  void rehash() {
    auto old = std::exchange(entries_, std::vector<Entry>(entries_.size() * 2));
    --shift_;
    for (const Entry& entry : old) {
      if (entry.used) entries_[slot_of(entry.address, entry.length)] = entry;
    }
  }

  static constexpr unsigned kFirstBits = 10;
  std::vector<Entry> entries_ = std::vector<Entry>(1u << kFirstBits);
  unsigned shift_ = 64 - kFirstBits;
  size_t size_ = 0;
  std::array<uint32_t, 33> of_length_{};
};

}  // namespace hecto::lookup
