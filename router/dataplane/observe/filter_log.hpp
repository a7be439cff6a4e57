// What rules of `log: true` hold for, by flow, on its way to the log.
//
//   worker 0 ─► FilterLogTap: flows, ring ─┐
//   worker 1 ─► FilterLogTap ──────────────┴─► control (FilterLog) ─► log
//
// A worker has a table of flows. A flow is told with its packets a second after its first one, then each ten
// seconds as long as some came; one of which none came is forgotten. Four places are a flow's by its hash,
// three of them at most of one rule, so that what floods one does not hide the others. A packet that finds
// no place is counted as untold; a flow that finds no room in the ring, as lost.
//
// note(), tick() and report_all() by one thread, its ring by one reader; counters by any.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/reason.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/filter/filter_place.hpp"
#include "router/dataplane/observe/ring.hpp"

namespace hecto::router {

// Packets alike in all of it are one flow.
struct FilterLogKey {
  enum Bits : uint8_t {
    kSix = 1,
    kPorts = 2,
    kLater = 4
  };  // IPv6; ports are there; a later fragment

  std::array<uint8_t, 16> source{}, destination{};  // network order, IPv4 in the first 4 bytes
  uint32_t slot = 0;                                // of the rule's counters
  uint16_t source_port = 0;                         // of ICMP type and code
  uint16_t destination_port = 0;
  uint16_t interface = 0;  // that it came in by
  uint8_t protocol = 0;
  uint8_t bits = 0;
  Reason reason = Reason::kNone;  // kNone: it went on
  FilterPlace place = FilterPlace::kIn;
  uint16_t zero = 0;
  bool operator==(const FilterLogKey&) const = default;
};
static_assert(sizeof(FilterLogKey) == 48 && std::has_unique_object_representations_v<FilterLogKey>);

// An entry of a ring.
struct FilterLogRecord {
  FilterLogKey key;
  uint64_t packets = 0;
};

class FilterLogTap {
 public:
  static constexpr unsigned kWays = 4, kSets = 256, kFlows = kWays * kSets;
  static constexpr unsigned kWaysOfARule = 3;
  static constexpr size_t kRing_bytes = 128 << 10;  // all flows and half as many again

  explicit FilterLogTap(uint64_t tsc_hz);

  void note(const FilterLogKey& key, uint64_t now) noexcept;
  void tick(uint64_t now) noexcept;  // each poll; tells of flows whose time has come
  void report_all() noexcept;        // of all, and forgets them: rules are others from here on

  CaptureRing& ring() noexcept { return ring_; }
  const Counter& untold() const noexcept { return untold_; }              // packets
  const Counter& lost_flows() const noexcept { return lost_flows_; }      // told, but for the ring
  const Counter& lost_packets() const noexcept { return lost_packets_; }  // of them

 private:
  enum State : uint32_t { kFree, kNew, kKnown };  // told not yet, or once at least
  struct alignas(64) Flow {
    FilterLogKey key;
    State state = kFree;
    uint32_t packets = 0;  // since it was told
    uint64_t due = 0;      // when it is told, by the TSC
  };
  static_assert(sizeof(Flow) == 64);
  static constexpr unsigned kAtOnce = 64;  // flows of a tick

  void begin(uint64_t now) noexcept;
  void report(Flow& flow) noexcept;

  const uint64_t hz_;
  std::unique_ptr<std::byte[]> memory_;
  Flow* flows_ = nullptr;  // in it, from the first packet on: written first by who notes
  uint64_t seed_ = 0;
  uint64_t next_tick_ = 0;
  unsigned at_ = 0;  // the next one that a tick looks at
  CaptureRing ring_;
  Counter untold_, lost_flows_, lost_packets_;
};

// Of all threads. They outlive the filters that name them.
class FilterLogTaps {
 public:
  FilterLogTaps(unsigned threads, uint64_t tsc_hz) {
    for (unsigned i = 0; i < threads; ++i) taps_.push_back(std::make_unique<FilterLogTap>(tsc_hz));
  }
  size_t size() const noexcept { return taps_.size(); }
  FilterLogTap& operator[](size_t thread) const noexcept { return *taps_[thread]; }

 private:
  std::vector<std::unique_ptr<FilterLogTap>> taps_;
};

}  // namespace hecto::router
