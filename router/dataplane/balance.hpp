// All packets, counted while they pass: received + injected + fragments + copies =
// transmitted + punted + dropped + in flight.
//
// The counters cannot be read at one moment. What came in is read before and behind what became of
// it, so that their difference is known to a few packets: those that came between, and as many as
// threads can hold that had packets meanwhile. A difference beyond that is told as unaccounted for.
//
// Control thread only.
#pragma once

#include <chrono>
#include <cstdint>

#include "router/dataplane/sampler.hpp"

namespace hecto::router {

struct Balance {
  Totals totals;
  uint64_t fragments = 0;
  uint64_t copies = 0;            // for mirrors
  uint64_t too_big_answered = 0;  // of those transmitted
  uint64_t in_flight = 0;
  int64_t unaccounted = 0;  // below 0: more came out than went in

  // `queued`: seen in queues and on devices; `unseen`: how many more may be under way.
  void weigh(uint64_t queued, uint64_t unseen);
};

// At once where nothing is under way, else after `patience` at the latest.
Balance read_balance(const Dataplane& dataplane,
                     std::chrono::microseconds patience = std::chrono::milliseconds(3));

}  // namespace hecto::router
