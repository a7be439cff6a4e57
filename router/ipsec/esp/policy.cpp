#include "router/ipsec/esp/policy.hpp"

#include <fmt/format.h>

namespace hecto::router {

std::string to_string(const IpsecPolicy& policy) {
  return fmt::format("{} {}", to_string(policy.direction), to_string(policy.selector));
}

}  // namespace hecto::router
