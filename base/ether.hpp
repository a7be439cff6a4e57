// Words of Ethernet and IP headers.
#pragma once

#include <cstdint>

namespace hecto {

// EtherTypes as load16_native gives them.
inline constexpr uint16_t kEtherIpv4 = 0x0008;
inline constexpr uint16_t kEtherIpv6 = 0xdd86;
inline constexpr uint16_t kEtherArp = 0x0608;
inline constexpr uint16_t kEtherVlan = 0x0081;

inline constexpr unsigned kEthernetBytes = 14;
inline constexpr unsigned kVlanTagBytes = 4;
inline constexpr unsigned kIpv4Bytes = 20;  // without options
inline constexpr unsigned kIpv6Bytes = 40;

}  // namespace hecto
