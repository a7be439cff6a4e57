#include "router/linux/xfrm/fields.hpp"

#include <cstring>

namespace hecto::router::detail {

std::optional<IpAddress> xfrm_address(const void* address, int family) noexcept {
  if (family != AF_INET && family != AF_INET6) return std::nullopt;
  IpAddress result;
  result.family = family == AF_INET ? Family::kIpv4 : Family::kIpv6;
  std::memcpy(result.bytes.data(), address, result.size());
  return result;
}

namespace {

bool read_prefix(const xfrm_address_t& address, uint8_t length, int family, IpPrefix& out) {
  const auto read = xfrm_address(&address, family);
  if (!read || length > read->size() * 8) return false;
  out = {*read, length};
  for (unsigned bit = length; bit < read->size() * 8; ++bit) {
    out.address.bytes[bit / 8] &= static_cast<uint8_t>(~(0x80U >> (bit % 8)));
  }
  return true;
}

}  // namespace

bool read_selector(const xfrm_selector& from, int family, IpsecSelector& out) noexcept {
  if (from.family != AF_UNSPEC) family = from.family;
  if (!read_prefix(from.saddr, from.prefixlen_s, family, out.source)) return false;
  if (!read_prefix(from.daddr, from.prefixlen_d, family, out.destination)) return false;
  out.family = out.source.address.family;
  out.protocol = from.proto;
  out.source_port_mask = ntohs(from.sport_mask);
  out.source_port = ntohs(from.sport) & out.source_port_mask;
  out.destination_port_mask = ntohs(from.dport_mask);
  out.destination_port = ntohs(from.dport) & out.destination_port_mask;
  return true;
}

bool read_id(const xfrm_address_t& destination, uint32_t spi_be, int family, SaId& out) noexcept {
  const auto address = xfrm_address(&destination, family);
  if (!address) return false;
  out = {*address, Spi(ntohl(spi_be))};
  return true;
}

std::optional<IpsecMode> read_mode(uint8_t mode) noexcept {
  if (mode == XFRM_MODE_TRANSPORT) return IpsecMode::kTransport;
  if (mode == XFRM_MODE_TUNNEL) return IpsecMode::kTunnel;
  return std::nullopt;
}

}  // namespace hecto::router::detail
