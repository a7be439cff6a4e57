// Who may ask over HTTP on loopback: any user of this machine, and no page of another site in a
// browser here. What a browser says of a request cannot be forged by a page:
//
//   Host            a name or address of loopback with our port. Another name that leads here
//                   (DNS rebinding) is answered 421
//   Origin          none, or Host's own
//   Sec-Fetch-Site  none, `none` (typed in) or `same-origin`; else 403
//
// All that ask are `read`; who sends the token is `operate`. Thread-safe.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "router/api/http/http.hpp"
#include "router/api/roles.hpp"

namespace hecto::router {

class LoopbackAccess {
 public:
  // `is_token`: whether that is the token of now; false also where there is none.
  LoopbackAccess(uint16_t port, std::function<bool(std::string_view)> is_token)
      : port_(port), is_token_(std::move(is_token)) {}

  // Why it is not answered; nothing: it is.
  std::optional<HttpAnswer> refuse(const HttpRequest& request) const;
  Role role(const HttpRequest& request) const;  // of one that is not refused

  // Lines of each answer's head.
  static const char* const kHeaders;

 private:
  const uint16_t port_;
  const std::function<bool(std::string_view)> is_token_;
};

}  // namespace hecto::router
