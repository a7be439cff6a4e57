// What the first fragment of a packet said, for those that follow: four of a set, the oldest goes.
// RFC 4787 REQ-14 asks for fragments in order; those that come before their first are not held.
// One thread.
#pragma once

#include "router/dataplane/nat/bucket_index.hpp"
#include "router/dataplane/nat/ipv4_packet.hpp"

namespace hecto::router::nat {

// As the headers give them.
struct FragmentKey {
  uint32_t source = 0, destination = 0;
  uint16_t id = 0;
  uint8_t protocol = 0;
  uint8_t asked = 0;  // what the value says: see who asks; not 0
  bool operator==(const FragmentKey&) const = default;
};

inline FragmentKey fragment_key(const uint8_t* ip, uint8_t asked) noexcept {
  return {load32_native(ip + 12), load32_native(ip + 16), load16_native(ip + 4), ip[9], asked};
}

class Fragments {
 public:
  static constexpr uint32_t kLifetime_s = 15;

  bool create(lookup::Memory& memory, int socket) noexcept {
    return entries_.create(kSets * kWays, memory, socket);
  }
  uint64_t bytes() const noexcept { return entries_.bytes(); }

  void remember(const FragmentKey& key, uint32_t value, uint32_t serial, uint32_t now_s) noexcept {
    Entry* const set = set_of(key);
    Entry* place = set;
    for (unsigned i = 0; i < kWays; ++i) {
      if (set[i].key == key || set[i].key.asked == 0) {
        place = &set[i];
        break;
      }
      if (now_s - set[i].seen_s > now_s - place->seen_s) place = &set[i];
    }
    *place = {key, value, serial, now_s};
  }
  struct Said {
    uint32_t value = kNobody, serial = 0;
  };
  Said find(const FragmentKey& key, uint32_t now_s) noexcept {
    Entry* const set = set_of(key);
    for (unsigned i = 0; i < kWays; ++i)
      if (set[i].key == key && now_s - set[i].seen_s <= kLifetime_s)
        return {set[i].value, set[i].serial};
    return {};
  }

 private:
  static constexpr unsigned kSets = 256, kWays = 4;
  struct Entry {
    FragmentKey key;
    uint32_t value, serial, seen_s;
  };
  Entry* set_of(const FragmentKey& key) noexcept {
    const uint64_t mixed = (uint64_t{key.source} << 32 | key.destination) ^
                           uint64_t { key.id } * 0x9e3779b97f4a7c15u ^ key.protocol;
    return &entries_[(mixed * 0xd6e8feb86659fd93u >> 56) % kSets * kWays];
  }

  FixedArray<Entry> entries_;
};

}  // namespace hecto::router::nat
