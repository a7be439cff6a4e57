#include "config/file/endpoint.hpp"

#include <fmt/format.h>

#include <charconv>

namespace hecto::config {

using lookup::Family;
using lookup::IpAddress;

std::optional<HttpEndpoint> parse_endpoint(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const auto address = IpAddress::parse(host);
  HttpEndpoint endpoint;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), endpoint.port);
  if (error != std::errc() || end != digits.data() + digits.size() || !address ||
      (address->family == Family::kIpv6) != bracketed)
    return std::nullopt;
  endpoint.address = *address;
  return endpoint;
}

std::string to_string(const HttpEndpoint& endpoint) {
  const std::string host = endpoint.address.to_string();
  return endpoint.address.family == Family::kIpv6 ? fmt::format("[{}]:{}", host, endpoint.port)
                                                  : fmt::format("{}:{}", host, endpoint.port);
}

bool is_loopback(const IpAddress& address) {
  if (address.family == Family::kIpv4) return address.bytes[0] == 127;
  return address == IpAddress::parse("::1");
}

}  // namespace hecto::config
