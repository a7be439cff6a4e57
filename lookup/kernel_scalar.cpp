// Look-ups for any CPU. What a destination waits for is memory, so many are in flight at once:
// first the addresses of all, then the loads.
#include <string.h>

#include "lookup/kernels.hpp"
#include "lookup/walk.hpp"

namespace hecto::lookup {
namespace {

constexpr size_t kBlock4 = 16;
constexpr size_t kAhead4 = 32;  // destinations between prefetch and load
constexpr size_t kBlock6 = 32;

inline uint32_t load32(const char* from) {
  uint32_t value;
  memcpy(&value, from, sizeof(value));
  return value;
}
inline void store16(char* to, uint32_t value) {
  uint16_t half = static_cast<uint16_t>(value);
  memcpy(to, &half, sizeof(half));
}
inline uint32_t entry16(const uint16_t* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
inline uint32_t entry32(const uint32_t* at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}

}  // namespace

Isa lookup4_scalar(const uint32_t* arena, const void* destinations, void* groups,
                   size_t n) noexcept {
  auto* root = reinterpret_cast<const uint16_t*>(arena + LOOKUP_ROOT_WORD);
  auto* nodes = reinterpret_cast<const uint16_t*>(arena + LOOKUP_NODES_WORD4);
  auto* from = static_cast<const char*>(destinations);
  auto* to = static_cast<char*>(groups);
  auto destination = [&](size_t i) { return load32(from + 4 * i); };
  auto prefetch = [&](size_t i) { __builtin_prefetch(root + (destination(i) >> 8)); };
  auto extended = [&](size_t i, uint32_t entry) {
    return entry16(nodes + (entry & ~LOOKUP_EXTENDED4) * LOOKUP_NODE_ENTRIES +
                   (destination(i) & 0xff));
  };
  for (size_t i = 0; i < n && i < kAhead4; ++i) prefetch(i);
  size_t done = 0;
  for (; done + kBlock4 + kAhead4 <= n; done += kBlock4) {
    uint32_t entries[kBlock4];
    uint32_t all = 0;
    for (size_t i = 0; i < kBlock4; ++i) {
      prefetch(done + kAhead4 + i);
      entries[i] = entry16(root + (destination(done + i) >> 8));
      all |= entries[i];
      store16(to + 2 * (done + i), entries[i]);
    }
    if (__builtin_expect((all & LOOKUP_EXTENDED4) == 0, 1)) continue;
    for (size_t i = 0; i < kBlock4; ++i) {
      if ((entries[i] & LOOKUP_EXTENDED4) == 0) continue;
      store16(to + 2 * (done + i), extended(done + i, entries[i]));
    }
  }
  for (; done < n; ++done) {
    uint32_t entry = entry16(root + (destination(done) >> 8));
    if ((entry & LOOKUP_EXTENDED4) != 0) entry = extended(done, entry);
    store16(to + 2 * done, entry);
  }
  return Isa::kScalar;
}

Isa lookup6_scalar(const uint32_t* arena, const void* destinations, void* groups,
                   size_t n) noexcept {
  const uint32_t* root = arena + LOOKUP_ROOT_WORD;
  const uint32_t* nodes = arena + LOOKUP_NODES_WORD6;
  auto* from = static_cast<const unsigned char*>(destinations);
  auto* to = static_cast<char*>(groups);
  for (size_t done = 0; done < n; done += kBlock6) {
    size_t count = n - done < kBlock6 ? n - done : kBlock6;
    const uint32_t* at[kBlock6];  // where the next entry of each destination lies
    uint32_t active[kBlock6];     // those that are not at a leaf yet
    for (size_t i = 0; i < count; ++i) {
      uint32_t first = __builtin_bswap32(load32(reinterpret_cast<const char*>(from + 16 * i)));
      at[i] = root + (first >> 8);
      active[i] = static_cast<uint32_t>(i);
      __builtin_prefetch(at[i]);
    }
    size_t left = count;
    for (const unsigned char* byte = from + 3; left != 0; ++byte) {
      size_t next = 0;
      for (size_t k = 0; k < left; ++k) {
        uint32_t i = active[k];
        uint32_t entry = entry32(at[i]);
        store16(to + 2 * i, entry);
        // What a leaf would lead to lies outside, of the nodes and, at the last level, of the
        // address: it takes node 0 and the first byte instead, without a branch.
        bool deeper = (entry & LOOKUP_EXTENDED6) != 0;
        uint32_t node = deeper ? entry & ~LOOKUP_EXTENDED6 : 0;
        at[i] = nodes + size_t{node} * LOOKUP_NODE_ENTRIES + (deeper ? byte : from)[16 * i];
        if (deeper) __builtin_prefetch(at[i]);
        active[next] = i;
        next += deeper;
      }
      left = next;
    }
    from += 16 * kBlock6;
    to += 2 * kBlock6;
  }
  return Isa::kScalar;
}

}  // namespace hecto::lookup
