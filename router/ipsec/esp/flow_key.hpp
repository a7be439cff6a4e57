// A packet's five-tuple as policies look at it (RFC 4301 §4.4.1.1), read as Linux's
// xfrm_decode_session does.
#pragma once

#include <cstdint>

#include "lookup/prefix.hpp"

namespace hecto::router::esp {

// What of a packet a selector may ask for and nobody can see (RFC 4301 §4.4.1.2: OPAQUE): ports of
// fragments and of headers that are cut off; with them the protocol, in a later fragment of IPv6 and
// behind more extension headers than are looked at. AH and ESP are protocols as any (§4.4.1.1).
enum class Unseen : uint8_t { kNothing, kPorts, kProtocol };

// Ports are 0 where the packet has none (fragments, other protocols); ICMP's
// type and code stand in the ports as Linux puts them. Host order; IPv4 addresses in the first
// word.
struct FlowKey {
  lookup::Family family;
  uint8_t protocol;
  uint16_t source_port, destination_port;
  lookup::Ipv6Address source, destination;  // IPv4: the first four bytes, network order
  Unseen unseen = Unseen::kNothing;
};
// Never reads beyond `bytes`; `ip` is a header that classify has cleared. Fragments have no ports,
// the first one neither, so that all of a packet meet one policy. Behind more extension headers
// than are looked at (8), and behind AH, the protocol is that of the last header seen.
FlowKey flow_key(lookup::Family family, const uint8_t* ip, uint32_t bytes) noexcept;

}  // namespace hecto::router::esp
