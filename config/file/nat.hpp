// Network address translation of the file: pools of outside addresses, and rules that say whose
// packets are translated where. Values only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "lookup/prefix.hpp"

namespace hecto::config {

inline constexpr size_t kMostNatRules = 4096;
inline constexpr size_t kMostNatPools = 64;
inline constexpr size_t kMostNatPoolAddresses = 1024;  // of one pool
inline constexpr uint64_t kMostNatSessions = 64'000'000;
inline constexpr uint16_t kFirstNatPort = 1024, kLastNatPort = 65535;
// Of an address that is the router's own as well: below the ports that Linux opens from.
inline constexpr uint16_t kFirstSharedNatPort = 8192, kLastSharedNatPort = 32767;

// Which packets from outside a mapping lets in (RFC 4787 §5).
enum class NatFiltering : uint8_t { kEndpointIndependent, kAddressDependent };

// Addresses that hosts share, by ports; IPv4.
struct NatPoolConfig {
  std::string name;
  std::vector<lookup::IpPrefix> addresses;
  uint16_t first_port = kFirstNatPort, last_port = kLastNatPort;  // and ICMP's ids
  uint32_t block_size = 512;                                      // ports; a power of two
  uint16_t blocks_per_host = 4;
  uint32_t sessions_per_host = 4096;
  uint32_t sessions = 131072;  // of the pool
  NatFiltering filtering = NatFiltering::kEndpointIndependent;
  uint32_t udp_timeout_s = 300;               // RFC 4787 REQ-5: not below 120
  uint32_t tcp_established_timeout_s = 7440;  // RFC 5382 REQ-5
  uint32_t tcp_transitory_timeout_s = 240;
  uint32_t icmp_timeout_s = 60;  // RFC 5508 REQ-2
  bool operator==(const NatPoolConfig&) const = default;

  uint64_t address_count() const;
  uint32_t blocks_per_address() const { return (last_port + 1u - first_port) / block_size; }
};

// Packets from `inside` that leave by `out`: either each address has its own of `outside`, a prefix
// of the same length, or all share those of `pool`.
struct NatRuleConfig {
  lookup::IpPrefix inside;
  lookup::IpPrefix outside;  // of 1:1
  std::string pool;          // empty: 1:1
  std::string out;           // an interface
  bool operator==(const NatRuleConfig&) const = default;
};

struct NatConfig {
  std::vector<NatPoolConfig> pools;
  std::vector<NatRuleConfig> rules;
  bool operator==(const NatConfig&) const = default;
  bool empty() const { return rules.empty(); }
};

const char* to_string(NatFiltering filtering) noexcept;
std::string to_string(const NatPoolConfig& pool);  // main: {addresses: [203.0.113.1/32], ...}
std::string to_string(const NatRuleConfig& rule);  // {inside: 10.1.0.0/24, pool: main, out: wan0}

}  // namespace hecto::config
