// DPDK's headers of inline crypto, behind those that dpdk.hpp has to put in order.
#pragma once

// clang-format off
#include "router/dataplane/core/dpdk.hpp"
#include <rte_cryptodev.h>
#include <rte_flow.h>
#include <rte_security.h>
// clang-format on
