// Addresses and prefixes of the tests, from text that is right.
#pragma once

#include <stdexcept>
#include <string>

#include "router/rib/route.hpp"

namespace hecto::router::test {

inline IpAddress ip(const std::string& text) {
  auto address = IpAddress::parse(text);
  if (!address) throw std::invalid_argument(text);
  return *address;
}

inline IpPrefix net(const std::string& text) {
  auto prefix = IpPrefix::parse(text);
  if (!prefix) throw std::invalid_argument(text);
  return *prefix;
}

}  // namespace hecto::router::test
