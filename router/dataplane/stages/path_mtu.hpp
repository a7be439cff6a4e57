// What routers between say of ESP that does not fit a link of theirs: ICMP type 3 code 4 (RFC
// 1191), ICMPv6 type 2 (RFC 8201), with the head of the packet that they mean.
#pragma once

#include <cstdint>
#include <optional>

#include "base/net.hpp"
#include "lookup/prefix.hpp"

namespace hecto::router {

struct PathMtu {
  Spi spi = 0;  // host order
  lookup::Family family = lookup::Family::kIpv4;
  const uint8_t *source = nullptr, *destination = nullptr;  // of the packet that was too big
  uint32_t mtu = 0;
};

// Nothing where it is another message, a wrong checksum, no ESP (bare or in UDP by port 4500), or
// so little of it that the SPI is not there. `ip`: a whole packet of `bytes`, header checked.
std::optional<PathMtu> read_path_mtu4(const uint8_t* ip, uint32_t bytes) noexcept;
std::optional<PathMtu> read_path_mtu6(const uint8_t* ip, uint32_t bytes) noexcept;

}  // namespace hecto::router
