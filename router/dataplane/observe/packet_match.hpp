// Which packets an operator asks for: what `hecto trace` and `hecto capture` have in common.
//
// Pure; reads packets only, as far as their first segment holds them.
#pragma once

#include <optional>

#include "router/dataplane/core/dpdk.hpp"
#include "router/rib/route.hpp"

namespace hecto::router {

struct PacketMatch {
  std::optional<IpPrefix> from, to;
  std::optional<PortId> port;                   // DPDK's number
  std::optional<VlanTags> tags;                 // of the interface
  std::optional<uint8_t> protocol = {};         // behind IPv6's extension headers
  std::optional<uint16_t> transport_port = {};  // of either end; a fragment has none
  bool any_tag_protocol = false;                // where the port hides that of the first tag

  // A frame, at `at_port`: where it came in or goes out, as the caller has it.
  bool fits_frame(const rte_mbuf* packet, PortId at_port) const noexcept;
  // Only what the IP header and what is behind it say; `bytes` are those that lie there, from the IP header on.
  bool fits_ip(const uint8_t* ip, uint32_t bytes) const noexcept;
  bool asks_ip() const noexcept { return from || to || protocol || transport_port; }
};

}  // namespace hecto::router
