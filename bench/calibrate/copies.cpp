#include <array>
#include <cstring>
#include <vector>

#include "bench/calibrate/fit.hpp"
#include "bench/calibrate/parts.hpp"
#include "bench/statistics.hpp"
#include "router/dpdk.hpp"

namespace hecto::bench {
namespace {

constexpr unsigned kBurst = 64;
constexpr size_t kBuffer_bytes = 2048 + 128 + 128;  // an mbuf: header, headroom, data
constexpr std::array<unsigned, 6> kSizes = {64, 128, 256, 512, 1024, 1518};

// Cycles of one copy of `bytes`, out of a hot frame into each buffer of a burst and back out again:
// what two memory ports do to a packet that is forwarded.
double copy_cycles(std::vector<uint8_t>& buffers, unsigned bytes, unsigned rounds) {
  static std::array<uint8_t, kBuffer_bytes> frame, sink;
  std::vector<double> cycles;
  for (unsigned round = 0; round < rounds; ++round) {
    constexpr unsigned kPasses = 50;
    const uint64_t start = rte_rdtsc();
    for (unsigned pass = 0; pass < kPasses; ++pass) {
      for (unsigned i = 0; i < kBurst; ++i) {
        std::memcpy(&buffers[i * kBuffer_bytes + 256], frame.data(), bytes);
        asm volatile("" ::: "memory");
      }
      for (unsigned i = 0; i < kBurst; ++i) {
        std::memcpy(sink.data(), &buffers[i * kBuffer_bytes + 256], bytes);
        asm volatile("" ::: "memory");
      }
    }
    cycles.push_back(static_cast<double>(rte_rdtsc() - start) / (2.0 * kPasses * kBurst));
  }
  return quantile(cycles, 0.25);  // what other work adds is no part of it
}

}  // namespace

router::Result<void> measure_copies(const CalibrateOptions& options, Found& found) {
  std::vector<uint8_t> buffers(kBurst * kBuffer_bytes);
  std::vector<double> bytes, cycles;
  for (const unsigned size : kSizes) {
    bytes.push_back(size);
    cycles.push_back(copy_cycles(buffers, size, options.quick ? 15 : 151));
  }
  const Line line = fit(bytes, cycles);
  found.set(config::Constant::kCopyPacketCycles, std::max(line.at_zero, 0.1));
  found.set(config::Constant::kCopyByteCycles, line.slope);
  return {};
}

}  // namespace hecto::bench
