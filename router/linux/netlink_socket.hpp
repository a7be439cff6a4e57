// A netlink socket (NETLINK_ROUTE, NETLINK_XFRM, NETLINK_SOCK_DIAG) inside a namespace, on libmnl. Non-blocking. One
// thread at a time.
#pragma once

#include <libmnl/libmnl.h>

#include <memory>
#include <vector>

#include "base/secret_memory.hpp"
#include "router/linux/attributes.hpp"
#include "router/linux/netns.hpp"

namespace hecto::router {

class NetlinkSocket {
 public:
  // EPROTONOSUPPORT: the kernel has no such protocol.
  static Result<NetlinkSocket> open(const NetworkNamespace& space, int protocol = NETLINK_ROUTE);

  int fd() const noexcept { return mnl_socket_get_fd(socket_.get()); }
  // Beyond net.core.rmem_max where privilege allows, else up to it.
  void set_receive_buffer(uint32_t bytes);
  Result<void> subscribe(unsigned group);  // an RTNLGRP_*, XFRMNLGRP_*
  bool enable(int option);                 // a boolean NETLINK_* option; false: kernel too old
  Result<void> send(Bytes request);

  // One NLM_F_DUMP request: `body` is the header of the protocol's own.
  template <typename Body>
  Result<void> ask_for_dump(uint16_t type, uint32_t sequence, const Body& body) {
    struct {
      nlmsghdr header;
      Body body;
    } request{{sizeof request, type, NLM_F_REQUEST | NLM_F_DUMP, sequence, 0}, body};
    static_assert(sizeof request == sizeof(nlmsghdr) + sizeof(Body), "no padding between them");
    return send({reinterpret_cast<const uint8_t*>(&request), sizeof request});
  }

  struct Datagram {
    Bytes bytes;
    int error_number = 0;    // EAGAIN: nothing there
    bool truncated = false;  // larger than `buffer`
  };
  // One datagram from the kernel; what others send is skipped.
  Datagram receive(std::span<uint8_t> buffer) noexcept;

 private:
  struct Closer {
    void operator()(mnl_socket* socket) const { mnl_socket_close(socket); }
  };
  std::unique_ptr<mnl_socket, Closer> socket_;
};

// Many small datagrams by one system call: notifications come one to a datagram.
class DatagramBatch {
 public:
  DatagramBatch();

  // Number received, or -errno. At most `limit` and kSlots.
  int receive(int fd, size_t limit) noexcept;
  // Empty when the sender was not the kernel.
  Bytes bytes(size_t slot) const noexcept;
  bool truncated(size_t slot) const noexcept;
  // Takes what the first `count` slots hold out of memory.
  void wipe(size_t count) noexcept;

  static constexpr size_t kSlots = 64;
  static constexpr size_t kSlotBytes = 16384;

 private:
  struct Arrays;
  struct ArraysDeleter {
    void operator()(Arrays* arrays) const;
  };
  SecretBytes buffer_;
  std::unique_ptr<Arrays, ArraysDeleter> arrays_;
};

}  // namespace hecto::router
