#include "config/file/addresses.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace hecto::config {
namespace {

using lookup::Family;
using lookup::IpAddress;
using lookup::IpPrefix;

bool is_multicast(const IpAddress& address) {
  return address.family == Family::kIpv4 ? (address.bytes[0] & 0xf0) == 0xe0
                                         : address.bytes[0] == 0xff;
}

bool is_loopback(const IpAddress& address) {
  if (address.family == Family::kIpv4) return address.bytes[0] == 127;
  return address == *IpAddress::parse("::1");
}

bool is_unspecified(const IpAddress& address) {
  return std::all_of(address.bytes.begin(), address.bytes.end(), [](uint8_t b) { return b == 0; });
}

// Why no host can have this address; empty when one can.
std::string_view not_a_host(const IpAddress& address) {
  if (is_multicast(address)) return "a multicast address";
  if (is_loopback(address)) return "a loopback address";
  if (is_unspecified(address)) return "the unspecified address";
  if (address.family == Family::kIpv4 && address.bytes[0] >= 240)
    return "a reserved address (RFC 1112 §4)";
  return {};
}

// A text that is no prefix, with what would be one.
void refuse_prefix(const Value& value, const std::string& text, std::string_view example) {
  if (auto loose = IpPrefix::parse_interface(text))
    value.refuse(fmt::format("has bits behind its length; use {}", loose->network().to_string()));
  else
    value.refuse(fmt::format("is not a prefix; use one as {} or 2001:db8::/32", example));
}

}  // namespace

std::optional<MacAddress> read_mac(const Value& value) {
  auto text = value.text("a MAC address, as 02:00:00:00:00:01");
  if (!text) return std::nullopt;
  const std::optional<MacAddress> mac = parse_mac_address(*text);
  if (!mac) {
    value.refuse("is not a MAC address; use one as 02:00:00:00:00:01");
  } else if (((*mac)[0] & 1) != 0) {
    value.refuse("is a group address (multicast); use one whose first byte is even");
  } else if (*mac == MacAddress{}) {
    value.refuse("is all zeros; use one as 02:00:00:00:00:01");
  } else {
    return mac;
  }
  return std::nullopt;
}

std::optional<IpPrefix> read_interface_address(const Value& value) {
  auto text = value.text("an address, as 192.0.2.1/24");
  if (!text) return std::nullopt;
  auto prefix = IpPrefix::parse_interface(*text);
  auto refuse = [&](std::string_view what) {
    value.refuse(what);
    return std::nullopt;
  };
  if (!prefix) return refuse("is not an address with a length; use one as 192.0.2.1/24");
  if (text->find('/') == std::string::npos)
    return refuse(fmt::format("has no length; use {}/{}", *text,
                              prefix->address.family == Family::kIpv4 ? 24 : 64));
  if (std::string_view why = not_a_host(prefix->address); !why.empty())
    return refuse(fmt::format("is {}; use an address of this router's own", why));
  if (prefix->length == 0) return refuse("covers everything; use a length of 1 or more");
  if (prefix->address.family == Family::kIpv4 && prefix->length < 31) {  // RFC 3021: /31 has none
    uint32_t host = UINT32_MAX >> prefix->length;
    uint32_t bits = prefix->address.v4().value & host;
    if (bits == 0) return refuse("is the network's own address; use one of its hosts'");
    if (bits == host) return refuse("is the network's broadcast address; use one of its hosts'");
  }
  return prefix;
}

std::optional<IpAddress> read_host(const Value& value, std::string_view example) {
  auto text = value.text(fmt::format("an address, as {}", example));
  if (!text) return std::nullopt;
  auto address = IpAddress::parse(*text);
  if (!address) {
    value.refuse(fmt::format("is not an address; use one as {}", example));
    return std::nullopt;
  }
  if (std::string_view why = not_a_host(*address); !why.empty()) {
    value.refuse(fmt::format("is {}; use a neighbor's own address", why));
    return std::nullopt;
  }
  return address;
}

std::optional<IpAddress> read_unicast(const Value& value) {
  auto text = value.text("an address, as 192.0.2.1");
  if (!text) return std::nullopt;
  auto address = IpAddress::parse(*text);
  const bool unspecified = address && std::all_of(address->bytes.begin(), address->bytes.end(),
                                                  [](uint8_t b) { return b == 0; });
  if (address && !unspecified && address->bytes[0] != 0xff &&
      (address->family == lookup::Family::kIpv6 || address->bytes[0] < 224))
    return address;
  value.refuse("is no end of a tunnel; use a unicast address, as 192.0.2.1");
  return std::nullopt;
}

std::optional<IpPrefix> read_route_prefix(const Value& value) {
  auto text = value.text("a prefix, as 203.0.113.0/24");
  if (!text) return std::nullopt;
  auto prefix = *text == "default" ? IpPrefix::parse("0.0.0.0/0") : IpPrefix::parse(*text);
  if (prefix) {
    if (!is_multicast(prefix->address)) return prefix;
    value.refuse("is multicast, which this router does not route; use a unicast prefix");
    return std::nullopt;
  }
  refuse_prefix(value, *text, "203.0.113.0/24");
  return std::nullopt;
}

std::optional<IpPrefix> read_selector(const Value& value) {
  auto text = value.text("a prefix, as 10.1.0.0/16");
  if (!text) return std::nullopt;
  if (auto prefix = IpPrefix::parse(*text)) return prefix;
  refuse_prefix(value, *text, "10.1.0.0/16");
  return std::nullopt;
}

}  // namespace hecto::config
