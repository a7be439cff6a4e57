// From an rtnetlink message to a policy rule (RTM_NEWRULE, RTM_DELRULE); as decode.hpp.
#pragma once

#include "router/linux/decode.hpp"
#include "router/rib/rule.hpp"

namespace hecto::router {

struct RuleEvent {
  PolicyRule rule;
  bool removed = false;
};

Decoded decode_rule(const Message& message, RuleEvent& out);

}  // namespace hecto::router
