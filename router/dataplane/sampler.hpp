// Totals of all counters, and rates from two samples a second apart. Control only.
#pragma once

#include <array>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/net.hpp"
#include "base/punt_class.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/thread_time.hpp"

namespace hecto::router {

class Dataplane;

struct TrafficTotals {
  uint64_t rx_packets = 0, rx_bytes = 0, tx_packets = 0, tx_bytes = 0;
  // Of ports: PortCounters.
  uint64_t rx_coalesced = 0, rx_checked = 0, rx_unfinished = 0, rx_segments = 0, rx_reordered = 0;
};

struct WorkerTotals {
  uint64_t packets = 0, busy = 0, idle = 0, iterations = 0, busy_iterations = 0;
  std::array<uint64_t, 5> stage_cycles{};
  uint64_t sampled_packets = 0;
  std::optional<ThreadTime> time;  // of its thread, where the kernel tells
};

// Of a second between two samples, what a worker's thread had, and what it was kept waiting for.
struct CpuShare {
  double ran_percent = 0, waited_percent = 0;
};

// Packets by the interface that they came in by, where any did; kNoInterface: none was found.
using InterfaceShares = std::map<InterfaceId, uint64_t>;

struct PuntClassTotals {
  uint64_t passed = 0, dropped = 0;
  InterfaceShares dropped_at;
};

struct Totals {
  std::chrono::steady_clock::time_point time;
  std::array<TrafficTotals, kMaxPorts> ports{};
  std::vector<TrafficTotals> interfaces;
  std::vector<WorkerTotals> workers;
  std::array<uint64_t, kReasonCount> dropped{};  // workers and slow path
  std::array<uint64_t, kReasonCount> punted{};   // delivered to Linux
  // Of the two above what is known of interfaces.
  std::array<InterfaceShares, kReasonCount> dropped_at, punted_at;
  std::array<PuntClassTotals, kPuntClassCount> punt_classes;
  uint64_t received = 0, transmitted = 0;
  uint64_t injected = 0, injected_handed = 0;

  uint64_t dropped_total() const;
  uint64_t punted_total() const;
};

Totals collect(const Dataplane& dataplane);

class Sampler {
 public:
  explicit Sampler(const Dataplane& dataplane);
  explicit Sampler(std::function<Totals()> collect);
  Totals collect() const { return settled(collect_()); }  // as of now
  void sample();                                          // about once a second
  const Totals& now() const { return now_; }
  const Totals& before() const { return before_; }
  // Per second between the two samples.
  uint64_t rate(uint64_t now, uint64_t before) const;
  std::optional<CpuShare> cpu_share(unsigned worker) const;
  // A number that is used again starts from zero. What was dropped and punted of an interface before
  // stays, and is nobody's (kNoInterface).
  void reset_port(PortId port);
  void reset_interface(InterfaceId id);
  Totals settled(Totals totals) const;  // so, of what router::collect() says
  TrafficTotals interface(const Totals& totals, InterfaceId id) const;
  TrafficTotals port(const Totals& totals, PortId port) const;

 private:
  const std::function<Totals()> collect_;
  Totals now_, before_;
  std::array<TrafficTotals, kMaxPorts> base_{};
  std::array<TrafficTotals, kMaxInterfaces> base_interfaces_{};
  std::vector<InterfaceShares> past_;  // of each of Totals: what is nobody's, by number
  double seconds_ = 1;
};

}  // namespace hecto::router
