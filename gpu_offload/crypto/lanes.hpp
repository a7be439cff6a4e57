// The lanes that work on one packet together: neighbors in a warp, or one CPU thread in all their
// roles.
//
// A packet's function is written once, for all lanes, as steps: each(f) has every lane run f(lane),
// xor_sum(f) adds up what they return and tells all. What a lane keeps from step to step lies in a
// PerLane, and sync() inside a step keeps reads before it from writes after it.
#pragma once

#include "gpu_offload/crypto/block.hpp"

namespace hecto::gpu_offload::crypto {

// One thread plays the lanes, the last one first: so what a lane reads of lanes before it is not
// yet overwritten, and sync() has nothing to do.
template <uint32_t Width>
struct HostLanes {
  static constexpr uint32_t kWidth = Width;

  template <class T>
  struct PerLane {
    T value[Width];
    T& operator[](uint32_t lane) { return value[lane]; }
  };

  template <class Step>
  void each(Step step) const {
    for (uint32_t lane = Width; lane-- > 0;) step(lane);
  }
  template <class Step>
  Block xor_sum(Step step) const {
    Block sum{};
    each([&](uint32_t lane) { sum = sum ^ step(lane); });
    return sum;
  }
  void sync() const {}
};

#ifdef __CUDACC__

// Each thread is one lane; all lanes of the packet call everything together.
template <uint32_t Width>
struct WarpLanes {
  static constexpr uint32_t kWidth = Width;
  uint32_t lane;     // 0 .. Width - 1
  uint32_t members;  // the packet's lanes in the warp, one bit each

  // Of a thread of a one-dimensional block.
  static __device__ WarpLanes of(uint32_t thread) {
    uint32_t all = Width == 32 ? 0xffffffffu : (1u << Width % 32) - 1;
    return {thread % Width, all << (thread % 32 / Width * Width)};
  }

  template <class T>
  struct PerLane {
    T value;
    HD T& operator[](uint32_t) { return value; }
  };

  template <class Step>
  HD void each(Step step) const {
    step(lane);
  }
  template <class Step>
  HD Block xor_sum(Step step) const {
    Block sum = step(lane);
#ifdef __CUDA_ARCH__
    HD_UNROLL
    for (uint32_t distance = Width / 2; distance > 0; distance /= 2) {
      HD_UNROLL
      for (uint32_t i = 0; i < 4; ++i) {
        sum.word[i] ^= __shfl_xor_sync(members, sum.word[i], distance);
      }
    }
#endif
    return sum;
  }
  HD void sync() const {
#ifdef __CUDA_ARCH__
    __syncwarp(members);
#endif
  }
};

#endif

}  // namespace hecto::gpu_offload::crypto
