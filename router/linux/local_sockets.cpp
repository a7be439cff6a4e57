#include "router/linux/local_sockets.hpp"

#include <fmt/format.h>
#include <linux/inet_diag.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace hecto::router {
namespace {

// net/tcp_states.h, which is the kernel's own.
enum TcpState : uint8_t {
  kEstablished = 1,
  kSynSent = 2,
  kFinWait1 = 4,
  kFinWait2 = 5,
  kClosed = 7,  // of UDP: bound, not connected
  kCloseWait = 8,
  kLastAck = 9,
  kListen = 10,
  kClosing = 11
};
constexpr uint32_t kWanted = 1u << kEstablished | 1u << kSynSent | 1u << kFinWait1 |
                             1u << kFinWait2 | 1u << kClosed | 1u << kCloseWait | 1u << kLastAck |
                             1u << kListen | 1u << kClosing;

SocketAddress address_of(const uint32_t (&words)[4], uint8_t family) noexcept {
  SocketAddress address;
  if (family == AF_INET) {
    std::memcpy(address.bytes.data(), words, 4);
    return address;
  }
  std::array<uint8_t, 16> bytes;
  std::memcpy(bytes.data(), words, 16);
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    std::copy_n(bytes.begin() + 12, 4, address.bytes.begin());
    return address;
  }
  address.v6 = true;
  address.bytes = bytes;
  return address;
}

}  // namespace

std::optional<SocketEntry> socket_messages::decode(Bytes body, uint8_t protocol) noexcept {
  const auto message = read_pod<inet_diag_msg>(body);
  if (!message || (message->idiag_family != AF_INET && message->idiag_family != AF_INET6))
    return std::nullopt;
  if (message->idiag_state > 31 || (kWanted >> message->idiag_state & 1) == 0) return std::nullopt;
  SocketEntry entry;
  entry.protocol = protocol;
  entry.local_port = ntohs(message->id.idiag_sport);
  const bool listens = message->idiag_state == kListen || message->idiag_state == kClosed;
  // A TCP socket that is closed and bound to nothing.
  if (listens &&
      (entry.local_port == 0 || (protocol == IPPROTO_TCP && message->idiag_state == kClosed)))
    return std::nullopt;
  if (listens) return entry;
  entry.state = message->idiag_state == kSynSent ? SocketEntry::State::kOpening
                                                 : SocketEntry::State::kConnected;
  entry.remote_port = ntohs(message->id.idiag_dport);
  entry.local = address_of(message->id.idiag_src, message->idiag_family);
  entry.remote = address_of(message->id.idiag_dst, message->idiag_family);
  return entry;
}

Result<LocalSockets> LocalSockets::open(const NetworkNamespace& space) {
  auto questions = NetlinkSocket::open(space, NETLINK_SOCK_DIAG);
  if (!questions) return tl::unexpected(questions.error());
  auto closings = NetlinkSocket::open(space, NETLINK_SOCK_DIAG);
  if (!closings) return tl::unexpected(closings.error());
  // Without them what was closed is noticed with the next reading.
  for (const unsigned group : {SKNLGRP_INET_TCP_DESTROY, SKNLGRP_INET_UDP_DESTROY,
                               SKNLGRP_INET6_TCP_DESTROY, SKNLGRP_INET6_UDP_DESTROY})
    static_cast<void>(closings->subscribe(group));
  return LocalSockets(std::move(*questions), std::move(*closings));
}

bool LocalSockets::some_closed() noexcept {
  constexpr unsigned kMostAtOnce = 256;
  std::array<uint8_t, 256> ignored;
  for (unsigned i = 0; i < kMostAtOnce; ++i)
    if (closings_.receive(ignored).error_number == EAGAIN) return i > 0;
  return true;
}

Result<void> LocalSockets::read(uint8_t family, uint8_t protocol, std::vector<SocketEntry>& out) {
  inet_diag_req_v2 request{};
  request.sdiag_family = family;
  request.sdiag_protocol = protocol;
  request.idiag_states = kWanted;
  if (auto sent = questions_.ask_for_dump(SOCK_DIAG_BY_FAMILY, ++sequence_, request); !sent)
    return sent;
  for (;;) {
    // The kernel writes the next part of a dump before this one is handed over: none is waited for.
    const auto datagram = questions_.receive(buffer_);
    if (datagram.error_number != 0)
      return fail(fmt::format("sockets: {}", std::strerror(datagram.error_number)),
                  datagram.error_number);
    MessageWalker walker(datagram.bytes);
    Message message;
    while (walker.next(message)) {
      if (message.header.nlmsg_seq != sequence_) continue;
      if (message.header.nlmsg_type == NLMSG_DONE || message.header.nlmsg_type == NLMSG_ERROR) {
        const int error = -read_pod<int32_t>(message.body).value_or(0);
        if (error == 0) return {};
        return fail(fmt::format("this kernel does not list sockets: {}", std::strerror(error)),
                    error);
      }
      if (out.size() >= kMostSockets) continue;
      if (const auto entry = socket_messages::decode(message.body, protocol)) out.push_back(*entry);
    }
  }
}

Result<std::vector<SocketEntry>> LocalSockets::read() {
  std::vector<SocketEntry> all;
  for (const uint8_t protocol : {IPPROTO_TCP, IPPROTO_UDP})
    for (const uint8_t family : {AF_INET, AF_INET6})
      if (auto done = read(family, protocol, all); !done) return tl::unexpected(done.error());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace hecto::router
