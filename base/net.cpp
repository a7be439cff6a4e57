#include "base/net.hpp"

#include <cstdio>

namespace hecto {
namespace {

constexpr std::string_view kOrigins[] = {"linux", "file", "api", "neighbor"};
constexpr std::string_view kTypes[] = {"unicast",   "local",       "broadcast", "multicast",
                                       "blackhole", "unreachable", "prohibit"};
constexpr std::string_view kUrpfModes[] = {"off", "loose", "strict"};
constexpr std::string_view kIpsecModes[] = {"transport", "tunnel"};
constexpr std::string_view kDirections[] = {"out", "in", "forward"};
constexpr std::string_view kActions[] = {"protect", "bypass", "discard"};

template <typename Enum, size_t N>
std::string_view word(const std::string_view (&words)[N], Enum value) noexcept {
  return words[static_cast<size_t>(value)];
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  c = static_cast<char>(c | 0x20);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string to_string(const MacAddress& mac) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : mac) {
    if (!text.empty()) text += ':';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 0xf];
  }
  return text;
}

std::string to_string(const VlanTags& tags) {
  std::string text = tags.service ? "802.1ad " : "";
  if (tags.outer_vlan != 0) text += std::to_string(tags.outer_vlan) + '.';
  return text + std::to_string(tags.vlan);
}

std::optional<MacAddress> parse_mac_address(std::string_view text) {
  MacAddress mac{};
  if (text.size() != 3 * mac.size() - 1) return std::nullopt;
  for (size_t i = 0; i < mac.size(); ++i) {
    const int high = hex_digit(text[3 * i]), low = hex_digit(text[3 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    if (i + 1 < mac.size() && text[3 * i + 2] != ':') return std::nullopt;
    mac[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return mac;
}

std::string to_string(Spi spi) {
  char text[sizeof "0x00001000"];
  std::snprintf(text, sizeof text, "0x%08x", spi.value());
  return text;
}

std::string_view to_string(RouteOrigin origin) noexcept {
  return word(kOrigins, origin);
}
std::string_view to_string(RouteType type) noexcept {
  return word(kTypes, type);
}
std::string_view to_string(UrpfMode mode) noexcept {
  return word(kUrpfModes, mode);
}
std::string_view to_string(IpsecMode mode) noexcept {
  return word(kIpsecModes, mode);
}
std::string_view to_string(PolicyDirection direction) noexcept {
  return word(kDirections, direction);
}
std::string_view to_string(PolicyAction action) noexcept {
  return word(kActions, action);
}

}  // namespace hecto
