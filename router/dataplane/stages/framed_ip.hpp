// Where the IP packet of a frame begins, wherever it stands: behind tags of 802.1Q and 802.1ad, labels
// of MPLS, PPPoE. For policies, which hold for all of them; the fast path reads its own frames.
#pragma once

#include <cstdint>

#include "lookup/prefix.hpp"

namespace hecto::router {

struct FramedIp {
  const uint8_t* ip = nullptr;  // null: the frame has no IP packet that is known here
  uint32_t bytes = 0;           // of the packet that lie there, no more than it says to have
  uint32_t l2_bytes = 0;        // in front of it
  lookup::Family family = lookup::Family::kIpv4;
  bool plain = false;    // behind an Ethernet header and at most one tag of 802.1Q
  bool whole = false;    // the frame ends where the packet does
  bool damaged = false;  // it should be IP, and is none that can be read
};

// Never reads beyond `bytes`.
FramedIp find_ip(const uint8_t* frame, uint32_t bytes) noexcept;

// What a link lives by, which no policy holds for: neighbor discovery with its hop limit of 255 (RFC
// 4861: no router has passed it on), MLD with 1 from a link-local address or none (RFC 3810 §5). For
// packets that are not forwarded.
bool keeps_link_alive(lookup::Family family, const uint8_t* ip, uint32_t bytes) noexcept;

}  // namespace hecto::router
