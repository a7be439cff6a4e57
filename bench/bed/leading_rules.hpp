// Policy rules that lead a bed's packets to a table other than main, so that what that costs is measured.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "router/rib/routing.hpp"
#include "router/rib/rule_table.hpp"

namespace hecto::bench {

// By which table packets are looked up.
enum class LookUpBy : uint8_t {
  kMain,
  kVrf,   // the receive ports are in a VRF: its table comes first
  kRule,  // a rule for all packets, behind one that holds for none: main, the rules, the table
};
std::string_view to_string(LookUpBy by) noexcept;

// The routes of `table` in Linux's table `number`, and the rules that lead there, of both families.
Result<std::shared_ptr<const router::RuleTables>> leading_rules(
    router::Routing& routing, const router::RouteTable& table, uint32_t number, LookUpBy by,
    const std::vector<InterfaceId>& receiving);

}  // namespace hecto::bench
