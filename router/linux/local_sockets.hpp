// The sockets of a namespace, TCP and UDP of both families, as sock_diag(7) lists them: whom the
// router itself talks to, and on which ports somebody listens. Control thread only. Layouts:
// linux/inet_diag.h, linux/sock_diag.h.
#pragma once

#include <vector>

#include "base/socket_entry.hpp"
#include "router/linux/netlink_socket.hpp"

namespace hecto::router {

class LocalSockets {
 public:
  static constexpr size_t kMostSockets = 1 << 18;

  // ENOENT of read(): this kernel lists no sockets.
  static Result<LocalSockets> open(const NetworkNamespace& space);

  // All of them, each once, in order. More than kMostSockets are left out. Connections that are
  // half open (SYN-RECV) are not in it: any stranger makes those.
  Result<std::vector<SocketEntry>> read();
  // Whether sockets were closed since the last call, where the kernel tells (Linux 4.5).
  bool some_closed() noexcept;

 private:
  LocalSockets(NetlinkSocket questions, NetlinkSocket closings)
      : questions_(std::move(questions)), closings_(std::move(closings)), buffer_(64 * 1024) {}
  Result<void> read(uint8_t family, uint8_t protocol, std::vector<SocketEntry>& out);

  NetlinkSocket questions_, closings_;
  std::vector<uint8_t> buffer_;
  uint32_t sequence_ = 0;
};

namespace socket_messages {
// One message of the listing; nothing where it is none that LocalSockets tells. A socket of IPv6
// that talks IPv4 is one of IPv4.
std::optional<SocketEntry> decode(Bytes body, uint8_t protocol) noexcept;
}  // namespace socket_messages

}  // namespace hecto::router
