// What of a packet filters ask for: a byte, then words of four, in network order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "lookup/fib.hpp"

namespace hecto::router {

// Bits of FilterKey::state.
enum KeyState : uint8_t {
  kKeyFirst = 1,      // a fragment with offset 0
  kKeyLater = 2,      // one behind it
  kKeyFragment = 4,   // either
  kKeyPorts = 8,      // ports (type and code) are there
  kKeyTcpFlags = 16,  // and TCP's flags
};

// Words of a key beside protocol and addresses; a filter writes those that some rule asks for.
enum KeyNeed : uint32_t {
  kNeedFromClass = 1,
  kNeedSource = 2,        // of IPv6 by word: 2, 4, 8, 16
  kNeedDestination = 32,  // 32, 64, 128, 256
  kNeedPorts = 512,
  kNeedBits = 1024,   // TCP flags, state, DSCP
  kNeedSizes = 2048,  // length and interface
  kNeedMark = 4096,
  kNeedToClass = 8192,
};

template <unsigned AddressBytes>
struct alignas(32) FilterKey {
  uint8_t protocol;  // behind extension headers that could be read
  uint8_t pad[3];
  uint8_t classes[4];  // of source and destination (PrefixClasses), 16 bits each
  uint8_t source[AddressBytes], destination[AddressBytes];
  // 16 bits each; of ICMP in the source's place type and code. 0 where there are none, or not seen.
  uint8_t ports[4];
  uint8_t tcp_flags, state, dscp, pad_bits;
  uint8_t length[2];     // of the IP packet, at most 65,535
  uint8_t interface[2];  // that it came in by
  uint8_t mark[4];
};
using FilterKey4 = FilterKey<4>;
using FilterKey6 = FilterKey<16>;
template <typename Address>
using FilterKeyOf = FilterKey<sizeof(Address)>;

static_assert(sizeof(FilterKey4) == 32 && sizeof(FilterKey6) == 64);

}  // namespace hecto::router
