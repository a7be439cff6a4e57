// Who the router itself talks to, as its sockets tell: connections, ports on which somebody listens,
// peers. Built by control from what the kernel lists (linux/local_sockets.hpp), read by workers for
// packets that go to Linux and for no others. Immutable once built; a bounded number of loads a
// question.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>
#include <vector>

#include "base/socket_entry.hpp"

namespace hecto::router {

// Ports of routing protocols over TCP: BGP (RFC 4271), LDP (RFC 5036), MSDP (RFC 3618).
constexpr bool is_session_port(uint16_t port) noexcept {
  return port == 179 || port == 646 || port == 639;
}

class PuntSessions {
 public:
  static constexpr size_t kMostConnections = 1 << 16;
  static constexpr size_t kMostPeers = 1 << 14;

  PuntSessions() = default;
  // What is beyond the bounds is left out, and is told by left_out().
  PuntSessions(std::span<const SocketEntry> sockets, std::span<const SocketAddress> peers);

  // As the packet has them: our end is its destination.
  bool connected(uint8_t protocol, const SocketAddress& local, uint16_t local_port,
                 const SocketAddress& remote, uint16_t remote_port) const noexcept;
  bool listens_tcp(uint16_t port) const noexcept { return tcp_[port]; }
  bool open_udp(uint16_t port) const noexcept { return udp_[port]; }
  bool known_peer(const SocketAddress& address) const noexcept;

  size_t connections() const noexcept { return connections_.size(); }
  size_t tcp_ports() const noexcept { return tcp_.count(); }
  size_t udp_ports() const noexcept { return udp_.count(); }
  size_t peers() const noexcept { return peers_.size(); }
  size_t left_out() const noexcept { return left_out_; }

 private:
  static uint64_t any_seed();

  uint64_t seed_ = any_seed();  // nobody can choose ports that lie in one run of slots
  std::vector<SocketEntry> connections_;
  std::vector<SocketAddress> peers_;
  std::vector<uint32_t> connection_slots_, peer_slots_;  // index + 1; 0: empty. A power of two
  std::bitset<65536> tcp_, udp_;
  size_t left_out_ = 0;
};

}  // namespace hecto::router
