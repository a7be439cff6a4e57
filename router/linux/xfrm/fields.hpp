// Pieces that XFRM's messages about states and policies share. For this
// room's decoders alone.
#pragma once

#include <arpa/inet.h>
#include <linux/xfrm.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string>

#include "router/ipsec/esp/sa_state.hpp"
#include "router/linux/xfrm/decoded.hpp"

namespace hecto::router::detail {

template <typename Header>
Bytes attributes_behind(const Message& message) noexcept {
  const size_t skip = NLMSG_ALIGN(sizeof(Header));
  return message.body.size() > skip ? message.body.subspan(skip) : Bytes{};
}

// False when the payload is too short.
template <typename T>
bool take(Bytes payload, T& out) noexcept {
  const auto value = read_pod<T>(payload);
  if (value) out = *value;
  return value.has_value();
}

// A packet of the fast path carries no mark: what asks for one never fits it.
inline bool needs_mark(const xfrm_mark& mark) noexcept {
  return mark.v != 0;
}

inline XfrmDecoded refuse(std::string& why, std::string text) {
  why = std::move(text);
  return XfrmDecoded::kUnsupported;
}

// The functions below are false, or nothing, where the kernel would never have sent it.
// xfrm_address_t of `family` (AF_INET, AF_INET6).
std::optional<IpAddress> xfrm_address(const void* address, int family) noexcept;
bool read_id(const xfrm_address_t& destination, uint32_t spi_be, int family, SaId& out) noexcept;
// `family`: where the selector itself names none.
bool read_selector(const xfrm_selector& from, int family, IpsecSelector& out) noexcept;
std::optional<IpsecMode> read_mode(uint8_t mode) noexcept;

}  // namespace hecto::router::detail
