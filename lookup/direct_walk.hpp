// The look-up in a DIR-24-8 arena (direct_layout.hpp), for any CPU. What a destination waits for is
// memory, so loads are prefetched sixteen destinations ahead, and eight answers are packed into one
// vector: the fewer stores and tests, the more loads fit into the CPU's window. A gather needs as
// many loads and was slower; longer distances and blocks were too.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lookup/direct_layout.hpp"

namespace hecto::lookup {
namespace {

constexpr size_t kDirectBlock = 64;  // answers that are looked through for nodes together
constexpr size_t kDirectAhead = 16;  // destinations between prefetch and load

typedef uint16_t EightEntries __attribute__((vector_size(16)));

class DirectWalk {
 public:
  DirectWalk(const uint32_t* arena, const void* destinations, void* groups)
      : root_(reinterpret_cast<const uint16_t*>(arena + DIRECT_ROOT_WORD)),
        nodes_(reinterpret_cast<const uint16_t*>(arena + DIRECT_NODES_WORD)),
        from_(static_cast<const char*>(destinations)),
        to_(static_cast<char*>(groups)) {}

  void run(size_t n) const {
    size_t ready = n & ~size_t{7};
    for (size_t i = 0; i < n && i < kDirectAhead; ++i) prefetch(i);
    for (size_t done = 0; done < ready; done += kDirectBlock) {
      size_t end = ready - done < kDirectBlock ? ready : done + kDirectBlock;
      EightEntries all = {};
      for (size_t i = done; i < end; i += 8) {
        size_t ahead = i + kDirectAhead;
        if (ahead + 8 <= n) {
          for (size_t k = 0; k < 8; ++k) prefetch(ahead + k);
        }
        EightEntries eight = {root(i),     root(i + 1), root(i + 2), root(i + 3),
                              root(i + 4), root(i + 5), root(i + 6), root(i + 7)};
        all |= eight;
        memcpy(to_ + 2 * i, &eight, sizeof(eight));
      }
      if (has_node(all)) descend(done, end);
    }
    for (size_t i = ready; i < n; ++i) put(i, root(i));
    descend(ready, n);
  }

 private:
  static uint16_t load(const uint16_t* at) { return __atomic_load_n(at, __ATOMIC_RELAXED); }
  static bool has_node(EightEntries entries) {
    EightEntries nodes = entries & DIRECT_NODE;
    uint64_t halves[2];
    memcpy(halves, &nodes, sizeof(halves));
    return __builtin_expect((halves[0] | halves[1]) != 0, 0);
  }
  uint32_t destination(size_t i) const {
    uint32_t value;
    memcpy(&value, from_ + 4 * i, sizeof(value));
    return value;
  }
  void prefetch(size_t i) const { __builtin_prefetch(root_ + (destination(i) >> 8)); }
  uint16_t root(size_t i) const { return load(root_ + (destination(i) >> 8)); }
  void put(size_t i, uint16_t group) const { memcpy(to_ + 2 * i, &group, sizeof(group)); }
  // From nodes to their leaves.
  void descend(size_t first, size_t last) const {
    for (size_t i = first; i < last; ++i) {
      uint16_t entry;
      memcpy(&entry, to_ + 2 * i, sizeof(entry));
      if ((entry & DIRECT_NODE) == 0) continue;
      put(i, load(nodes_ + (entry & ~DIRECT_NODE) * DIRECT_NODE_ENTRIES + (destination(i) & 0xff)));
    }
  }

  const uint16_t* root_;
  const uint16_t* nodes_;
  const char* from_;
  char* to_;
};

inline void direct4(const uint32_t* arena, const void* destinations, void* groups, size_t n) {
  DirectWalk(arena, destinations, groups).run(n);
}

}  // namespace
}  // namespace hecto::lookup
