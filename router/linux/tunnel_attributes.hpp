// Numbers of linux/if_tunnel.h and linux/ip6_tunnel.h, which bring linux/if.h with them, beside which
// net/if.h cannot stand.
#pragma once

#include <cstdint>

namespace hecto::router::tunnel_attributes {

enum Gre : uint16_t {
  kGreLink = 1,
  kGreFlagsIn = 2,
  kGreFlagsOut = 3,
  kGreKeyIn = 4,
  kGreKeyOut = 5,
  kGreLocal = 6,
  kGreRemote = 7,
  kGreTtl = 8,
  kGreTos = 9,
  kGrePmtuDiscovery = 10,
  kGreEncapLimit = 11,
  kGreFlowInfo = 12,
  kGreFlags6 = 13,
  kGreEncapType = 14,
  kGreCollectMetadata = 18,
  kGreIgnoreDf = 19,
  kGreMark = 20
};

enum IpInIp : uint16_t {
  kIpLink = 1,
  kIpLocal = 2,
  kIpRemote = 3,
  kIpTtl = 4,
  kIpTos = 5,
  kIpEncapLimit = 6,
  kIpFlowInfo = 7,
  kIpFlags = 8,
  kIpProtocol = 9,
  kIpPmtuDiscovery = 10,
  kIpEncapType = 15,
  kIpCollectMetadata = 19,
  kIpMark = 20
};

// IP6_TNL_F_*.
inline constexpr uint32_t kIgnoresEncapLimit = 0x1, kCopiesTrafficClass = 0x2,
                          kCopiesFlowLabel = 0x4, kMobile = 0x8, kCopiesDscpIn = 0x10,
                          kCopiesMark = 0x20;

}  // namespace hecto::router::tunnel_attributes
