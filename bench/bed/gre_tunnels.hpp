// GRE tunnels of a bed, over IPv4 and without keys: routes that lead into some, or frames that come out
// of one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/net.hpp"
#include "base/result.hpp"

namespace hecto::router {
class Router;
}

namespace hecto::bench {

inline constexpr unsigned kOuterBytes = 24;  // IPv4 and GRE

// Tunnels whose other ends are the bed's first neighbors, one each; `out`: and one whose packets the first
// receive port replays. Interfaces of those that packets go into, in the order of the neighbors.
Result<std::vector<InterfaceId>> make_gre_tunnels(router::Router& router, unsigned into, bool out);

// Before a frame's own IP packet, with its Ethernet header's addresses: Ethernet, IPv4, GRE. `bytes`: of
// the frame that is inside, with its Ethernet header.
inline constexpr unsigned kGreFront = 14 + kOuterBytes;
std::array<uint8_t, kGreFront> gre_front(std::span<const uint8_t, 12> macs, uint16_t bytes,
                                         bool inner4);

// What is wrong with the headers in front of a packet that has gone into the tunnel to the neighbor with
// that MAC; none: nothing.
std::optional<std::string> wrong_gre_front(std::span<const uint8_t> frame, unsigned side,
                                           const MacAddress& neighbor);

}  // namespace hecto::bench
