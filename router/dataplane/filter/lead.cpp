#include "router/dataplane/filter/lead.hpp"

#include <fmt/format.h>

namespace hecto::router {

Result<FilterLead> register_filter_lead() {
  static constexpr rte_mbuf_dynfield kField = {"hecto_table", sizeof(lookup::TableId),
                                               alignof(lookup::TableId), 0};
  static constexpr rte_mbuf_dynflag kNamed = {"hecto_table_named", 0}, kLed = {"hecto_led", 0};
  const int offset = rte_mbuf_dynfield_register(&kField);
  const int named = rte_mbuf_dynflag_register(&kNamed), led = rte_mbuf_dynflag_register(&kLed);
  if (offset < 0 || named < 0 || led < 0)
    return fail(fmt::format("filters: tables: no room in DPDK's mbufs: {}", dpdk_error(rte_errno)));
  return FilterLead{offset, uint64_t{1} << named, uint64_t{1} << led};
}

}  // namespace hecto::router
