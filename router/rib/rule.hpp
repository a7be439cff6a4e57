// A policy routing rule as Linux or the file tells it (`ip rule`, RFC 1812 has no such thing): which packets it
// is about, and what becomes of them. Values only.
//
// Source: ip-rule(8), net/core/fib_rules.c.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "router/rib/route.hpp"

namespace hecto::router {

enum class RuleAction : uint8_t {
  kTable,  // look up in `table`; the next rule where it has no route
  kGoto,   // go on at the first rule of priority `target`; without one, as kNop
  kNop,
  kBlackhole,
  kUnreachable,
  kProhibit
};

struct PortRange {
  uint16_t first = 0, last = 0;  // both included; 0, 0: any
  bool any() const { return last == 0; }
  bool contains(uint16_t port) const { return port >= first && port <= last; }
  bool operator==(const PortRange&) const = default;
};

struct PolicyRule {
  Family family = Family::kIpv4;
  uint32_t priority = 0;  // ascending; rules of one priority keep the order in which they came
  RuleAction action = RuleAction::kTable;
  uint32_t table = 0;                // kTable; with `l3mdev` that of the device's VRF
  uint32_t target = 0;               // kGoto: a priority
  bool invert = false;               // `not`: it is about all packets but these
  std::optional<IpPrefix> from, to;  // none: any
  std::string iif, oif;              // names; empty: any
  uint8_t tos = 0;                   // 0: any
  std::optional<uint8_t> dscp;       // all six bits are compared; none: any
  uint32_t fwmark = 0, fwmask = 0;   // 0, 0: any
  uint8_t ip_protocol = 0;           // 0: any
  PortRange source_ports, destination_ports;
  bool l3mdev = false;                             // of packets of VRF members
  std::optional<uint32_t> suppress_prefix_length;  // routes of this length and less do not count
  bool other_selectors = false;  // it asks for more: a user, a tunnel, what is younger than this
  uint8_t protocol = 0;          // who made it: kernel 2, boot 3, static 4 ...
  bool operator==(const PolicyRule&) const = default;
};

}  // namespace hecto::router
