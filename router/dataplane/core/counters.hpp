// Counters with one writer (a worker, or the slow path) and readers in control. A relaxed load and
// store compile to a plain add: no lock prefix, no fence.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

#include "base/net.hpp"
#include "base/reason.hpp"

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

struct alignas(64) PortCounters {
  Counter rx_packets, rx_bytes;
  Counter tx_packets, tx_bytes;
  // Of a kernel interface: longer than a frame of its MTU, and, sampled, how many TCP and UDP
  // checksums were looked at and how many of these were unfinished.
  Counter rx_coalesced, rx_checked, rx_unfinished;
  // Of a bond, sampled: TCP segments whose order was looked at, and how many of these came behind a
  // later one (Reordering).
  Counter rx_segments, rx_reordered;
};

struct InterfaceCounters {
  Counter rx_packets, rx_bytes;
  Counter tx_packets, tx_bytes;
};

struct ExamplePacket {
  InterfaceId interface = 0;                 // kNoInterface: none was found
  PortId port = 0;                           // that received it
  uint16_t ether_type = 0;                   // network order
  std::array<uint64_t, 2> destination = {};  // network order, IPv4 in the first 4 bytes
  bool operator==(const ExamplePacket&) const = default;
};

// The newest packet that met a reason, for `hecto show drops`. Written by one thread, a word at a
// time; the sequence is odd meanwhile. Each word is released and acquired, so that a reader who
// sees one sees the sequence that went before it: plain moves on x86, and no fence to forget.
class Example {
 public:
  void set(const ExamplePacket& packet) noexcept {
    const uint32_t sequence = sequence_.load(std::memory_order_relaxed);
    sequence_.store(sequence + 1, std::memory_order_relaxed);
    words_[0].store(
        packet.interface | uint64_t{packet.port} << 16 | uint64_t{packet.ether_type} << 32,
        std::memory_order_release);
    words_[1].store(packet.destination[0], std::memory_order_release);
    words_[2].store(packet.destination[1], std::memory_order_release);
    sequence_.store(sequence + 2, std::memory_order_release);
  }

  // Nothing when there was none yet, or when it is being replaced.
  std::optional<ExamplePacket> get() const noexcept {
    const uint32_t before = sequence_.load(std::memory_order_acquire);
    if (before == 0 || before % 2 == 1) return std::nullopt;
    const uint64_t meta = words_[0].load(std::memory_order_acquire);
    const std::array<uint64_t, 2> destination = {words_[1].load(std::memory_order_acquire),
                                                 words_[2].load(std::memory_order_acquire)};
    if (sequence_.load(std::memory_order_relaxed) != before) return std::nullopt;
    return ExamplePacket{InterfaceId(meta), PortId(meta >> 16), static_cast<uint16_t>(meta >> 32),
                         destination};
  }

 private:
  std::atomic<uint32_t> sequence_{0};
  std::array<std::atomic<uint64_t>, 3> words_{};
};

// received + fragments + copies = transmitted + punted + dropped holds for their sum over all workers and the slow path.
struct ReasonCounters {
  std::array<Counter, kReasonCount> dropped;
  std::array<Counter, kReasonCount> punted;
  Counter fragments;  // more packets than came in: cut to fit the egress MTU
  Counter copies;     // likewise: for a mirror, those that found no room, too
  std::array<Example, kReasonCount> examples;
};

// How often a thread has been through its loop, and how often of these it found packets.
struct Turns {
  uint64_t all = 0, busy = 0;
};

// Where the cycles go. `busy` covers iterations that moved packets, the rest is idle. `packets` and
// `busy_iterations` count what was received, not what came back from a device.
struct CycleCounters {
  Counter busy, idle;
  Counter iterations, busy_iterations;
  Counter packets;
  std::array<Counter, 5> stage_cycles;  // receive, classify, lookup, rewrite, transmit: sampled
  Counter sampled_packets;
};

}  // namespace hecto::router
