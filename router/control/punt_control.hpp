// Whom the router itself talks to, followed and handed to the data plane: its sockets each second
// and when some were closed, and who is a known peer of its routing protocols. A peer is known from
// the moment on at which we call it, or once it has stayed connected for some seconds; for an hour
// after that; or because the file says so. Control only.
#pragma once

#include <chrono>
#include <map>

#include "config/file/config.hpp"
#include "router/control/forwarding_plane.hpp"
#include "router/linux/local_sockets.hpp"

namespace hecto::router {

class Notes;

// Peers of routing protocols over TCP, with the times that make them known. No sockets of its own.
class KnownPeers {
 public:
  using Seconds = uint64_t;  // of any clock that goes on
  static constexpr Seconds kProof_s = 5, kMemory_s = 3600;

  void follow(const std::vector<SocketEntry>& sockets, Seconds now);
  // Sorted. At most PuntSessions::kMostPeers, those of the file first.
  std::vector<SocketAddress> all(const std::vector<lookup::IpAddress>& written) const;

 private:
  struct Peer {
    Seconds since = 0, seen = 0;
    bool known = false;
  };
  std::map<SocketAddress, Peer> peers_;
};

class PuntControl {
 public:
  // Without sock_diag nothing is followed, and that is said.
  PuntControl(const NetworkNamespace& space, ForwardingPlane& plane, Notes& notes);

  void tick(const config::Config& config);  // some times a second
  bool follows() const { return sockets_.has_value(); }

 private:
  using Clock = std::chrono::steady_clock;

  ForwardingPlane& plane_;
  Notes& notes_;
  std::optional<LocalSockets> sockets_;
  KnownPeers peers_;
  Clock::time_point started_ = Clock::now(), read_at_{};
  bool closed_ = false;  // some since then
  bool failed_ = false;  // and that was said
  bool published_ = false;
  std::vector<SocketEntry> last_sockets_;
  std::vector<SocketAddress> last_peers_;
};

}  // namespace hecto::router
