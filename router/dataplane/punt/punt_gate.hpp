// A worker's way to Linux: the class of a packet, and whether it may go. Beside the rates of its
// reason, class and interface (PuntMeter) a packet that is answered with an ICMP error has the rate
// of its source, and one that waits for its neighbor those of its source and of its destination
// (RFC 4443 §2.4(f), RFC 6583 §6): neither one sender nor one silent host takes them from others.
// One thread.
#pragma once

#include <optional>

#include "router/dataplane/punt/hashed_buckets.hpp"
#include "router/dataplane/punt/punt_meter.hpp"
#include "router/dataplane/punt/sessions.hpp"

struct rte_mbuf;

namespace hecto::router {

struct TableViews;

class PuntGate {
 public:
  static constexpr uint32_t kErrorsPps = 50, kErrorsBurst = 50;        // to one source
  static constexpr uint32_t kGleaningPps = 200, kGleaningBurst = 200;  // of one source
  // As many as wait for one neighbor; Linux keeps some hundred in order (unres_qlen_bytes).
  static constexpr uint32_t kDestinationPps = 20, kDestinationBurst = 200;

  struct Answer {
    PuntClass punt_class;
    bool may_pass;
  };

  void configure(uint64_t ticks_per_second, const PuntRates& rates) noexcept;
  // Takes the tokens where it may pass, and counts it as dropped where it may not.
  Answer ask(const rte_mbuf* packet, Reason reason, InterfaceId interface, const TableViews& tables,
             const PuntSessions* sessions, uint64_t now) noexcept;
  // It may pass, and there was no room for it.
  void dropped(PuntClass punt_class, InterfaceId interface) noexcept {
    meter_.dropped(punt_class, interface);
  }
  const PuntMeter& meter() const noexcept { return meter_; }

 private:
  bool take(const rte_mbuf* packet, Reason reason, PuntClass punt_class, InterfaceId interface,
            uint64_t now) noexcept;

  PuntMeter meter_;
  HashedBuckets<4096> errors_, gleaning_, destinations_;
};

}  // namespace hecto::router
