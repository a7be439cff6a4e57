#include "bench/bed/copies.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "bench/bed/replay.hpp"
#include "bench/lib/fit.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr size_t kRoom_bytes = 128 + 128;  // an mbuf's header and headroom
constexpr unsigned kCopies = 3200;         // each way, of one time that is taken
constexpr double kLeastCycles = 1e-4;      // cycles a byte: no constant is 0

// Cycles of one copy of `bytes`, out of a hot frame into each of `count` buffers and back out
// again: what two memory ports do to a packet that is forwarded. The mean: a core that is lent out
// now and then is as slow for copies as for packets.
double copy_cycles(std::vector<uint8_t>& buffers, size_t bytes, size_t count) {
  static std::array<uint8_t, kLargestFrame_bytes> frame, sink;
  const size_t stride = (kRoom_bytes + bytes + 63) / 64 * 64;
  const size_t passes = std::max<size_t>(1, kCopies / count);
  const uint64_t start = rte_rdtsc();
  for (size_t pass = 0; pass < passes; ++pass) {
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(&buffers[i * stride + kRoom_bytes], frame.data(), bytes);
      asm volatile("" ::: "memory");
    }
    for (size_t i = 0; i < count; ++i) {
      std::memcpy(sink.data(), &buffers[i * stride + kRoom_bytes], bytes);
      asm volatile("" ::: "memory");
    }
  }
  return static_cast<double>(rte_rdtsc() - start) / static_cast<double>(2 * passes * count);
}

}  // namespace

CacheSizes cache_sizes() {
  const long l1 = sysconf(_SC_LEVEL1_DCACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return {l1 > 0 ? static_cast<size_t>(l1) : 32 << 10,
          l2 > 0 ? static_cast<size_t>(l2) : 512 << 10};
}

Copies::Copies() : caches_(cache_sizes()), buffers_(4 * caches_.l2) {}

CopyCycles Copies::measure(unsigned rounds) {
  // Half of the first level, four times the first, twice the second: each is far from where one
  // level ends.
  const auto mean = [&](size_t bytes, size_t all_bytes) {
    double sum = 0;
    for (unsigned round = 0; round < rounds; ++round)
      sum += copy_cycles(buffers_, bytes, std::max<size_t>(1, all_bytes / bytes)) / rounds;
    return sum;
  };
  const auto [l1, l2] = caches_;
  const size_t near = l1 / 2, middle = std::min(4 * l1, l2 / 2), far = 2 * l2;
  const Line line =
      fit({64, 128, 192, 256}, {mean(64, near), mean(128, near), mean(192, near), mean(256, near)});
  const auto byte = [&](size_t bytes, size_t all_bytes) {
    return std::max((mean(bytes, all_bytes) - line.at_zero) / static_cast<double>(bytes),
                    kLeastCycles);
  };
  return {std::max(line.slope, kLeastCycles), (byte(1024, middle) + byte(1518, middle)) / 2,
          byte(kLargestFrame_bytes, far)};
}

}  // namespace hecto::bench
