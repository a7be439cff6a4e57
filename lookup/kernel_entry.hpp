// The functions of one instruction set. Each kernel_*.cpp defines kIsa and what a trie's look-up
// (trie_walk.hpp) is made of, then includes this: count_bits, count_fan (how many of 32 keys are
// below a value), result_of (the group that a ranges line has for a value), sort_by_kind.
#pragma once

#include "lookup/direct_walk.hpp"
#include "lookup/kernels.hpp"
#include "lookup/trie_walk.hpp"

namespace hecto::lookup {
namespace {

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
