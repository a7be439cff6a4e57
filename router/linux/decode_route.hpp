// From rtnetlink's route messages to events, as decode.hpp does for the others. Pure, thread-safe.
#pragma once

#include "router/linux/decode.hpp"

namespace hecto::router {

struct RouteEvent {
  Route route;
  bool removed = false;
  // NLM_F_REPLACE of a notification. An IPv6 route that grew by a next hop (NLM_F_APPEND) is told
  // whole, without it.
  bool replace = false;
};

Decoded decode_route(const Message& message, RouteEvent& out);

}  // namespace hecto::router
