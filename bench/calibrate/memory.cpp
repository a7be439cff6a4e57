#include <fmt/format.h>
#include <numa.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

#include "bench/calibrate/parts.hpp"
#include "bench/lib/statistics.hpp"

namespace hecto::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kBuffer_bytes = 64u << 20;  // of each thread: beyond any last-level cache's share
constexpr size_t kLine_bytes = 64;

// Memory of one node, in large pages where the kernel has them.
class NodeMemory {
 public:
  NodeMemory(size_t bytes, int node) : bytes_(bytes) {
    data_ =
        numa_available() < 0 ? aligned() : static_cast<uint8_t*>(numa_alloc_onnode(bytes, node));
    if (data_ == nullptr) throw std::bad_alloc();
    madvise(data_, bytes, MADV_HUGEPAGE);
    std::memset(data_, 1, bytes);
  }
  ~NodeMemory() { numa_available() < 0 ? std::free(data_) : numa_free(data_, bytes_); }
  NodeMemory(const NodeMemory&) = delete;
  NodeMemory& operator=(const NodeMemory&) = delete;
  uint8_t* data() { return data_; }

 private:
  uint8_t* aligned() { return static_cast<uint8_t*>(std::aligned_alloc(1u << 21, bytes_)); }
  size_t bytes_;
  uint8_t* data_;
};

void pin(unsigned cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

std::vector<unsigned> cpus_of(const config::Topology& topology, int node) {
  std::vector<unsigned> cpus;
  for (const config::Core& core : topology.cores)
    if (core.allowed && core.socket == node) cpus.push_back(core.cpu);
  return cpus;
}

// GB/s that these cpus read and write together, each half of its buffer on the node into the other.
// Each thread ends by itself: under real-time scheduling nobody else might run meanwhile.
double copy_gbyte_s(const std::vector<unsigned>& cpus, int node, std::chrono::milliseconds time) {
  std::barrier ready(static_cast<std::ptrdiff_t>(cpus.size()));
  std::vector<double> gbyte_s(cpus.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < cpus.size(); ++i)
    threads.emplace_back([&, i] {
      pin(cpus[i]);
      NodeMemory buffer(kBuffer_bytes, node);
      constexpr size_t kPart = 1u << 20;
      ready.arrive_and_wait();
      double bytes = 0;
      const auto start = Clock::now();
      for (size_t at = 0; Clock::now() - start < time; at = (at + kPart) % (kBuffer_bytes / 2)) {
        std::memcpy(buffer.data() + kBuffer_bytes / 2 + at, buffer.data() + at, kPart);
        bytes += 2 * kPart;
      }
      const std::chrono::duration<double, std::nano> took = Clock::now() - start;
      gbyte_s[i] = bytes / took.count();
    });
  for (std::thread& thread : threads) thread.join();
  return std::accumulate(gbyte_s.begin(), gbyte_s.end(), 0.0);
}

// ns of a load that waits for the one before, on lines in an order that nothing predicts.
double latency_ns(unsigned cpu, int node, unsigned rounds) {
  std::vector<double> ns;
  std::thread([&] {
    pin(cpu);
    NodeMemory buffer(kBuffer_bytes, node);
    constexpr size_t kLines = kBuffer_bytes / kLine_bytes;
    std::vector<uint32_t> order(kLines);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin() + 1, order.end(), std::mt19937_64(1));
    for (size_t i = 0; i < kLines; ++i)
      std::memcpy(buffer.data() + order[i] * kLine_bytes, &order[(i + 1) % kLines],
                  sizeof(uint32_t));
    uint32_t line = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      constexpr unsigned kLoads = 200'000;
      const auto start = Clock::now();
      for (unsigned i = 0; i < kLoads; ++i)
        std::memcpy(&line, buffer.data() + line * kLine_bytes, sizeof line);
      asm volatile("" : "+r"(line));
      const std::chrono::duration<double, std::nano> time = Clock::now() - start;
      ns.push_back(time.count() / kLoads);
    }
  }).join();
  return quantile(ns, 0.25);
}

struct Memory {
  std::vector<double> gbyte_s, ns;
};

}  // namespace

Result<void> measure_memory(const CalibrateOptions& options, const config::Topology& topology,
                            MeasuredConstants& found) {
  using enum config::Constant;
  const auto time = std::chrono::milliseconds(options.quick ? 50 : 500);
  const unsigned rounds = options.quick ? 3 : 15;
  Memory local, remote;
  for (const int cores : topology.sockets)
    for (const int node : topology.sockets) {
      const auto cpus = cpus_of(topology, cores);
      if (cpus.empty()) continue;
      Memory& memory = cores == node ? local : remote;
      memory.gbyte_s.push_back(copy_gbyte_s(cpus, node, time));
      memory.ns.push_back(latency_ns(cpus.front(), node, rounds));
      found.notes.push_back(
          fmt::format("memory: cores of node {}, memory of node {}: {:.1f} GB/s, "
                      "{:.0f} ns",
                      cores, node, memory.gbyte_s.back(), memory.ns.back()));
    }
  if (local.ns.empty()) return fail("no core of this process lies on any node");
  found.set(kMemorySocketGbyteS, median(local.gbyte_s));
  found.set(kMemoryLatencyLocalNs, median(local.ns));
  if (remote.ns.empty()) {
    found.notes.emplace_back("memory: one node, so nothing remote was measured");
    return {};
  }
  found.set(kMemoryLatencyRemoteNs, median(remote.ns));
  // A copy of remote memory crosses the link once each way.
  found.set(kIntersocketGbyteS, median(remote.gbyte_s) / 2);
  return {};
}

}  // namespace hecto::bench
