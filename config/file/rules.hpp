// VRFs and policy rules of the file, in the words of iproute2. Values only; tables have Linux's numbers.
//
// Source: ip-rule(8), ip-vrf(8).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lookup/prefix.hpp"

namespace hecto::config {

inline constexpr uint32_t kMainTable = 254;
inline constexpr size_t kMostTables = 4095;  // beside main

// Priorities of the rules that are there by themselves: without VRFs main's and default's, with VRFs
// all. Linux has the first of VRFs' (l3mdev); the second keeps what their tables have no route for
// from main, as Linux's documentation asks for.
inline constexpr uint32_t kVrfPriority = 1000;
inline constexpr uint32_t kVrfEndPriority = 2000;
inline constexpr uint32_t kLocalPriority = 32765;  // with VRFs; else 0
inline constexpr uint32_t kMainPriority = 32766;
inline constexpr uint32_t kDefaultPriority = 32767;  // IPv4's alone

struct VrfConfig {
  std::string name;
  uint32_t table = 0;
  bool operator==(const VrfConfig&) const = default;
};

enum class RuleFamily : uint8_t { kAuto, kIpv4, kIpv6 };
enum class RuleRefusal : uint8_t { kNone, kBlackhole, kUnreachable, kProhibit };

struct PortSpan {
  uint16_t first = 0, last = 0;  // both included
  bool operator==(const PortSpan&) const = default;
};

struct RuleConfig {
  uint32_t priority = 0;
  RuleFamily family = RuleFamily::kAuto;  // that of from and to; without them both
  std::optional<lookup::IpPrefix> from, to;
  std::string iif;      // an interface or a VRF; empty: any
  bool invert = false;  // key: not
  std::optional<uint8_t> dscp;
  uint8_t ip_protocol = 0;                        // key: ipproto; 0: any
  std::optional<PortSpan> sources, destinations;  // keys: sport, dport
  // What becomes of a packet: one of these. The table of `vrf` stands in `table`, too.
  uint32_t table = 0;
  std::string vrf;
  std::optional<uint32_t> target;  // key: goto; a priority
  RuleRefusal action = RuleRefusal::kNone;
  bool operator==(const RuleConfig&) const = default;

  bool holds_for(lookup::Family of) const;  // whether it is one of that family's rules
};

const char* to_string(RuleFamily family) noexcept;
const char* to_string(RuleRefusal refusal) noexcept;
std::string to_string(const VrfConfig& vrf);    // red: {table: 10}
std::string to_string(const RuleConfig& rule);  // {priority: 100, from: 10.0.0.0/8, table: 1001}
std::string table_words(uint32_t table);        // main, or the number

}  // namespace hecto::config
