#include "router/ipsec/esp/sa_state.hpp"

#include <fmt/format.h>

namespace hecto::router {

std::string to_string(const SaId& id) {
  return fmt::format("{} {}", id.destination.to_string(), to_string(id.spi));
}

}  // namespace hecto::router
