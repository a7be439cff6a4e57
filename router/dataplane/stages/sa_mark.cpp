#include "router/dataplane/stages/sa_mark.hpp"

#include <fmt/format.h>

namespace hecto::router {

Result<SaMark> register_sa_mark() {
  static constexpr rte_mbuf_dynfield kField = {"hecto_sa", sizeof(void*), alignof(void*), 0};
  static constexpr rte_mbuf_dynflag kFlag = {"hecto_by_sa", 0};
  const int offset = rte_mbuf_dynfield_register(&kField);
  const int bit = rte_mbuf_dynflag_register(&kFlag);
  if (offset < 0 || bit < 0)
    return fail(fmt::format("ipsec: no room in DPDK's mbufs: {}", dpdk_error(rte_errno)));
  return SaMark{offset, uint64_t{1} << bit};
}

}  // namespace hecto::router
