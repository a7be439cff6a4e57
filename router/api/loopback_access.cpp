#include "router/api/loopback_access.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "config/file/endpoint.hpp"

namespace hecto::router {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

bool is_our_host(std::string_view host, uint16_t port) {
  const std::string with_port = host.ends_with(']') || host.find(':') == std::string_view::npos
                                    ? fmt::format("{}:80", host)
                                    : std::string(host);
  if (lower(with_port) == fmt::format("localhost:{}", port)) return true;
  const auto endpoint = config::parse_endpoint(with_port);
  return endpoint && endpoint->port == port && config::is_loopback(endpoint->address);
}

// RFC 9110 §11.4: the scheme in any case, a blank, the token.
std::optional<std::string_view> bearer(const HttpRequest& request) {
  if (!request.fields.authorization) return std::nullopt;
  constexpr std::string_view kScheme = "bearer ";
  const std::string_view text = *request.fields.authorization;
  if (lower(text.substr(0, kScheme.size())) != kScheme) return std::string_view();
  return text.substr(std::min(text.find_first_not_of(' ', kScheme.size()), text.size()));
}

}  // namespace

const char* const LoopbackAccess::kHeaders =
    "Content-Security-Policy: default-src 'self'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

std::optional<HttpAnswer> LoopbackAccess::refuse(const HttpRequest& request) const {
  const HttpFields& fields = request.fields;
  if (!fields.host || !is_our_host(*fields.host, port_))
    return HttpAnswer{421, error_body(fmt::format("ask this listener as 127.0.0.1:{0} or "
                                                  "localhost:{0}, by no other name",
                                                  port_))};
  const bool foreign_origin =
      fields.origin && lower(*fields.origin) != "http://" + lower(*fields.host);
  const bool foreign_site =
      fields.fetch_site && *fields.fetch_site != "none" && *fields.fetch_site != "same-origin";
  if (foreign_origin || foreign_site)
    return HttpAnswer{403, error_body("a page of another site asks; it gets nothing here")};
  const auto token = bearer(request);
  if (token && !is_token_(*token))
    return HttpAnswer{401, error_body("the token is not that of api.http_token_file")};
  return std::nullopt;
}

Role LoopbackAccess::role(const HttpRequest& request) const {
  return bearer(request) ? Role::kOperate : Role::kRead;
}

}  // namespace hecto::router
