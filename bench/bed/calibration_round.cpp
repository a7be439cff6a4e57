#include "bench/bed/calibration_round.hpp"

#include <algorithm>

#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {
namespace {

using enum config::Constant;

enum Frames : size_t { kPlain, kCopied, kSwept };
enum Stage { kReceive, kClassify, kLookup, kRewrite, kTransmit };

constexpr double kLeast_cycles = 0.1;  // no constant is 0

double sampling_cycles(unsigned burst) {
  constexpr unsigned kReads = 1000;
  const uint64_t start = rte_rdtsc();
  for (unsigned i = 0; i < kReads; ++i) rte_rdtsc();
  return static_cast<double>(rte_rdtsc() - start) / kReads / burst;
}

void take_stages(const RoundCycles& cycles, MeasuredConstants& found) {
  struct Family {
    const Slice& slice;
    config::Constant classify, lookup, rewrite;
  };
  const Family families[] = {
      {cycles.ipv4, kClassifyIpv4Cycles, kLookupIpv4Cycles, kRewriteIpv4Cycles},
      {cycles.ipv6, kClassifyIpv6Cycles, kLookupIpv6Cycles, kRewriteIpv6Cycles}};
  double receive = 0, transmit = 0, loop = 0;
  for (const Family& family : families) {
    auto stages = *family.slice.stages;
    double sum = 0;
    for (double& stage : stages) sum += stage -= cycles.sampling;
    found.set(family.classify, stages[kClassify]);
    found.set(family.lookup, stages[kLookup]);
    found.set(family.rewrite, stages[kRewrite]);
    receive += stages[kReceive] / 2;
    transmit += stages[kTransmit] / 2;
    loop += (family.slice.cycles - sum) / 2;
  }
  found.set(kMemoryRxCycles, receive);
  found.set(kMemoryTxCycles, transmit);
  found.set(kLoopCycles, std::max(loop, kLeast_cycles));
}

void take_ports(const RoundCycles& cycles, MeasuredConstants& found) {
  const double bytes = cycles.copy[0] * kLeastFrame_bytes;  // out; in: none
  const double copies = cycles.copied_floor - cycles.floor - bytes;
  const double ports = cycles.swept_floor - cycles.floor;
  const double stages = cycles.swept_ipv4 - cycles.ipv4.cycles - ports;
  found.set(kCopyPacketCycles, std::max(copies / 2, kLeast_cycles));
  found.set(kRefillPortCycles, std::max(ports, kLeast_cycles));
  found.set(kRefillStageCycles, std::max(stages, kLeast_cycles));
}

}  // namespace

std::vector<ReplayFrames> calibration_frames() {
  return {{}, {.copied = true}, {.swept = true}};
}

void take_round(const RoundCycles& cycles, MeasuredConstants& found) {
  take_stages(cycles, found);
  take_ports(cycles, found);
  found.set(kCopyByteCycles, cycles.copy[0]);
  found.set(kCopyByteL2Cycles, cycles.copy[1]);
  found.set(kCopyByteL3Cycles, cycles.copy[2]);
  const CacheSizes caches = cache_sizes();
  found.set(kL1Kbyte, static_cast<double>(caches.l1) / 1024);
  found.set(kL2Kbyte, static_cast<double>(caches.l2) / 1024);
}

CalibrationRounds::CalibrationRounds(Bed& bed, Slices& slices, unsigned burst, bool quick)
    : bed_(bed), slices_(slices), burst_(burst), quick_(quick) {}

std::optional<RoundCycles> CalibrationRounds::run() {
  const unsigned slice_ms = quick_ ? 5 : 20;
  const auto measure = [&](Frames frames, BedWork work) {
    bed_.select_frames(frames);
    return slices_.measure(work, slice_ms);
  };
  RoundCycles cycles;
  cycles.ipv4 = measure(kPlain, BedWork::kIpv4);
  cycles.ipv6 = measure(kPlain, BedWork::kIpv6);
  if (!cycles.ipv4.stages || !cycles.ipv6.stages) return std::nullopt;
  cycles.floor = measure(kPlain, BedWork::kFloor).cycles;
  cycles.copied_floor = measure(kCopied, BedWork::kFloor).cycles;
  cycles.swept_floor = measure(kSwept, BedWork::kFloor).cycles;
  cycles.swept_ipv4 = measure(kSwept, BedWork::kIpv4).cycles;
  cycles.sampling = sampling_cycles(burst_);
  cycles.copy = copies_.measure(quick_ ? 3 : 20);
  return cycles;
}

}  // namespace hecto::bench
