// Where a table's look-ups begin, for fetch_ahead.hpp.
#pragma once

#include "lookup/fib.hpp"

namespace hecto::lookup {

// Null where the first load does not follow from the destination alone: in a trie.
const void* first_level(Fib4View view) noexcept;

}  // namespace hecto::lookup
