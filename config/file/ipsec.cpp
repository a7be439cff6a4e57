#include "config/file/ipsec.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <utility>

#include "base/esp_algorithms.hpp"
#include "config/file/keys.hpp"

namespace hecto::config {
namespace {

constexpr auto kCiphers = [] {
  std::array<IpsecAlgorithm, std::size(kEspCiphers)> list;
  for (size_t i = 0; i < list.size(); ++i) {
    const EspCipherEntry& entry = kEspCiphers[i];
    list[i] = {entry.name, static_cast<uint8_t>(entry.key_bytes + entry.salt_bytes),
               entry.icv_bytes != 0};
  }
  return list;
}();
constexpr auto kIntegrities = [] {
  std::array<IpsecAlgorithm, std::size(kEspIntegrities)> list;
  for (size_t i = 0; i < list.size(); ++i)
    list[i] = {kEspIntegrities[i].name, kEspIntegrities[i].key_bytes};
  return list;
}();

constexpr std::pair<std::string_view, uint8_t> kProtocols[] = {
    {"icmp", 1},  {"igmp", 2},  {"ipip", 4},   {"tcp", 6},    {"udp", 17},
    {"dccp", 33}, {"gre", 47},  {"esp", 50},   {"ah", 51},    {"icmp6", 58},
    {"ospf", 89}, {"pim", 103}, {"vrrp", 112}, {"sctp", 132}, {"udplite", 136}};

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

bool has_ports(uint8_t protocol) noexcept {
  for (uint8_t known : {6, 17, 33, 132, 136})
    if (protocol == known) return true;
  return false;
}

std::string to_string(const IpsecSaConfig& sa) {
  return flow_map(sa_keys, sa);
}

std::string to_string(const IpsecPolicyConfig& policy) {
  return flow_map(policy_keys, policy);
}

}  // namespace hecto::config
