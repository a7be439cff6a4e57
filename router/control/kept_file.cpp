#include "router/control/kept_file.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "router/control/kept_text.hpp"
#include "router/ipsec/ipsec_config.hpp"

namespace hecto::router {
namespace {

constexpr uint32_t kDefaultMetric6 = 1024;  // that StaticRoutes gives a route without one

}  // namespace

RouteKey key_of(const config::RouteConfig& route) {
  const bool without = route.to.address.family == Family::kIpv6 && route.metric == 0;
  return {route.to, without ? kDefaultMetric6 : route.metric};
}

KeptFile::KeptFile(const std::string& directory, const std::string& api_socket)
    : socket_(api_socket), file_(state_path(directory, api_socket, "kept")) {}

void KeptFile::read() {
  auto bytes = file_.read();
  if (!bytes) {
    blocked_ = bytes.error().message;
  } else if (*bytes) {
    auto items = kept_items_from(
        {reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()}, socket_);
    if (items)
      take(std::move(*items));
    else
      blocked_ = file_.path() + " " + items.error().message;
  }
  if (!blocked_.empty())
    spdlog::warn("persist: {}: nothing of it is taken up, and it is left alone", blocked_);
}

Result<void> KeptFile::may_write() {
  if (!blocked_.empty() && ::access(file_.path().c_str(), F_OK) == 0)
    return fail("persist: " + blocked_ + "; move it away; nothing was changed", EEXIST);
  blocked_.clear();
  return {};
}

Result<void> KeptFile::change(Items next, const std::function<Result<void>()>& apply) {
  if (next == items_) return apply();
  if (auto may = may_write(); !may) return may;
  std::optional<StateFile::Staged> staged;
  if (!next.empty()) {
    auto written = file_.stage(kept_text(next, socket_));
    if (!written)
      return fail(fmt::format("persist: {}; nothing was changed", written.error().message));
    staged.emplace(std::move(*written));
  }
  if (auto done = apply(); !done) return done;
  take(std::move(next));
  const auto put = staged ? staged->commit() : file_.remove();
  stale_ = put ? std::string() : put.error().message;
  if (put) return {};
  return fail(fmt::format("persist: {}; it is done, but a restart would not know", stale_));
}

void KeptFile::follow(Items next) {
  if (auto put = change(next, [] { return Result<void>{}; }); put) return;
  take(std::move(next));
  write_again();
  if (!stale_.empty()) spdlog::warn("{}", lines().front());
}

void KeptFile::tick() {
  if (!stale_.empty()) write_again();
}

void KeptFile::take(Items items) {
  items_ = std::move(items);
  route_keys_.clear();
  for (const config::RouteConfig& route : items_.routes) route_keys_.insert(key_of(route));
  policies_.clear();
  for (const config::IpsecPolicyConfig& policy : items_.policies)
    policies_.push_back(ipsec_policy(policy, RouteOrigin::kApi));
}

void KeptFile::write_again() {
  const auto put = items_.empty() ? file_.remove() : file_.write(kept_text(items_, socket_));
  stale_ = put ? std::string() : put.error().message;
  if (put) spdlog::info("persist: {} is as it should be again", file_.path());
}

bool KeptFile::keeps(const IpsecPolicy& policy) const {
  return std::any_of(policies_.begin(), policies_.end(), [&](const IpsecPolicy& kept) {
    return kept.direction == policy.direction && kept.selector == policy.selector &&
           kept.if_id == policy.if_id;
  });
}

std::vector<std::string> KeptFile::lines() const {
  std::vector<std::string> lines;
  if (!stale_.empty())
    lines.push_back("persist: " + stale_ + ": what has changed since would be lost by a restart");
  if (!blocked_.empty())
    lines.push_back("persist: " + blocked_ + ": nothing of it is taken up; it is left alone");
  return lines;
}

}  // namespace hecto::router
