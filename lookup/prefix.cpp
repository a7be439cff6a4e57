#include "lookup/prefix.hpp"

#include <algorithm>
#include <cstring>

namespace hecto::lookup {
namespace {

// Longest forms: "255.255.255.255/32" and eight groups of four with "/128".
constexpr size_t kMaxText4 = 18;
constexpr size_t kMaxText6 = 50;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A decimal of at most three digits, no leading zero, at most `limit`. Moves `at` behind it.
bool parse_decimal(std::string_view text, size_t& at, unsigned limit, unsigned& value) {
  size_t start = at;
  value = 0;
  while (at < text.size() && at - start < 3 && is_digit(text[at])) {
    value = value * 10 + static_cast<unsigned>(text[at++] - '0');
  }
  if (at == start || value > limit) return false;
  return text[start] != '0' || at == start + 1;
}

char* write_decimal(char* out, unsigned value) {
  if (value >= 100) *out++ = static_cast<char>('0' + value / 100);
  if (value >= 10) *out++ = static_cast<char>('0' + value / 10 % 10);
  *out++ = static_cast<char>('0' + value % 10);
  return out;
}

char* write_hex(char* out, unsigned group) {
  constexpr char kDigits[] = "0123456789abcdef";
  int shift = group > 0xfff ? 12 : group > 0xff ? 8 : group > 0xf ? 4 : 0;
  for (; shift >= 0; shift -= 4) *out++ = kDigits[group >> shift & 0xf];
  return out;
}

char* write(char* out, Ipv4Address address) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    out = write_decimal(out, address.value >> shift & 0xff);
    if (shift != 0) *out++ = '.';
  }
  return out;
}

struct ZeroRun {
  int start = -1;
  int length = 0;
};

// RFC 5952 section 4.2: the longest run of two or more zero groups, the first of equals.
ZeroRun longest_zero_run(const std::array<unsigned, 8>& groups) {
  ZeroRun best;
  for (int i = 0; i < 8;) {
    int end = i;
    while (end < 8 && groups[end] == 0) ++end;
    if (end - i >= 2 && end - i > best.length) best = {i, end - i};
    i = end + 1;
  }
  return best;
}

char* write(char* out, const Ipv6Address& address) {
  std::array<unsigned, 8> groups;
  for (int i = 0; i < 8; ++i) groups[i] = address.bytes[2 * i] << 8 | address.bytes[2 * i + 1];
  ZeroRun run = longest_zero_run(groups);
  // IPv4-compatible and IPv4-mapped (RFC 4291 section 2.5.5) end in dotted form, as inet_ntop.
  bool dotted = run.start == 0 && (run.length == 6 || (run.length == 5 && groups[5] == 0xffff));
  int end = dotted ? 6 : 8;
  for (int i = 0; i < end;) {
    if (i == run.start) {
      *out++ = ':';
      *out++ = ':';
      i += run.length;
      continue;
    }
    if (i != 0 && out[-1] != ':') *out++ = ':';
    out = write_hex(out, groups[i++]);
  }
  if (!dotted) return out;
  if (out[-1] != ':') *out++ = ':';
  return write(out, Ipv4Address{groups[6] << 16 | groups[7]});
}

// Splits "address/length"; without a slash the length is `host_length`.
bool split(std::string_view text, unsigned host_length, std::string_view& address,
           uint8_t& length) {
  size_t slash = text.rfind('/');
  address = text.substr(0, slash);
  length = static_cast<uint8_t>(host_length);
  if (slash == std::string_view::npos) return true;
  size_t at = slash + 1;
  unsigned value;
  if (!parse_decimal(text, at, host_length, value) || at != text.size()) return false;
  length = static_cast<uint8_t>(value);
  return true;
}

Ipv4Address mask(Ipv4Address address, uint8_t length) {
  return {length == 0 ? 0 : address.value & ~uint32_t{0} << (32 - length)};
}

Ipv6Address mask(Ipv6Address address, uint8_t length) {
  unsigned whole = length / 8u;
  if (whole >= 16) return address;
  address.bytes[whole] &= static_cast<uint8_t>(0xff00 >> length % 8);
  std::fill(address.bytes.begin() + whole + 1, address.bytes.end(), uint8_t{0});
  return address;
}

}  // namespace

std::optional<Ipv4Address> Ipv4Address::parse(std::string_view text) {
  uint32_t value = 0;
  size_t at = 0;
  for (int i = 0; i < 4; ++i) {
    if (i != 0 && (at >= text.size() || text[at++] != '.')) return std::nullopt;
    unsigned byte;
    if (!parse_decimal(text, at, 255, byte)) return std::nullopt;
    value = value << 8 | byte;
  }
  if (at != text.size()) return std::nullopt;
  return Ipv4Address{value};
}

std::string Ipv4Address::to_string() const {
  char text[kMaxText4];
  return {text, write(text, *this)};
}

