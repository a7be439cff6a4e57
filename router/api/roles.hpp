// Who may do what by the API: the role of a peer, and the role that a request needs.
//
//   read     looks: everything that GET answers but packets and keys
//   operate  read, and traces and captures
//   admin    all: routes, SAs, policies, reload, the keys (which root and hectod's own user alone get)
//
// Pure but for AccessRules::from(), which reads the list of groups. Thread-safe.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "config/file/config.hpp"
#include "router/api/http/http.hpp"

namespace hecto::router {

enum class Role : uint8_t { kNone, kRead, kOperate, kAdmin };
std::string_view to_string(Role role) noexcept;

struct AccessRules {
  // Where there is no group at all, who may open the socket is admin.
  std::optional<uint32_t> read_group, operate_group, admin_group;

  // An error: a group that this machine does not know.
  static Result<AccessRules> from(const config::Config& config);
  bool by_groups() const { return read_group || operate_group || admin_group; }
  Role of(const HttpPeer& peer) const;
};

// A path that is not known needs no more than a look: it is answered 404.
Role needed(const HttpRequest& request);

}  // namespace hecto::router
