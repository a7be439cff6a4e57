// What is wrong with a request or a connection: a status, and in words.
#pragma once

#include "router/api/http/http.hpp"

namespace hecto::router {

HttpAnswer refusal(int status);

}  // namespace hecto::router
