#include "config/file/filter_words.hpp"

#include <utility>

namespace hecto::config {
namespace {

// RFC 2474, 2597, 3246, 5865, 8622.
constexpr std::pair<std::string_view, uint8_t> kDscps[] = {
    {"cs0", 0},   {"le", 1},    {"cs1", 8},   {"af11", 10},        {"af12", 12}, {"af13", 14},
    {"cs2", 16},  {"af21", 18}, {"af22", 20}, {"af23", 22},        {"cs3", 24},  {"af31", 26},
    {"af32", 28}, {"af33", 30}, {"cs4", 32},  {"af41", 34},        {"af42", 36}, {"af43", 38},
    {"cs5", 40},  {"ef", 46},   {"cs6", 48},  {"voice-admit", 44}, {"cs7", 56}};

// Of several words for one type the first is written.
constexpr IcmpWord kIcmpTypes[] = {
    {"echo-request", 8, 128},
    {"echo-reply", 0, 129},
    {"unreachable", 3, 1},
    {"time-exceeded", 11, 3},
    {"parameter-problem", 12, 4},
    {"redirect", 5, 137},
    {"router-advertisement", 9, 134},  // RFC 1256, RFC 4861
    {"router-solicitation", 10, 133},
    {"timestamp-request", 13, -1},
    {"timestamp-reply", 14, -1},
    {"packet-too-big", -1, 2},
    {"mld-query", -1, 130},
    {"mld-report", -1, 131},
    {"mld-done", -1, 132},
    {"neighbor-solicitation", -1, 135},
    {"neighbor-advertisement", -1, 136},
    {"mld2-report", -1, 143},
    {"destination-unreachable", 3, 1},
    {"ttl-exceeded", 11, 3},
    {"router-advert", 9, 134},
    {"router-solicit", 10, 133},
    {"neighbor-solicit", -1, 135},
    {"neighbor-advert", -1, 136},
};

}  // namespace

std::string dscp_text(uint8_t dscp) {
  for (const auto& [name, number] : kDscps)
    if (number == dscp) return std::string(name);
  return std::to_string(dscp);
}

std::optional<uint8_t> dscp_by_name(std::string_view word) {
  for (const auto& [name, number] : kDscps)
    if (name == word) return number;
  return std::nullopt;
}

const IcmpWord* icmp_by_name(std::string_view word) noexcept {
  for (const IcmpWord& each : kIcmpTypes)
    if (each.name == word) return &each;
  return nullptr;
}

const IcmpWord* icmp_by_type(bool ipv4, bool ipv6, uint32_t type) noexcept {
  for (const IcmpWord& each : kIcmpTypes) {
    if (ipv4 && ipv6 && each.ipv6 < 0) continue;
    if (static_cast<int64_t>(ipv4 ? each.ipv4 : each.ipv6) == type) return &each;
  }
  return nullptr;
}

std::optional<uint8_t> icmp6_type_of(uint8_t icmp_type) noexcept {
  const IcmpWord* word = icmp_by_type(true, true, icmp_type);
  return word == nullptr ? std::nullopt : std::optional(static_cast<uint8_t>(word->ipv6));
}

}  // namespace hecto::config
