// How an mbuf says by which SA its packet came in: a dynamic field and flag of our own. NICs have a
// flag for what they decrypted, which says nothing of what the checks made of it.
#pragma once

#include "base/result.hpp"
#include "router/dataplane/core/dpdk.hpp"

namespace hecto::router {

namespace esp {
class Sa;
}

struct SaMark {
  int field = -1;     // the SA, where the flag is set
  uint64_t flag = 0;  // in ol_flags

  void set(rte_mbuf* packet, const esp::Sa* sa) const noexcept {
    packet->ol_flags |= flag;
    *RTE_MBUF_DYNFIELD(packet, field, const esp::Sa**) = sa;
  }
  bool is_set(const rte_mbuf* packet) const noexcept { return (packet->ol_flags & flag) != 0; }
  // Null: in the clear. The mark goes, for no driver takes it off before another port.
  const esp::Sa* take(rte_mbuf* packet) const noexcept {
    if ((packet->ol_flags & flag) == 0) return nullptr;
    packet->ol_flags &= ~flag;
    return *RTE_MBUF_DYNFIELD(packet, field, const esp::Sa**);
  }
};

// Before ports are started; again it gives the same.
Result<SaMark> register_sa_mark();

}  // namespace hecto::router
