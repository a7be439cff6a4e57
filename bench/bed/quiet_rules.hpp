// Policy rules that hold for no packet of a bed, so that what is measured is the asking.
#pragma once

#include <memory>

#include "router/rib/rule_table.hpp"

namespace hecto::bench {

// `count` of each family before Linux's main: each asks for one of 4,096 sources' networks, and for
// a destination that nothing goes to.
Result<std::shared_ptr<const router::RuleTables>> quiet_rules(unsigned count);

}  // namespace hecto::bench
