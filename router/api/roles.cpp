#include "router/api/roles.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace hecto::router {
namespace {

Result<std::optional<uint32_t>> group_id(const char* key, const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  std::vector<char> room(4096);
  group entry{};
  group* found = nullptr;
  int status = 0;
  while ((status = ::getgrnam_r(name->c_str(), &entry, room.data(), room.size(), &found)) == ERANGE)
    room.resize(room.size() * 2);
  if (found != nullptr) return entry.gr_gid;
  return fail(fmt::format("api.{}: there is no group {}{}", key, *name,
                          status == 0 ? std::string("; make it with groupadd")
                                      : fmt::format(": {}", std::strerror(status))),
              ENOENT);
}

}  // namespace

std::string_view to_string(Role role) noexcept {
  constexpr std::string_view kNames[] = {"none", "read", "operate", "admin"};
  return kNames[static_cast<size_t>(role)];
}

Result<AccessRules> AccessRules::from(const config::Config& config) {
  AccessRules rules;
  const std::pair<std::optional<uint32_t>*, Result<std::optional<uint32_t>>> groups[] = {
      {&rules.read_group, group_id("read_group", config.api_read_group)},
      {&rules.operate_group, group_id("operate_group", config.api_operate_group)},
      {&rules.admin_group, group_id("admin_group", config.api_admin_group)}};
  for (const auto& [group, id] : groups) {
    if (!id) return tl::unexpected(id.error());
    *group = *id;
  }
  return rules;
}

Role AccessRules::of(const HttpPeer& peer) const {
  if (!by_groups() || peer.uid == 0u || peer.uid == ::geteuid()) return Role::kAdmin;
  const auto in = [&](const std::optional<uint32_t>& group) {
    return group && std::ranges::find(peer.groups, *group) != peer.groups.end();
  };
  if (in(admin_group)) return Role::kAdmin;
  if (in(operate_group)) return Role::kOperate;
  return in(read_group) ? Role::kRead : Role::kNone;
}

Role needed(const HttpRequest& request) {
  if (request.path == "/v1/capture/keys") return Role::kAdmin;
  if (request.path.starts_with("/v1/trace") || request.path.starts_with("/v1/capture") ||
      request.path.starts_with("/v1/flows"))
    return Role::kOperate;
  return request.method == "GET" ? Role::kRead : Role::kAdmin;
}

}  // namespace hecto::router
