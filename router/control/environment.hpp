// What DPDK is started with, of the configuration and the placement.
#pragma once

#include <map>

#include "config/placement/placement.hpp"
#include "router/dataplane/ports/eal.hpp"
#include "router/dataplane/tables/reserved_pages.hpp"

namespace hecto::router {

EalOptions eal_options(const config::Config& config, const config::Placement& placement);
// Of the hugepages of 2 MiB that are free, those that DPDK will not want, by socket, in bytes.
// `dpdk_has_them`: it works in hugepages at all.
std::map<int, uint64_t> spare_hugepages(const config::Config& config,
                                        const config::Placement& placement, bool dpdk_has_them,
                                        uint64_t (*free_bytes)(int) = free_reserved_bytes);
// For the operator, where tables had to do with pages of 4 KiB.
std::string small_pages_line(uint64_t bytes);

}  // namespace hecto::router
