// Who changes what by the API, with what outcome: one line a change, for the log. Keys never stand in
// it.
//
//   route add {"to":"10.0.0.0/8","via":"192.0.2.1"} by root (uid 0), pid 812: done, 1 changed
//
// Thread-safe.
#pragma once

#include <optional>
#include <string>

#include "router/api/http/http.hpp"

namespace hecto::router {

// What the request would change; nothing: it looks, or there is no such path.
std::optional<std::string> change_in(const HttpRequest& request);

// `user (uid N), pid N`, the name as /etc/passwd has it: no directory service is asked.
std::string who(const HttpPeer& peer);

std::string audit_line(const std::string& change, const HttpPeer& peer, const HttpAnswer& answer);

}  // namespace hecto::router
