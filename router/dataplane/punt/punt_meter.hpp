// How many packets may go to Linux: by reason, by class, and by class and ingress interface. A
// packet passes when all three have room, and only then takes from any: what one bucket refuses
// costs the others nothing.
//
// One a thread; control reads the counters. The rates of a class hold for each interface; all
// together have kPuntShares times as much. Time is the TSC's.
#pragma once

#include <array>
#include <cstdint>

#include "base/net.hpp"
#include "base/punt_class.hpp"
#include "base/reason.hpp"
#include "router/dataplane/core/counters.hpp"
#include "router/dataplane/core/token_bucket.hpp"

namespace hecto::router {

struct PuntRates {
  std::array<uint32_t, kReasonCount> reasons{};
  std::array<uint32_t, kPuntClassCount> classes{};  // of one interface
  bool operator==(const PuntRates&) const = default;
};

struct PuntClassCounters {
  Counter passed, dropped;
  std::array<Counter, kMaxInterfaces> dropped_by_interface;
};

// Of one interface: a burst of a tenth of a second. At 3 packets a second that is one.
inline uint32_t punt_class_burst(uint32_t packets_per_second) noexcept {
  return packets_per_second / 10;
}

class PuntMeter {
 public:
  void configure(uint64_t ticks_per_second, const PuntRates& rates) noexcept;
  bool take(Reason reason, PuntClass punt_class, InterfaceId interface, uint64_t now) noexcept;
  // What take() let through, or refused, or found no room.
  void passed(PuntClass punt_class) noexcept { counters_[index(punt_class)].passed.add(1); }
  void dropped(PuntClass punt_class, InterfaceId interface) noexcept {
    PuntClassCounters& counters = counters_[index(punt_class)];
    counters.dropped.add(1);
    if (interface < kMaxInterfaces) counters.dropped_by_interface[interface].add(1);
  }
  const std::array<PuntClassCounters, kPuntClassCount>& counters() const noexcept {
    return counters_;
  }

 private:
  static constexpr size_t index(PuntClass punt_class) noexcept {
    return static_cast<size_t>(punt_class);
  }
  // A bucket an interface; those of a class share their rate, so that each is one word.
  struct ByInterface {
    TokenBucketRate rate;
    std::array<uint64_t, kMaxInterfaces + 1> due{};  // the last one: no interface was found
  };

  PuntRates rates_;
  uint64_t ticks_per_second_ = 0;
  std::array<TokenBucket, kReasonCount> reasons_;
  std::array<TokenBucket, kPuntClassCount> all_;
  std::array<ByInterface, kPuntClassCount> by_interface_;
  std::array<PuntClassCounters, kPuntClassCount> counters_;
};

}  // namespace hecto::router
