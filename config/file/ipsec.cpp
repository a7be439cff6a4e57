#include "config/file/ipsec.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

// router/ipsec/esp/transform.cpp has the same names; tests/unit/router holds them against each
// other.
constexpr IpsecAlgorithm kCiphers[] = {
    {"null", 0},
    {"aes-128-cbc", 16},
    {"aes-192-cbc", 24},
    {"aes-256-cbc", 32},
    {"aes-128-ctr", 20},
    {"aes-192-ctr", 28},
    {"aes-256-ctr", 36},
    {"aes-128-gcm", 20, true},
    {"aes-192-gcm", 28, true},
    {"aes-256-gcm", 36, true},
    {"aes-128-gcm-12", 20, true},
    {"aes-192-gcm-12", 28, true},
    {"aes-256-gcm-12", 36, true},
    {"aes-128-gcm-8", 20, true},
    {"aes-192-gcm-8", 28, true},
    {"aes-256-gcm-8", 36, true},
    {"aes-128-gmac", 20, true},
    {"aes-192-gmac", 28, true},
    {"aes-256-gmac", 36, true},
    {"chacha20-poly1305", 36, true},
};
constexpr IpsecAlgorithm kIntegrities[] = {
    {"hmac-sha1", 20},     {"hmac-sha2-256", 32}, {"hmac-sha2-256-96", 32},
    {"hmac-sha2-384", 48}, {"hmac-sha2-512", 64},
};

constexpr std::pair<std::string_view, uint8_t> kProtocols[] = {
    {"icmp", 1}, {"ipip", 4},   {"tcp", 6},   {"udp", 17},   {"dccp", 33},    {"gre", 47},
    {"esp", 50}, {"icmp6", 58}, {"ospf", 89}, {"sctp", 132}, {"udplite", 136}};

}  // namespace

std::span<const IpsecAlgorithm> ipsec_ciphers() noexcept {
  return kCiphers;
}

std::span<const IpsecAlgorithm> ipsec_integrities() noexcept {
  return kIntegrities;
}

const char* to_string(IpsecCrypto crypto) noexcept {
  static constexpr const char* kWords[] = {"auto", "ipsec-mb", "openssl"};
  return kWords[static_cast<size_t>(crypto)];
}

const char* to_string(IpsecNic nic) noexcept {
  return nic == IpsecNic::kAuto ? "auto" : "never";
}

std::string protocol_text(uint8_t protocol) {
  for (const auto& [name, number] : kProtocols)
    if (number == protocol) return std::string(name);
  return std::to_string(protocol);
}

std::optional<uint8_t> protocol_by_name(std::string_view word) {
  for (const auto& [name, number] : kProtocols)
    if (name == word) return number;
  uint8_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number == 0) return std::nullopt;
  return number;
}

std::string to_string(const IpsecSaConfig& sa) {
  return flow_map(sa_keys, sa);
}

std::string to_string(const IpsecPolicyConfig& policy) {
  return flow_map(policy_keys, policy);
}

}  // namespace hecto::config
