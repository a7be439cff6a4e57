// The seed of the flow hash where the file names none: the same at each start of this router, and
// another on each other box, so that routers in a row do not choose their paths alike.
#pragma once

#include <cstdint>
#include <string>

namespace hecto::router {

// Of /etc/machine-id (the host's name where there is none) and the API's socket, which no two
// routers of a box share.
uint32_t own_ecmp_seed(const std::string& api_socket);

}  // namespace hecto::router
