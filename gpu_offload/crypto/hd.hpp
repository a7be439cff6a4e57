// Functions for host and device: HD in front of those that both compile.
#pragma once

#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif

// In front of loops whose arrays must live in registers, so whose indices must be constants there.
#ifdef __CUDA_ARCH__
#define HD_UNROLL _Pragma("unroll")
#else
#define HD_UNROLL
#endif
