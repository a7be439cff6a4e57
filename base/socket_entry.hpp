// A socket of the router's namespace, as the kernel lists it. Values only.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace hecto {

// Network order; IPv4 in the first four bytes, the rest zero.
struct SocketAddress {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};
  auto operator<=>(const SocketAddress&) const = default;
};

struct SocketEntry {
  enum class State : uint8_t {
    kConnected,  // both ends are known
    kOpening,    // we are the one that calls (TCP SYN-SENT)
    kListening   // TCP that listens, UDP that is bound
  };
  uint8_t protocol = 0;  // 6 or 17
  State state = State::kListening;
  uint16_t local_port = 0, remote_port = 0;  // host order
  SocketAddress local, remote;
  auto operator<=>(const SocketEntry&) const = default;
};

}  // namespace hecto
