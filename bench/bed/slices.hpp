// Short stretches of one kind of work on a bed's first worker, timed: what is compared takes turns,
// slice by slice, so that a machine whose speed drifts drifts for all of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "bench/bed/bed.hpp"

namespace hecto::bench {

enum class BedWork : uint8_t {
  kReceive,
  kTransmit,
  kFloor,  // receive and transmit, nothing between: what testpmd calls io forwarding
  kIpv4,   // through the worker
  kIpv6,
  kBridge,  // through the worker, on a bed of Stations
};
std::string_view to_string(BedWork work);
bool through_worker(BedWork work);

inline constexpr size_t kBedStages = 5;  // receive, classify, look-up, rewrite, transmit

struct Slice {
  double cycles = 0;  // TSC ticks of this thread's own time, a packet; without sweeping
  double taken = 0;   // share of the core that others had meanwhile
  // TSC ticks a packet, of the sampled chunks; none when the worker has no part in it.
  std::optional<std::array<double, kBedStages>> stages;
};

// One thread, the one that made the bed.
class Slices {
 public:
  Slices(Bed& bed, unsigned burst);
  // From now on; the bed's workers are told by Bed::set_burst().
  void set_burst(unsigned burst) { burst_ = static_cast<uint16_t>(burst); }
  Slice measure(BedWork work, unsigned milliseconds);
  // Something else in between: `poll` returns for how many packets.
  Slice measure(const std::function<unsigned()>& poll, unsigned milliseconds);

 private:
  unsigned receive();
  unsigned transmit();
  unsigned floor();
  unsigned send(rte_mbuf** packets, uint16_t count);
  template <typename Poll>
  void time(Poll poll, unsigned milliseconds, Slice& slice);

  Bed& bed_;
  rte_mempool* pool_;
  uint16_t burst_;
  unsigned turn_ = 0;
};

}  // namespace hecto::bench
