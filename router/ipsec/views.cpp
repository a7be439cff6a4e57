#include "router/ipsec/views.hpp"

namespace hecto::router {

const char* to_string(Expiry::Cause cause) {
  static constexpr const char* kWords[] = {"bytes", "packets", "time since it was added",
                                           "time since it was used", "sequence numbers"};
  return kWords[static_cast<size_t>(cause)];
}

}  // namespace hecto::router
