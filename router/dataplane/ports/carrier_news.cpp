#include "router/dataplane/ports/carrier_news.hpp"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <cerrno>

namespace hecto::router {

CarrierNews::CarrierNews()
    : socket_(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE)) {
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK;
  if (socket_ &&
      bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    socket_ = FileDescriptor();
}

// What it says does not matter, nor that some may be lost: ports are asked.
void CarrierNews::take() noexcept {
  char message[8192];
  while (recv(socket_.get(), message, sizeof message, 0) > 0 || errno == ENOBUFS) errno = 0;
}

}  // namespace hecto::router
