// An address with a port, as 127.0.0.1:8080 and [::1]:8080. Values only; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lookup/prefix.hpp"

namespace hecto::config {

struct HttpEndpoint {
  lookup::IpAddress address;
  uint16_t port = 0;
  bool operator==(const HttpEndpoint&) const = default;
};

std::optional<HttpEndpoint> parse_endpoint(std::string_view text);
std::string to_string(const HttpEndpoint& endpoint);
bool is_loopback(const lookup::IpAddress& address);  // 127.0.0.0/8 and ::1

}  // namespace hecto::config