std::optional<Ipv6Address> Ipv6Address::parse(std::string_view text) {
  Ipv6Address result;
  size_t at = 0;
  unsigned filled = 0;  // bytes
  int gap = -1;         // where "::" stood
  if (text.substr(0, 2) == "::") {
    gap = 0;
    at = 2;
  } else if (text.empty()) {
    return std::nullopt;
  }
  while (at < text.size()) {
    if (filled >= 16) return std::nullopt;
    size_t start = at;
    unsigned group = 0;
    int digit;
    while (at < text.size() && at - start < 4 && (digit = hex_value(text[at])) >= 0) {
      group = group << 4 | static_cast<unsigned>(digit);
      ++at;
    }
    if (at == start) return std::nullopt;
    if (at < text.size() && text[at] == '.') {  // RFC 4291 section 2.2 form 3
      auto tail = Ipv4Address::parse(text.substr(start));
      if (!tail || filled > 12) return std::nullopt;
      for (int shift = 24; shift >= 0; shift -= 8) {
        result.bytes[filled++] = static_cast<uint8_t>(tail->value >> shift);
      }
      at = text.size();
      break;
    }
    result.bytes[filled++] = static_cast<uint8_t>(group >> 8);
    result.bytes[filled++] = static_cast<uint8_t>(group);
    if (at == text.size()) break;
    if (text[at++] != ':' || at == text.size()) return std::nullopt;
    if (text[at] == ':') {
      if (gap >= 0) return std::nullopt;
      gap = static_cast<int>(filled);
      ++at;
    }
  }
  if (gap < 0) return filled == 16 ? std::optional(result) : std::nullopt;
  if (filled == 16) return std::nullopt;  // "::" stands for one group at least
  std::move_backward(result.bytes.begin() + gap, result.bytes.begin() + filled, result.bytes.end());
  std::fill(result.bytes.begin() + gap, result.bytes.end() - (filled - gap), uint8_t{0});
  return result;
}

std::string Ipv6Address::to_string() const {
  char text[kMaxText6];
  return {text, write(text, *this)};
}

template <typename Address>
Prefix<Address> Prefix<Address>::make(Address address, uint8_t length) {
  return {mask(address, length), length};
}

template <typename Address>
std::optional<Prefix<Address>> Prefix<Address>::parse(std::string_view text) {
  std::string_view address_text;
  uint8_t length;
  if (!split(text, kMaxLength, address_text, length)) return std::nullopt;
  auto address = Address::parse(address_text);
  if (!address) return std::nullopt;
  Prefix result = make(*address, length);
  if (result.address != *address) return std::nullopt;
  return result;
}

template <typename Address>
std::string Prefix<Address>::to_string() const {
  char text[kMaxText6];
  char* end = write(text, address);
  *end++ = '/';
  end = write_decimal(end, length);
  return {text, end};
}

template <typename Address>
bool Prefix<Address>::contains(const Address& host) const {
  return mask(host, length) == address;
}

template <typename Address>
bool Prefix<Address>::contains(const Prefix& other) const {
  return other.length >= length && contains(other.address);
}

template struct Prefix<Ipv4Address>;
template struct Prefix<Ipv6Address>;

std::optional<IpAddress> IpAddress::parse(std::string_view text) {
  if (text.find(':') == std::string_view::npos) {
    auto address = Ipv4Address::parse(text);
    return address ? std::optional(from(*address)) : std::nullopt;
  }
  auto address = Ipv6Address::parse(text);
  return address ? std::optional(from(*address)) : std::nullopt;
}

IpAddress IpAddress::from(Ipv4Address address) {
  IpAddress result;
  for (int i = 0; i < 4; ++i) {
    result.bytes[i] = static_cast<uint8_t>(address.value >> (24 - 8 * i));
  }
  return result;
}

IpAddress IpAddress::from(Ipv6Address address) {
  return {Family::kIpv6, address.bytes};
}

Ipv4Address IpAddress::v4() const {
  return {uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
          uint32_t{bytes[3]}};
}

Ipv6Address IpAddress::v6() const {
  return {bytes};
}

std::string IpAddress::to_string() const {
  return family == Family::kIpv4 ? v4().to_string() : v6().to_string();
}

std::optional<IpPrefix> IpPrefix::parse(std::string_view text) {
  auto result = parse_interface(text);
  if (!result || result->network() != *result) return std::nullopt;
  return result;
}

std::optional<IpPrefix> IpPrefix::parse_interface(std::string_view text) {
  bool is_v6 = text.find(':') != std::string_view::npos;
  std::string_view address_text;
  uint8_t length;
  if (!split(text, is_v6 ? 128 : 32, address_text, length)) return std::nullopt;
  auto address = IpAddress::parse(address_text);
  if (!address) return std::nullopt;
  return IpPrefix{*address, length};
}

Prefix4 IpPrefix::v4() const {
  return Prefix4::make(address.v4(), length);
}

Prefix6 IpPrefix::v6() const {
  return Prefix6::make(address.v6(), length);
}

IpPrefix IpPrefix::network() const {
  if (address.family == Family::kIpv4) return {IpAddress::from(v4().address), length};
  return {IpAddress::from(v6().address), length};
}

bool IpPrefix::contains(const IpAddress& host) const {
  if (host.family != address.family) return false;
  return IpPrefix{host, length}.network().address == network().address;
}

std::string IpPrefix::to_string() const {
  char text[kMaxText6];
  char* end =
      address.family == Family::kIpv4 ? write(text, address.v4()) : write(text, address.v6());
  *end++ = '/';
  end = write_decimal(end, length);
  return {text, end};
}

}  // namespace hecto::lookup
