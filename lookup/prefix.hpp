// Addresses and prefixes of IPv4 and IPv6: values only, no sockets, no allocation.
//
// Byte order: Ipv4Address keeps host order (what look-ups compute with), Ipv6Address keeps the
// sixteen bytes as on the wire. Text forms are those of inet_ntop(3) and CIDR (RFC 4632, RFC 4291,
// RFC 5952). All functions are pure and thread-safe.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hecto::lookup {

enum class Family : uint8_t { kIpv4 = 4, kIpv6 = 6 };

struct Ipv4Address {
  uint32_t value = 0;  // host order

  auto operator<=>(const Ipv4Address&) const = default;
  static std::optional<Ipv4Address> parse(std::string_view text);
  std::string to_string() const;
};

struct Ipv6Address {
  std::array<uint8_t, 16> bytes{};  // network order

  auto operator<=>(const Ipv6Address&) const = default;
  static std::optional<Ipv6Address> parse(std::string_view text);
  std::string to_string() const;
};

// Host bits (those behind `length`) are always zero in a Prefix that `parse` or `make` returned.
template <typename Address>
struct Prefix {
  static constexpr unsigned kMaxLength = sizeof(Address) * 8;

  Address address;
  uint8_t length = 0;

  auto operator<=>(const Prefix&) const = default;
  // Clears the host bits; `length` must be at most kMaxLength.
  static Prefix make(Address address, uint8_t length);
  // "10.0.0.0/8", "10.1.2.3" (a host). Refuses host bits that are set.
  static std::optional<Prefix> parse(std::string_view text);
  std::string to_string() const;
  bool contains(const Address& host) const;
  bool contains(const Prefix& other) const;
};

using Prefix4 = Prefix<Ipv4Address>;
using Prefix6 = Prefix<Ipv6Address>;

// Either family, for control and configuration (never on the data path).
struct IpAddress {
  Family family = Family::kIpv4;
  std::array<uint8_t, 16> bytes{};  // network order; IPv4 in the first four, the rest zero

  auto operator<=>(const IpAddress&) const = default;
  static std::optional<IpAddress> parse(std::string_view text);
  static IpAddress from(Ipv4Address address);
  static IpAddress from(Ipv6Address address);
  Ipv4Address v4() const;                                             // family must be kIpv4
  Ipv6Address v6() const;                                             // family must be kIpv6
  unsigned size() const { return family == Family::kIpv4 ? 4 : 16; }  // bytes
  std::string to_string() const;
};

// An address with a prefix length: a route's destination (host bits zero) or an interface address
// (host bits kept).
struct IpPrefix {
  IpAddress address;
  uint8_t length = 0;

  auto operator<=>(const IpPrefix&) const = default;
  static std::optional<IpPrefix> parse(std::string_view text);            // refuses host bits
  static std::optional<IpPrefix> parse_interface(std::string_view text);  // keeps host bits
  Prefix4 v4() const;                                                     // host bits cleared
  Prefix6 v6() const;
  IpPrefix network() const;  // host bits cleared
  bool contains(const IpAddress& host) const;
  std::string to_string() const;
};

}  // namespace hecto::lookup
