// DPDK's bonding driver, behind dpdk.hpp. Its words changed with 23.11: slaves are members.
#pragma once

// clang-format off
#include "router/dataplane/core/dpdk.hpp"
#include <rte_alarm.h>
#include <rte_eth_bond.h>
#include <rte_eth_bond_8023ad.h>
// clang-format on

namespace hecto::router {

#if RTE_VERSION < RTE_VERSION_NUM(23, 11, 0, 0)
inline int bond_add(uint16_t bond, uint16_t member) {
  return rte_eth_bond_slave_add(bond, member);
}
inline int bond_remove(uint16_t bond, uint16_t member) {
  return rte_eth_bond_slave_remove(bond, member);
}
inline int bond_active(uint16_t bond, uint16_t* members, uint16_t most) {
  return rte_eth_bond_active_slaves_get(bond, members, most);
}
#else
inline int bond_add(uint16_t bond, uint16_t member) {
  return rte_eth_bond_member_add(bond, member);
}
inline int bond_remove(uint16_t bond, uint16_t member) {
  return rte_eth_bond_member_remove(bond, member);
}
inline int bond_active(uint16_t bond, uint16_t* members, uint16_t most) {
  return rte_eth_bond_active_members_get(bond, members, most);
}
#endif

}  // namespace hecto::router
