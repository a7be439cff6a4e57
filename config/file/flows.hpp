// The flow table's own words: what the file says of it, and an entry as the API and `hecto flow` give it.
// Values only. docs/flows.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "lookup/prefix.hpp"

namespace hecto::config {

inline constexpr uint32_t kMostFlows = 1u << 24;
inline constexpr const char* kMissRoute = "route";
inline constexpr const char* kMissDrop = "drop";

// The section `flows` of the file.
struct FlowsConfig {
  std::vector<std::string> interfaces;  // whose packets are looked up; empty: the table is off
  uint32_t entries = 1u << 20;          // room, of both families together
  std::string miss = kMissRoute;        // route, drop, or the interface that it leaves by
  bool operator==(const FlowsConfig&) const = default;
  bool on() const { return !interfaces.empty(); }
};

// What an entry asks of a packet, all of it.
struct FlowMatch {
  lookup::Family family = lookup::Family::kIpv4;
  std::string interface;  // that it came in by; empty: any
  std::optional<lookup::IpPrefix> from, to;
  uint8_t protocol = 0;  // 0: any
  std::optional<uint16_t> sport, dport;
  std::optional<uint8_t> icmp_type, icmp_code;
  uint8_t tcp_mask = 0, tcp_set = 0;  // flags of `mask` are as in `set` (RFC 9293)
  std::optional<uint8_t> dscp;
  std::optional<uint32_t> mark;  // that a filter gave it
  bool operator==(const FlowMatch&) const = default;
};

enum class FlowVerdict : uint8_t { kAccept, kDrop, kOutput };  // kAccept: it goes on, and is routed

struct FlowActions {
  FlowVerdict verdict = FlowVerdict::kAccept;
  std::string output;             // kOutput: an interface
  std::optional<MacAddress> mac;  // kOutput: the destination; none: both addresses stay
  bool decrement_ttl = false;     // kOutput
  std::optional<lookup::IpAddress> from, to;
  std::optional<uint16_t> sport, dport;
  std::optional<uint8_t> dscp;
  std::optional<uint32_t> mark;
  bool operator==(const FlowActions&) const = default;
};

struct FlowConfig {
  FlowMatch match;
  uint32_t priority = 0;            // the highest wins
  bool priority_given = false;      // of what is to be deleted: only with that one
  uint32_t idle_s = 0, hard_s = 0;  // it goes so long after its last packet, its begin; 0: it stays
  FlowActions actions;
  bool operator==(const FlowConfig&) const = default;
};

}  // namespace hecto::config
