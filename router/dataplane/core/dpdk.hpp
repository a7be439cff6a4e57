// The one place that includes DPDK's headers and knows how its versions differ (22.11 to current).
// Those that few need come behind it: dpdk_security.hpp, and what bench/ alone measures.
#pragma once

#include <rte_config.h>
#include <rte_version.h>

#if RTE_VERSION < RTE_VERSION_NUM(22, 11, 0, 0)
#error "hecto needs DPDK 22.11 or newer"
#endif

// rte_ring_elem.h from 24.11 on declares it without C linkage; the first declaration decides.
struct rte_ring;
extern "C" rte_ring* rte_ring_create_elem(const char* name, unsigned int element_bytes,
                                          unsigned int count, int socket, unsigned int flags);

#include <rte_bus.h>
#include <rte_cycles.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_ether.h>
#include <rte_hash_crc.h>
#include <rte_ip.h>
#include <rte_ip_frag.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_pause.h>
#include <rte_prefetch.h>
#include <rte_rcu_qsbr.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>
#include <rte_thread.h>
#include <rte_vect.h>

namespace hecto::router {

// DPDK's own words for an errno-like return value.
inline const char* dpdk_error(int code) {
  return rte_strerror(code < 0 ? -code : code);
}

}  // namespace hecto::router
