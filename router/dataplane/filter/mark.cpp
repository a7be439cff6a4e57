#include "router/dataplane/filter/mark.hpp"

#include <fmt/format.h>

namespace hecto::router {

Result<FilterMark> register_filter_mark() {
  static constexpr rte_mbuf_dynfield kField = {"hecto_mark", sizeof(uint32_t), alignof(uint32_t),
                                               0};
  static constexpr rte_mbuf_dynflag kFlag = {"hecto_marked", 0};
  const int offset = rte_mbuf_dynfield_register(&kField);
  const int bit = rte_mbuf_dynflag_register(&kFlag);
  if (offset < 0 || bit < 0)
    return fail(fmt::format("filters: marks: no room in DPDK's mbufs: {}", dpdk_error(rte_errno)));
  return FilterMark{offset, uint64_t{1} << bit};
}

}  // namespace hecto::router
