// Words of Ethernet and IP headers.
#pragma once

#include <cstdint>

namespace hecto {

// EtherTypes as load16_native gives them.
inline constexpr uint16_t kEtherIpv4 = 0x0008;
inline constexpr uint16_t kEtherIpv6 = 0xdd86;
inline constexpr uint16_t kEtherArp = 0x0608;
inline constexpr uint16_t kEtherVlan = 0x0081;         // a tag of 802.1Q (0x8100)
inline constexpr uint16_t kEtherServiceVlan = 0xa888;  // of 802.1ad (0x88a8)
inline constexpr uint16_t kEtherStackedVlan = 0x0091;  // of some before that (0x9100)
inline constexpr uint16_t kEtherMpls = 0x4788;         // RFC 5332
inline constexpr uint16_t kEtherMplsMulticast = 0x4888;
inline constexpr uint16_t kEtherPppoe = 0x6488;  // of a session (RFC 2516)

inline constexpr unsigned kEthernetBytes = 14;
inline constexpr unsigned kVlanTagBytes = 4;
inline constexpr unsigned kMostL2Bytes = kEthernetBytes + 2 * kVlanTagBytes;  // of an interface
inline constexpr unsigned kLabelBytes = 4;  // an entry of a label stack (RFC 3032)
inline constexpr unsigned kIpv4Bytes = 20;  // without options
inline constexpr unsigned kIpv6Bytes = 40;

}  // namespace hecto
