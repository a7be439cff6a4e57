// `ipsec:` of the file: static SAs and policies. Plain values, in the words of iproute2; keys in a
// type that wipes itself and that nothing prints.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/net.hpp"
#include "config/file/secret_key.hpp"
#include "lookup/prefix.hpp"

namespace hecto::config {

struct IpsecAlgorithm {
  std::string_view name;
  uint8_t key_bytes;  // of ciphers with the salt (RFC 4106, 3686, 4543, 7634), as iproute2 has it
  bool aead = false;  // protects integrity itself
};
std::span<const IpsecAlgorithm> ipsec_ciphers() noexcept;
std::span<const IpsecAlgorithm> ipsec_integrities() noexcept;

struct IpsecLifetime {  // nothing: no limit
  std::optional<uint64_t> soft_bytes, hard_bytes;
  std::optional<uint64_t> soft_packets, hard_packets;
  std::optional<uint64_t> soft_add_s, hard_add_s;
  std::optional<uint64_t> soft_use_s, hard_use_s;
  bool operator==(const IpsecLifetime&) const = default;
};

struct IpsecSaConfig {
  lookup::IpAddress source, destination;
  Spi spi = 0;
  IpsecMode mode = IpsecMode::kTunnel;
  uint32_t reqid = 0, if_id = 0;
  std::string cipher, integrity;  // names of the tables above; integrity empty with an AEAD
  SecretKey cipher_key;           // key, then salt
  SecretKey integrity_key;
  std::string key_file;  // that they came from; empty: written in the file itself
  uint16_t replay_window = 0;
  bool esn = false;
  std::optional<UdpEncapsulation> encapsulation;
  IpsecLifetime lifetime;
  bool copy_dscp = true, copy_dont_fragment = true, ecn = true;
  uint16_t tfc_pad = 0;
  bool operator==(const IpsecSaConfig&) const = default;
};

struct IpsecTemplateConfig {
  std::optional<lookup::IpAddress> source, destination;  // needed in tunnel mode
  uint32_t reqid = 0;                                    // 0: any
  Spi spi = 0;                                           // 0: any
  IpsecMode mode = IpsecMode::kTunnel;
  bool optional = false;
  bool operator==(const IpsecTemplateConfig&) const = default;
};

struct IpsecPolicyConfig {
  PolicyDirection direction = PolicyDirection::kOut;
  lookup::IpPrefix source, destination;
  uint8_t protocol = 0;  // 0: any
  std::optional<uint16_t> source_port, destination_port;
  uint32_t priority = 0;
  uint32_t if_id = 0;
  PolicyAction action = PolicyAction::kProtect;
  std::optional<IpsecTemplateConfig> protect;  // of kProtect
  bool operator==(const IpsecPolicyConfig&) const = default;
};

// What encrypts; kAuto: ipsec-mb where the CPU has AES-NI.
enum class IpsecCrypto : uint8_t { kAuto, kIpsecMb, kOpenSsl };

// Crypto of ports' NICs; kAuto: where a port offers it.
enum class IpsecNic : uint8_t { kAuto, kNever };

struct IpsecConfig {
  IpsecCrypto crypto = IpsecCrypto::kAuto;
  IpsecNic nic = IpsecNic::kAuto;
  uint32_t max_sas = 16384, max_policies = 16384;
  bool export_keys = false;  // to root, by `hecto capture --esp-keys`
  std::vector<IpsecSaConfig> sas;
  std::vector<IpsecPolicyConfig> policies;
  bool operator==(const IpsecConfig&) const = default;
};

// What tells one policy, or SA, from another.
inline auto key_of(const IpsecPolicyConfig& policy) {
  return std::tuple(policy.direction, policy.source, policy.destination, policy.protocol,
                    policy.source_port, policy.destination_port, policy.if_id);
}
inline auto key_of(const IpsecSaConfig& sa) {
  return std::pair(sa.destination, sa.spi);
}

const char* to_string(IpsecCrypto crypto) noexcept;
const char* to_string(IpsecNic nic) noexcept;
// {source: ..., destination: ..., spi: 0x..., ...}; an inline key shows as `set`.
std::string to_string(const IpsecSaConfig& sa);
std::string to_string(const IpsecPolicyConfig& policy);
std::string protocol_text(uint8_t protocol);  // tcp, udp, ... or the number
std::optional<uint8_t> protocol_by_name(std::string_view word);
bool has_ports(uint8_t protocol) noexcept;  // TCP, UDP, DCCP, SCTP, UDP-Lite

}  // namespace hecto::config
