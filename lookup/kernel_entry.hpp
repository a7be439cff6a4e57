// The functions of one instruction set. Each kernel_*.cpp defines kIsa and includes this and its
// look-ups.
#pragma once

#include "lookup/kernels.hpp"

namespace hecto::lookup {
namespace {

// Of a DIR-24-8 arena: direct_walk.hpp, direct_gather.hpp.
inline void direct4(const uint32_t* arena, const void* destinations, void* groups, size_t n);
// From a table of a trie arena: trie_walk.hpp, trie_gather.hpp.
inline void walk4(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                  size_t n);
inline void walk6(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                  size_t n);

Isa direct4_kernel(const uint32_t* arena, uint32_t, const void* destinations, void* groups,
                   size_t n) noexcept {
  direct4(arena, destinations, groups, n);
  return kIsa;
}
Isa trie4_kernel(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                 size_t n) noexcept {
  walk4(arena, table, destinations, groups, n);
  return kIsa;
}
Isa trie6_kernel(const uint32_t* arena, uint32_t table, const void* destinations, void* groups,
                 size_t n) noexcept {
  walk6(arena, table, destinations, groups, n);
  return kIsa;
}

}  // namespace
}  // namespace hecto::lookup
