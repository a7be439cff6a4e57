// A route, an SA and a policy as the API is asked to keep them.
#pragma once

#include <string>

#include "config/file/kept_items.hpp"
#include "tests/beds/addresses.hpp"

namespace hecto::router::test {

inline constexpr const char* kKeptSocket = "/run/t/api.sock";

inline config::RouteConfig via(const std::string& prefix, const std::string& gateway,
                               uint32_t metric = 0) {
  return {net(prefix), RouteType::kUnicast, {{ip(gateway), "", 1}}, metric};
}

inline config::IpsecSaConfig sa_config(Spi spi) {
  config::IpsecSaConfig sa;
  sa.source = ip("192.0.2.1");
  sa.destination = ip("198.51.100.1");
  sa.spi = spi;
  sa.cipher = "aes-128-gcm";
  sa.cipher_key = *config::SecretKey::parse("0x000102030405060708090a0b0c0d0e0fdeadbeef");
  return sa;
}

inline config::IpsecPolicyConfig policy_config() {
  config::IpsecPolicyConfig policy;
  policy.source = net("10.1.0.0/16");
  policy.destination = net("10.2.0.0/16");
  policy.action = PolicyAction::kDiscard;
  return policy;
}

}  // namespace hecto::router::test
