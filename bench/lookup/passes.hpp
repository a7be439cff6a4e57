// One measurement: a pass over an array of destinations, batch by batch, in a state of the caches.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "bench/lookup/caches.hpp"
#include "bench/lookup/engine.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::bench {

enum class State : uint8_t {
  kWarm,      // after an untimed pass over the same destinations
  kStream,    // so many destinations that a pass reads the table's breadth
  kCold,      // a few batches after the table has left all caches; code and buffers have not
  kPolluted,  // as warm, with a packet loop between the batches, whose own cost is taken off
};
inline constexpr std::array kStates = {State::kWarm, State::kStream, State::kCold,
                                       State::kPolluted};
inline std::string_view to_string(State state) noexcept {
  constexpr std::string_view kNames[] = {"warm", "stream", "cold", "polluted"};
  return kNames[static_cast<size_t>(state)];
}

template <typename Family>
class Passes {
 public:
  using Destination = typename Family::Destination;
  static constexpr unsigned kColdBatches = 4;

  Passes(unsigned batch, CacheFlush& flush, PacketLoop& packets)
      : batch_(batch), flush_(flush), packets_(packets), nowhere_(batch) {}

  // TSC cycles per destination. `many` is for kStream and kCold, `few` for the others; passes of
  // one round look up the same.
  double measure(State state, Engine<Family>& engine, std::span<const Destination> few,
                 std::span<const Destination> many, unsigned round) {
    const auto look_up = [&](const Destination* destinations, unsigned n) {
      engine.lookup(destinations, n);
    };
    const auto with_packets = [&](const Destination* destinations, unsigned n) {
      packets_.touch(n);
      engine.lookup(destinations, n);
    };
    const auto packets_alone = [&](const Destination*, unsigned n) { packets_.touch(n); };
    switch (state) {
      case State::kWarm:
        timed(few, look_up);
        return timed(few, look_up);
      case State::kStream:
        return timed(many, look_up);
      case State::kPolluted: {
        timed(few, with_packets);
        const double both = timed(few, with_packets);
        return both - timed(few, packets_alone);
      }
      case State::kCold:
        break;
    }
    const size_t window = std::min<size_t>(size_t{kColdBatches} * batch_, many.size());
    const auto part = many.subspan(round * window % (many.size() - window + 1), window);
    flush_.flush();
    engine.lookup(nowhere_.data(), batch_);
    load(part);
    return timed(part, look_up);
  }

 private:
  // As a packet's header is: read a moment before.
  static void load(std::span<const Destination> part) {
    const auto bytes = std::as_bytes(part);
    for (size_t i = 0; i < bytes.size(); i += RTE_CACHE_LINE_SIZE)
      static_cast<void>(*static_cast<const volatile std::byte*>(&bytes[i]));
  }

  template <typename Batch>
  double timed(std::span<const Destination> destinations, Batch batch) {
    const uint64_t start = rte_rdtsc_precise();
    for (size_t i = 0; i < destinations.size(); i += batch_)
      batch(&destinations[i],
            static_cast<unsigned>(std::min<size_t>(batch_, destinations.size() - i)));
    return static_cast<double>(rte_rdtsc_precise() - start) /
           static_cast<double>(destinations.size());
  }

  unsigned batch_;
  CacheFlush& flush_;
  PacketLoop& packets_;
  std::vector<Destination> nowhere_;
};

}  // namespace hecto::bench
