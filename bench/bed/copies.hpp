// What copying frames costs a core: into mbufs and out again, as memory ports do.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hecto::bench {

// Of a core's data caches, as the kernel tells them; small ones where it does not.
struct CacheSizes {
  size_t l1, l2;  // bytes
};
CacheSizes cache_sizes();

// Cycles of a byte, by the cache that a burst's frames fit in: first, second, neither.
using CopyCycles = std::array<double, 3>;

class Copies {
 public:
  Copies();
  CopyCycles measure(unsigned rounds);

 private:
  CacheSizes caches_;
  std::vector<uint8_t> buffers_;
};

}  // namespace hecto::bench
