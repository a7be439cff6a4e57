#include "tests/unit/lookup/emulated_avx512.hpp"
// Made of the above.
#include "lookup/kernel_avx512.cpp"
