#include "config/file/ipsec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "config/file/words.hpp"

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
    {"hmac-sha1", 20}, {"hmac-sha2-256", 32}, {"hmac-sha2-384", 48}, {"hmac-sha2-512", 64}};

constexpr std::pair<std::string_view, uint8_t> kProtocols[] = {
    {"icmp", 1}, {"ipip", 4},   {"tcp", 6},   {"udp", 17},   {"dccp", 33},    {"gre", 47},
    {"esp", 50}, {"icmp6", 58}, {"ospf", 89}, {"sctp", 132}, {"udplite", 136}};

class Map {
 public:
  template <typename T>
  void add(std::string_view key, const T& value) {
    text_ += fmt::format("{}{}: {}", text_.empty() ? "" : ", ", key, value);
  }
  template <typename T>
  void add_unless(std::string_view key, const T& value, const T& usual) {
    if (value != usual) add(key, value);
  }
  template <typename T>
  void add_given(std::string_view key, const std::optional<T>& value) {
    if (value) add(key, *value);
  }
  bool empty() const { return text_.empty(); }
  std::string text() const { return "{" + text_ + "}"; }

 private:
  std::string text_;
};

std::string address_text(const lookup::IpAddress& address) {
  return quoted(address.to_string());
}

std::string lifetime_text(const IpsecLifetime& lifetime) {
  Map map;
  map.add_given("soft_bytes", lifetime.soft_bytes);
  map.add_given("hard_bytes", lifetime.hard_bytes);
  map.add_given("soft_packets", lifetime.soft_packets);
  map.add_given("hard_packets", lifetime.hard_packets);
  map.add_given("soft_add_s", lifetime.soft_add_s);
  map.add_given("hard_add_s", lifetime.hard_add_s);
  map.add_given("soft_use_s", lifetime.soft_use_s);
  map.add_given("hard_use_s", lifetime.hard_use_s);
  return map.text();
}

std::string template_text(const IpsecTemplateConfig& wanted) {
  Map map;
  if (wanted.source) map.add("source", address_text(*wanted.source));
  if (wanted.destination) map.add("destination", address_text(*wanted.destination));
  map.add("reqid", wanted.reqid);
  if (wanted.spi != 0) map.add("spi", fmt::format("{:#010x}", wanted.spi));
  map.add("mode", to_string(wanted.mode));
  map.add_unless("optional", wanted.optional, false);
  return map.text();
}

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
  Map map;
  map.add("source", address_text(sa.source));
  map.add("destination", address_text(sa.destination));
  map.add("spi", fmt::format("{:#010x}", sa.spi));
  map.add("mode", to_string(sa.mode));
  map.add_unless("reqid", sa.reqid, 0u);
  map.add_unless("if_id", sa.if_id, 0u);
  map.add("cipher", sa.cipher);
  if (!sa.integrity.empty()) map.add("integrity", sa.integrity);
  if (!sa.key_file.empty()) {
    map.add("key_file", quoted(sa.key_file));
  } else {
    if (sa.cipher_key.size() != 0) map.add("key", "set");
    if (sa.integrity_key.size() != 0) map.add("integrity_key", "set");
  }
  map.add("replay_window", sa.replay_window);
  map.add("esn", sa.esn);
  if (sa.encapsulation)
    map.add("encapsulation",
            fmt::format("{{source_port: {}, destination_port: {}}}", sa.encapsulation->source_port,
                        sa.encapsulation->destination_port));
  if (sa.lifetime != IpsecLifetime{}) map.add("lifetime", lifetime_text(sa.lifetime));
  map.add_unless("copy_dscp", sa.copy_dscp, true);
  map.add_unless("copy_dont_fragment", sa.copy_dont_fragment, true);
  map.add_unless("ecn", sa.ecn, true);
  map.add_unless("tfc_pad", sa.tfc_pad, uint16_t{0});
  return map.text();
}

std::string to_string(const IpsecPolicyConfig& policy) {
  Map map;
  map.add("direction", to_string(policy.direction));
  map.add("source", quoted(policy.source.to_string()));
  map.add("destination", quoted(policy.destination.to_string()));
  if (policy.protocol != 0) map.add("protocol", protocol_text(policy.protocol));
  map.add_given("source_port", policy.source_port);
  map.add_given("destination_port", policy.destination_port);
  map.add("priority", policy.priority);
  map.add_unless("if_id", policy.if_id, 0u);
  map.add("action", to_string(policy.action));
  if (policy.protect) map.add("protect", template_text(*policy.protect));
  return map.text();
}

}  // namespace hecto::config
