// Words that filters have for numbers of the headers: DSCPs, ICMP types, TCP flags. Pure.
//
// Sources: the IANA registries of DSCPs, ICMP types, ICMPv6 types and TCP header flags.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hecto::config {

// ef, af11, cs6 and others, else the number.
std::string dscp_text(uint8_t dscp);
std::optional<uint8_t> dscp_by_name(std::string_view word);  // words alone

// A word for a type of ICMP, of ICMPv6, or of both.
struct IcmpWord {
  std::string_view name;
  int16_t ipv4, ipv6;  // -1: that family has none
};
const IcmpWord* icmp_by_name(std::string_view word) noexcept;  // null: none
// The word of a type that ICMP, ICMPv6 or both have; null: none.
const IcmpWord* icmp_by_type(bool ipv4, bool ipv6, uint32_t type) noexcept;

// Of a type of ICMP the one of ICMPv6 that says the same: of rules that hold for both families.
std::optional<uint8_t> icmp6_type_of(uint8_t icmp_type) noexcept;

// RFC 9293 §3.1, from bit 0.
inline constexpr std::array<std::string_view, 8> kTcpFlags = {"fin", "syn", "rst", "psh",
                                                              "ack", "urg", "ece", "cwr"};

}  // namespace hecto::config
