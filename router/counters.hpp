// Counters with one writer (a worker, or the slow path) and readers in control. A relaxed load and
// store compile to a plain add: no lock prefix, no fence.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "router/reason.hpp"

namespace hecto::router {

class Counter {
 public:
  void add(uint64_t n) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

inline constexpr unsigned kMaxPorts = 64;
inline constexpr unsigned kMaxWorkers = 128;
inline constexpr unsigned kMaxInterfaces = 1024;

struct PortCounters {
  Counter rx_packets, rx_bytes;
  Counter tx_packets, tx_bytes;
};

struct InterfaceCounters {
  Counter rx_packets, rx_bytes;
  Counter tx_packets, tx_bytes;
};

// The newest packet that met a reason, for `hecto show drops`. Words are written one by one; the
// sequence is odd while they are.
struct Example {
  std::atomic<uint32_t> sequence{0};
  std::atomic<uint16_t> interface { 0 };
  std::atomic<uint16_t> ether_type{0};
  std::array<std::atomic<uint64_t>, 2> source{};  // network order, IPv4 in the first 4 bytes
  std::array<std::atomic<uint64_t>, 2> destination{};
};

// received = transmitted + punted + dropped holds for their sum over all workers and the slow path.
struct ReasonCounters {
  std::array<Counter, kReasonCount> dropped;
  std::array<Counter, kReasonCount> punted;
  std::array<Example, kReasonCount> examples;
};

// Where the cycles go. `busy` covers iterations that moved packets, the rest is idle.
struct CycleCounters {
  Counter busy, idle;
  Counter iterations, busy_iterations;
  Counter packets;
  std::array<Counter, 5> stage_cycles;  // receive, classify, lookup, rewrite, transmit: sampled
  Counter sampled_packets;
};

}  // namespace hecto::router
