#include "router/linux/xdp_link.hpp"

#include <fmt/format.h>
#include <libmnl/libmnl.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "router/linux/request_messages.hpp"

namespace hecto::router {
namespace {

void read_xdp(Bytes nested, XdpState& state) {
  AttributeWalker walker(nested);
  Attribute attribute;
  uint8_t attached = 0;
  while (walker.next(attribute)) {
    if (attribute.type == IFLA_XDP_ATTACHED) attached = attribute.as<uint8_t>().value_or(0);
    if (attribute.type == IFLA_XDP_PROG_ID) state.program = attribute.as<uint32_t>().value_or(0);
  }
  switch (attached) {
    case XDP_ATTACHED_DRV:
      state.flags = XDP_FLAGS_DRV_MODE;
      break;
    case XDP_ATTACHED_SKB:
      state.flags = XDP_FLAGS_SKB_MODE;
      break;
    case XDP_ATTACHED_HW:
      state.flags = XDP_FLAGS_HW_MODE;
      break;
    case XDP_ATTACHED_MULTI:
      state.program = UINT32_MAX;
      break;
    default:
      break;
  }
}

}  // namespace

Result<XdpLink> XdpLink::open() {
  auto space = NetworkNamespace::current();
  if (!space) return tl::unexpected(space.error());
  auto exchange = NetlinkExchange::open(*space);
  if (!exchange) return tl::unexpected(exchange.error());
  return XdpLink(std::move(*exchange));
}

Result<XdpState> XdpLink::state(const std::string& interface) {
  XdpState state;
  if (interface.empty() || interface.size() >= IFNAMSIZ) return state;
  auto exchanged = exchange_.run(
      1, messages::kMessageBytes,
      [&](size_t, char* buffer) { return messages::link_by_name(buffer, interface); },
      [&](size_t, const NetlinkExchange::Answer& answer) {
        const auto link = read_pod<ifinfomsg>(answer.message.body);
        if (!link) return;
        state.ifindex = link->ifi_index;
        AttributeWalker walker(answer.message.body.subspan(
            std::min(answer.message.body.size(), size_t{NLMSG_ALIGN(sizeof(ifinfomsg))})));
        Attribute attribute;
        while (walker.next(attribute))
          if (attribute.type == IFLA_XDP) read_xdp(attribute.payload, state);
      });
  if (!exchanged) return tl::unexpected(exchanged.error());
  return state;
}

Result<void> XdpLink::set(int ifindex, int program_fd, uint32_t flags, const char* verb) {
  return exchange_.one(
      fmt::format("{} an XDP program at interface {}", verb, ifindex), messages::kMessageBytes,
      [&](char* buffer) {
        nlmsghdr* header = mnl_nlmsg_put_header(buffer);
        header->nlmsg_type = RTM_SETLINK;
        header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
        auto* link = static_cast<ifinfomsg*>(mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg)));
        link->ifi_index = ifindex;
        nlattr* nested = mnl_attr_nest_start(header, IFLA_XDP);
        mnl_attr_put_u32(header, IFLA_XDP_FD, static_cast<uint32_t>(program_fd));
        mnl_attr_put_u32(header, IFLA_XDP_FLAGS, flags);
        mnl_attr_nest_end(header, nested);
        return header;
      });
}

Result<void> XdpLink::attach(int ifindex, int program_fd, uint32_t flags) {
  return set(ifindex, program_fd, flags | XDP_FLAGS_UPDATE_IF_NOEXIST, "attach");
}

Result<void> XdpLink::detach(const XdpState& state) {
  return set(state.ifindex, -1, state.flags, "detach");
}

FileDescriptor xdp_program_by_id(uint32_t id) {
  bpf_attr attributes;
  std::memset(&attributes, 0, sizeof attributes);
  attributes.prog_id = id;
  return FileDescriptor(
      static_cast<int>(syscall(SYS_bpf, BPF_PROG_GET_FD_BY_ID, &attributes, sizeof attributes)));
}

}  // namespace hecto::router
