// Packets held to the rates of policers: a burst's lock is taken once, the clock read once, and where the
// bucket holds all of the burst, one number is taken from it.
//
//   hold_to()      packets of one policer, in their order
//   hold_in()      behind the filters of where they came in: those of interfaces that a policer names
//   hold_opened()  of what came out of a tunnel, likewise
//   hold_out()     behind those of where they leave
//
// What is beyond the rate leaves its lane as `policed`.
#pragma once

#include "lookup/nexthop.hpp"
#include "router/dataplane/core/chunk.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/filter/filter_views.hpp"
#include "router/dataplane/filter/meter.hpp"

namespace hecto::router {

// The checksum as RFC 1624 has it, eqn. 3.
void write_dscp(uint8_t* ip, uint8_t dscp) noexcept;

// Whether n packets, of so many bytes together, are within the rate; then they are counted.
bool takes_all(Policer& policer, unsigned n, uint64_t bytes) noexcept;

// Of what is not green: why it is refused; kNone: it goes on, with the DSCP of yellow where there is one.
Reason beyond_rate(Colour colour, const config::PolicerConfig& config, rte_mbuf* packet,
                   Ingress ingress) noexcept;

// `bytes`: of all n IP packets. False: all go on, and `reasons` is not written.
bool hold_to(Policer& policer, rte_mbuf* const* packets, const Ingress* ingress, unsigned n,
             uint64_t bytes, Reason* reasons) noexcept;

// Lanes, and what of IP goes to Linux.
void hold_in(Chunk& chunk, const FilterViews& filters) noexcept;
// Lanes' packets with the flag, in ol_flags.
void hold_opened(Chunk& chunk, const FilterViews& filters, uint64_t flag) noexcept;
// By family where each packet leaves by, where that is known (FilterStage::egress4); null: it is asked.
struct KnownEgress {
  const InterfaceId *ipv4 = nullptr, *ipv6 = nullptr;
};
void hold_out(Chunk& chunk, const FilterViews& filters, const lookup::NextHopView& next_hops,
              uint32_t ecmp_seed, KnownEgress known) noexcept;

}  // namespace hecto::router
