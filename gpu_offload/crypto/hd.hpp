// HD, and what loops over registers need besides.
#pragma once

#include "lookup/hd.hpp"

// In front of loops whose arrays must live in registers, so whose indices must be constants there.
#ifdef __CUDA_ARCH__
#define HD_UNROLL _Pragma("unroll")
#else
#define HD_UNROLL
#endif
