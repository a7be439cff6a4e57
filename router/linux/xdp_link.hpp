// The XDP program on a kernel interface, as rtnetlink has it: which one, and putting one on or
// taking one off. In the network namespace of the process. Control thread only; what changes needs
// CAP_NET_ADMIN. Source: rtnl_xdp_fill() and dev_change_xdp_fd() (linux/if_link.h, IFLA_XDP).
#pragma once

#include <cstdint>
#include <string>

#include "base/file_descriptor.hpp"
#include "router/linux/netlink_exchange.hpp"

namespace hecto::router {

struct XdpState {
  int ifindex = 0;       // 0: there is no such interface
  uint32_t program = 0;  // 0: none; UINT32_MAX: several, in several modes
  uint32_t flags = 0;    // XDP_FLAGS_*_MODE: where it is attached
};

class XdpLink {
 public:
  static Result<XdpLink> open();

  Result<XdpState> state(const std::string& interface);
  // EBUSY: one is there. Never in the place of another.
  Result<void> attach(int ifindex, int program_fd, uint32_t flags);
  Result<void> detach(const XdpState& state);

 private:
  explicit XdpLink(NetlinkExchange exchange) : exchange_(std::move(exchange)) {}
  Result<void> set(int ifindex, int program_fd, uint32_t flags, const char* verb);

  NetlinkExchange exchange_;
};

// Holds a program that is loaded; CAP_SYS_ADMIN. Empty: there is none of this id.
FileDescriptor xdp_program_by_id(uint32_t id);

}  // namespace hecto::router
