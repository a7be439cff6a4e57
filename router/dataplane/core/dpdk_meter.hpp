// DPDK's headers of metering and locks, behind those that dpdk.hpp has to put in order.
#pragma once

// clang-format off
#include "router/dataplane/core/dpdk.hpp"
#include <rte_meter.h>
#include <rte_spinlock.h>
// clang-format on
