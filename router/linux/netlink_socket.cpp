#include "router/linux/netlink_socket.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hecto::router {

Result<NetlinkSocket> NetlinkSocket::open(const NetworkNamespace& space, int protocol) {
  NetlinkSocket result;
  auto opened = space.run([&]() -> Result<void> {
    result.socket_.reset(mnl_socket_open2(protocol, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!result.socket_ || mnl_socket_bind(result.socket_.get(), 0, MNL_SOCKET_AUTOPID) != 0) {
      return fail(fmt::format("cannot open a netlink socket: {}", std::strerror(errno)), errno);
    }
    return {};
  });
  if (!opened) return tl::unexpected(opened.error());
  return result;
}

void NetlinkSocket::set_receive_buffer(uint32_t bytes) {
  const int value = static_cast<int>(std::min<uint32_t>(bytes, 1U << 30));
  if (setsockopt(fd(), SOL_SOCKET, SO_RCVBUFFORCE, &value, sizeof value) != 0) {
    setsockopt(fd(), SOL_SOCKET, SO_RCVBUF, &value, sizeof value);
  }
}

Result<void> NetlinkSocket::subscribe(unsigned group) {
  int value = static_cast<int>(group);
  if (mnl_socket_setsockopt(socket_.get(), NETLINK_ADD_MEMBERSHIP, &value, sizeof value) != 0) {
    return fail(
        fmt::format("netlink: no notifications of group {}: {}", group, std::strerror(errno)),
        errno);
  }
  return {};
}

bool NetlinkSocket::enable(int option) {
  int value = 1;
  return mnl_socket_setsockopt(socket_.get(), option, &value, sizeof value) == 0;
}

Result<void> NetlinkSocket::send(Bytes request) {
  if (mnl_socket_sendto(socket_.get(), request.data(), request.size()) < 0) {
    return fail(fmt::format("netlink: request not sent: {}", std::strerror(errno)), errno);
  }
  return {};
}

NetlinkSocket::Datagram NetlinkSocket::receive(std::span<uint8_t> buffer) noexcept {
  for (;;) {
    sockaddr_nl sender{};
    iovec vector{buffer.data(), buffer.size()};
    msghdr header{};
    header.msg_name = &sender;
    header.msg_namelen = sizeof sender;
    header.msg_iov = &vector;
    header.msg_iovlen = 1;
    const ssize_t size = recvmsg(fd(), &header, MSG_DONTWAIT);
    if (size < 0) {
      if (errno == EINTR) continue;
      return {{}, errno, false};
    }
    if (sender.nl_pid != 0) continue;
    return {buffer.first(static_cast<size_t>(size)), 0, (header.msg_flags & MSG_TRUNC) != 0};
  }
}

struct DatagramBatch::Arrays {
  std::array<mmsghdr, kSlots> headers{};
  std::array<iovec, kSlots> vectors{};
  std::array<sockaddr_nl, kSlots> senders{};
};

void DatagramBatch::ArraysDeleter::operator()(Arrays* arrays) const {
  delete arrays;
}

DatagramBatch::DatagramBatch() : buffer_(kSlots * kSlotBytes), arrays_(new Arrays) {
  for (size_t slot = 0; slot < kSlots; ++slot) {
    arrays_->vectors[slot] = {buffer_.data() + slot * kSlotBytes, kSlotBytes};
    msghdr& header = arrays_->headers[slot].msg_hdr;
    header.msg_iov = &arrays_->vectors[slot];
    header.msg_iovlen = 1;
    header.msg_name = &arrays_->senders[slot];
  }
}

int DatagramBatch::receive(int fd, size_t limit) noexcept {
  const size_t count = std::min(limit, kSlots);
  for (size_t slot = 0; slot < count; ++slot) {
    arrays_->headers[slot].msg_hdr.msg_namelen = sizeof(sockaddr_nl);
    arrays_->headers[slot].msg_hdr.msg_flags = 0;
  }
  int received = 0;
  do {
    received =
        recvmmsg(fd, arrays_->headers.data(), static_cast<unsigned>(count), MSG_DONTWAIT, nullptr);
  } while (received < 0 && errno == EINTR);
  return received < 0 ? -errno : received;
}

Bytes DatagramBatch::bytes(size_t slot) const noexcept {
  if (arrays_->senders[slot].nl_pid != 0) return {};
  return Bytes(buffer_).subspan(slot * kSlotBytes,
                                std::min<size_t>(arrays_->headers[slot].msg_len, kSlotBytes));
}

bool DatagramBatch::truncated(size_t slot) const noexcept {
  return (arrays_->headers[slot].msg_hdr.msg_flags & MSG_TRUNC) != 0;
}

void DatagramBatch::wipe(size_t count) noexcept {
  for (size_t slot = 0; slot < std::min(count, kSlots); ++slot) {
    const size_t used = std::min<size_t>(arrays_->headers[slot].msg_len, kSlotBytes);
    explicit_bzero(buffer_.data() + slot * kSlotBytes, used);
  }
}

}  // namespace hecto::router
