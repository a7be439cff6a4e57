// HD in front of functions that run on CPU and GPU: __host__ __device__ where CUDA compiles them.
#pragma once

#ifdef __CUDACC__
#define HD __host__ __device__
#else
#define HD
#endif
