#include "router/linux/xfrm/policy_use.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

namespace hecto::router {
namespace {

union SocketAddress {
  sockaddr any;
  sockaddr_in v4;
  sockaddr_in6 v6;
};

// One that the prefix holds, and that a packet may have.
IpAddress address_in(const IpPrefix& prefix) {
  const bool v4 = prefix.address.family == Family::kIpv4;
  if (prefix.length == 0) return *IpAddress::parse(v4 ? "203.0.113.1" : "2001:db8:ffff::1");
  IpAddress address = prefix.address;
  if (prefix.length < address.size() * 8) address.bytes[address.size() - 1] |= 1;
  return address;
}

socklen_t fill(const IpAddress& address, uint16_t port, SocketAddress& out) {
  out = {};
  if (address.family == Family::kIpv4) {
    out.v4.sin_family = AF_INET;
    out.v4.sin_port = htons(port);
    std::memcpy(&out.v4.sin_addr, address.bytes.data(), 4);
    return sizeof out.v4;
  }
  out.v6.sin6_family = AF_INET6;
  out.v6.sin6_port = htons(port);
  std::memcpy(&out.v6.sin6_addr, address.bytes.data(), 16);
  return sizeof out.v6;
}

// Inside the namespace.
bool look_up(const IpsecSelector& selector) {
  const bool v4 = selector.family == Family::kIpv4;
  const bool udp = selector.protocol == 0 || selector.protocol == IPPROTO_UDP;
  if (!udp && (selector.source_port_mask | selector.destination_port_mask) != 0) return false;
  const FileDescriptor fd(socket(v4 ? AF_INET : AF_INET6,
                                 (udp ? SOCK_DGRAM : SOCK_RAW) | SOCK_CLOEXEC,
                                 udp ? 0 : selector.protocol));
  if (!fd) return false;
  const int on = 1;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (v4) {
    setsockopt(fd.get(), SOL_IP, IP_TRANSPARENT, &on, sizeof on);
    setsockopt(fd.get(), SOL_SOCKET, SO_BINDTODEVICE, XfrmUse::kDevice,
               static_cast<socklen_t>(std::strlen(XfrmUse::kDevice)));
  } else {
    setsockopt(fd.get(), SOL_IPV6, IPV6_TRANSPARENT, &on, sizeof on);
  }
  constexpr uint16_t kDiscard = 9;
  SocketAddress address;
  socklen_t length = fill(address_in(selector.source), selector.source_port, address);
  if (bind(fd.get(), &address.any, length) != 0) return false;
  const uint16_t port = selector.destination_port_mask != 0 ? selector.destination_port : kDiscard;
  length = fill(address_in(selector.destination), port, address);
  return connect(fd.get(), &address.any, length) == 0;
}

}  // namespace

Result<XfrmUse> XfrmUse::open(const NetworkNamespace& space) {
  auto device = Tap::create(space, {kDevice, {2, 0, 0, 0, 0, 1}, 1500, 1});
  if (!device) return tl::unexpected(device.error());
  // No neighbor discovery there; without IPv6 there is no such file.
  static_cast<void>(space.set_sysctl(fmt::format("net/ipv6/conf/{}/disable_ipv6", kDevice), "1"));
  if (auto up = device->set_up(true); !up) return tl::unexpected(up.error());
  return XfrmUse(std::move(*device));
}

size_t XfrmUse::mark_used(const NetworkNamespace& space,
                          std::span<const IpsecSelector> selectors) const {
  size_t done = 0;
  static_cast<void>(space.run([&]() -> Result<void> {
    for (const IpsecSelector& selector : selectors) done += look_up(selector) ? 1 : 0;
    return {};
  }));
  return done;
}

}  // namespace hecto::router
