// Where a filter leads a packet: the table that a rule of it names, or that a policy rule chooses
// because of its mark. A dynamic field and two flags of our own in its mbuf; Linux sees none of it.
#pragma once

#include "base/result.hpp"
#include "lookup/fib.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

struct FilterLead {
  int field = -1;      // the table; -1: nothing leads
  uint64_t named = 0;  // in ol_flags: a rule names the table
  uint64_t led = 0;    // likewise: it went by the table, where Linux would perhaps not

  void name(rte_mbuf* packet, lookup::TableId table) const noexcept {
    packet->ol_flags |= named;
    *RTE_MBUF_DYNFIELD(packet, field, lookup::TableId*) = table;
  }
  void lead(rte_mbuf* packet, lookup::TableId table) const noexcept {
    packet->ol_flags |= led;
    *RTE_MBUF_DYNFIELD(packet, field, lookup::TableId*) = table;
  }
  bool is_named(const rte_mbuf* packet) const noexcept { return (packet->ol_flags & named) != 0; }
  bool is_led(const rte_mbuf* packet) const noexcept { return (packet->ol_flags & led) != 0; }
  // Of one that is either.
  lookup::TableId table(const rte_mbuf* packet) const noexcept {
    return *RTE_MBUF_DYNFIELD(packet, field, const lookup::TableId*);
  }
};

// Again it gives the same.
Result<FilterLead> register_filter_lead();

}  // namespace hecto::router
