#include "router/linux/requests.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

// Answers to one send must fit the socket's default receive buffer: about 1 KiB each there.
constexpr size_t kMessagesPerSend = 64;
constexpr size_t kBytesPerSend = 64 * 1024;
constexpr int kAnswerTimeoutMs = 5000;

std::string text_of(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.family == Family::kIpv4 ? AF_INET : AF_INET6, address.bytes.data(), text,
            sizeof text);
  return text;
}

std::string text_of(const lookup::IpPrefix& prefix) {
  return fmt::format("{}/{}", text_of(prefix.address), prefix.length);
}

std::string text_of(const Route& route) {
  std::string text = text_of(route.prefix);
  for (const NextHop& hop : route.next_hops) {
    if (hop.gateway) text += fmt::format(" via {}", text_of(*hop.gateway));
    if (hop.ifindex > 0) text += fmt::format(" interface {}", hop.ifindex);
  }
  if (route.nexthop_object != 0) text += fmt::format(" nhid {}", route.nexthop_object);
  if (route.metric != 0) text += fmt::format(" metric {}", route.metric);
  return text;
}

Error refusal(const std::string& what, int error_number, const std::string& detail) {
  std::string message = fmt::format("Linux refused to {}: {}", what, std::strerror(error_number));
  if (!detail.empty()) message += fmt::format(" ({})", detail);
  return {std::move(message), error_number};
}

std::string route_verb(bool remove, const Route& route) {
  return fmt::format("{} route {}", remove ? "remove" : "add", text_of(route));
}

// The kernel's explanation (NLMSGERR_ATTR_MSG), which follows the echoed request or, with
// NLM_F_CAPPED, the echoed header alone.
std::string explanation(const Message& message) {
  if ((message.header.nlmsg_flags & NLM_F_ACK_TLVS) == 0) return {};
  const auto error = read_pod<nlmsgerr>(message.body);
  if (!error) return {};
  size_t skip = sizeof(nlmsgerr);
  if ((message.header.nlmsg_flags & NLM_F_CAPPED) == 0) {
    if (error->msg.nlmsg_len < sizeof(nlmsghdr)) return {};
    skip = sizeof(int) + NLMSG_ALIGN(static_cast<size_t>(error->msg.nlmsg_len));
  }
  if (skip >= message.body.size()) return {};
  AttributeWalker walker(message.body.subspan(skip));
  Attribute attribute;
  while (walker.next(attribute)) {
    if (attribute.type != NLMSGERR_ATTR_MSG) continue;
    const auto* text = reinterpret_cast<const char*>(attribute.payload.data());
    return {text, strnlen(text, attribute.payload.size())};
  }
  return {};
}

}  // namespace

NetlinkRequests::NetlinkRequests(NetlinkSocket socket)
    : socket_(std::move(socket)), output_(kBytesPerSend), input_(32 * 1024) {}

Result<NetlinkRequests> NetlinkRequests::open(const NetworkNamespace& space) {
  auto socket = NetlinkSocket::open(space);
  if (!socket) return tl::unexpected(socket.error());
  socket->enable(NETLINK_EXT_ACK);
  socket->enable(NETLINK_CAP_ACK);
  return NetlinkRequests(std::move(*socket));
}

Result<void> NetlinkRequests::wait_readable() {
  pollfd descriptor{socket_.fd(), POLLIN, 0};
  int ready = 0;
  do {
    ready = poll(&descriptor, 1, kAnswerTimeoutMs);
  } while (ready < 0 && errno == EINTR);
  if (ready > 0) return {};
  return fail("netlink: Linux does not answer", ready == 0 ? ETIMEDOUT : errno);
}

Result<void> NetlinkRequests::exchange(size_t count, const Builder& build, const Answer& answer) {
  for (size_t next = 0; next < count;) {
    const size_t first = next;
    const uint32_t first_sequence = sequence_ + 1;
    size_t used = 0;
    while (next < count && next - first < kMessagesPerSend &&
           used + messages::kMessageBytes <= kBytesPerSend) {
      nlmsghdr* header = build(next++, output_.data() + used);
      header->nlmsg_seq = ++sequence_;
      used += NLMSG_ALIGN(static_cast<size_t>(header->nlmsg_len));
    }
    auto sent = socket_.send({reinterpret_cast<const uint8_t*>(output_.data()), used});
    if (!sent) return sent;
    for (size_t answered = first; answered < next;) {
      if (auto ready = wait_readable(); !ready) return ready;
      const auto datagram = socket_.receive(input_);
      if (datagram.error_number == EAGAIN) continue;
      if (datagram.error_number != 0) {
        return fail(fmt::format("netlink: {}", std::strerror(datagram.error_number)),
                    datagram.error_number);
      }
      MessageWalker walker(datagram.bytes);
      Message message;
      while (walker.next(message)) {
        const uint32_t offset = message.header.nlmsg_seq - first_sequence;
        if (message.header.nlmsg_type != NLMSG_ERROR || offset >= next - first) continue;
        const int error_number = -read_pod<int32_t>(message.body).value_or(0);
        answer(first + offset, error_number,
               error_number != 0 ? explanation(message) : std::string());
        ++answered;
      }
    }
  }
  return {};
}

Result<void> NetlinkRequests::one(const std::string& what,
                                  const std::function<nlmsghdr*(char*)>& build) {
  Result<void> result;
  auto exchanged = exchange(
      1, [&](size_t, char* buffer) { return build(buffer); },
      [&](size_t, int error_number, const std::string& detail) {
        if (error_number != 0) result = tl::unexpected(refusal(what, error_number, detail));
      });
  if (!exchanged) {
    return fail(fmt::format("{}: {}", what, exchanged.error().message),
                exchanged.error().error_number);
  }
  return result;
}

Result<int> NetlinkRequests::ifindex(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ) return 0;
  alignas(nlmsghdr) char buffer[256];
  nlmsghdr* header = mnl_nlmsg_put_header(buffer);
  header->nlmsg_type = RTM_GETLINK;
  header->nlmsg_flags = NLM_F_REQUEST;
  header->nlmsg_seq = ++sequence_;
  mnl_nlmsg_put_extra_header(header, sizeof(ifinfomsg));
  mnl_attr_put_strz(header, IFLA_IFNAME, name.c_str());
  auto sent = socket_.send({reinterpret_cast<const uint8_t*>(buffer), header->nlmsg_len});
  if (!sent) return tl::unexpected(sent.error());
  for (;;) {
    if (auto ready = wait_readable(); !ready) return tl::unexpected(ready.error());
    const auto datagram = socket_.receive(input_);
    if (datagram.error_number == EAGAIN) continue;
    if (datagram.error_number != 0) {
      return fail(fmt::format("netlink: {}", std::strerror(datagram.error_number)),
                  datagram.error_number);
    }
    MessageWalker walker(datagram.bytes);
    Message message;
    while (walker.next(message)) {
      if (message.header.nlmsg_seq != sequence_) continue;
      if (message.header.nlmsg_type == NLMSG_ERROR) return 0;
      const auto link = read_pod<ifinfomsg>(message.body);
      return link ? link->ifi_index : 0;
    }
  }
}

Result<void> NetlinkRequests::set_link_up(int ifindex, bool up) {
  return one(fmt::format("set interface {} {}", ifindex, up ? "up" : "down"),
             [&](char* buffer) { return messages::link_flags(buffer, ifindex, up); });
}

Result<void> NetlinkRequests::set_link_mtu(int ifindex, uint32_t mtu) {
  return one(fmt::format("set MTU {} on interface {}", mtu, ifindex),
             [&](char* buffer) { return messages::link_mtu(buffer, ifindex, mtu); });
}

Result<void> NetlinkRequests::set_link_mac(int ifindex, const MacAddress& mac) {
  return one(fmt::format("set MAC {:02x} on interface {}", fmt::join(mac, ":"), ifindex),
             [&](char* buffer) { return messages::link_mac(buffer, ifindex, mac); });
}

Result<void> NetlinkRequests::add_address(int ifindex, const lookup::IpPrefix& address,
                                          bool skip_dad) {
  return one(
      fmt::format("add address {} to interface {}", text_of(address), ifindex),
      [&](char* buffer) { return messages::address(buffer, ifindex, address, false, skip_dad); });
}

Result<void> NetlinkRequests::remove_address(int ifindex, const lookup::IpPrefix& address) {
  return one(
      fmt::format("remove address {} from interface {}", text_of(address), ifindex),
      [&](char* buffer) { return messages::address(buffer, ifindex, address, true, false); });
}

Result<void> NetlinkRequests::add_route(const Route& route, RequestMode mode) {
  return one(route_verb(false, route),
             [&](char* buffer) { return messages::route(buffer, route, false, mode); });
}

Result<void> NetlinkRequests::remove_route(const Route& route) {
  return one(route_verb(true, route),
             [&](char* buffer) { return messages::route(buffer, route, true, RequestMode::kAdd); });
}

Result<BatchOutcome> NetlinkRequests::apply(std::span<const RouteRequest> requests,
                                            RequestMode mode) {
  BatchOutcome outcome;
  auto exchanged = exchange(
      requests.size(),
      [&](size_t index, char* buffer) {
        return messages::route(buffer, requests[index].route, requests[index].remove, mode);
      },
      [&](size_t index, int error_number, const std::string& detail) {
        if (error_number == 0) {
          ++outcome.done;
          return;
        }
        ++outcome.failed;
        if (outcome.failures.size() >= BatchOutcome::kMaxFailures) return;
        const RouteRequest& request = requests[index];
        outcome.failures.push_back(
            {index, refusal(route_verb(request.remove, request.route), error_number, detail)});
      });
  if (!exchanged) return tl::unexpected(exchanged.error());
  return outcome;
}

Result<void> NetlinkRequests::probe_neighbor(int ifindex, const IpAddress& address) {
  return one(fmt::format("probe neighbor {} on interface {}", text_of(address), ifindex),
             [&](char* buffer) {
               return messages::neighbor(buffer, ifindex, address, RTM_NEWNEIGH, nullptr);
             });
}

Result<void> NetlinkRequests::set_permanent_neighbor(int ifindex, const IpAddress& address,
                                                     const MacAddress& mac) {
  return one(fmt::format("set neighbor {} on interface {}", text_of(address), ifindex),
             [&](char* buffer) {
               return messages::neighbor(buffer, ifindex, address, RTM_NEWNEIGH, &mac);
             });
}

Result<void> NetlinkRequests::remove_neighbor(int ifindex, const IpAddress& address) {
  return one(fmt::format("remove neighbor {} on interface {}", text_of(address), ifindex),
             [&](char* buffer) {
               return messages::neighbor(buffer, ifindex, address, RTM_DELNEIGH, nullptr);
             });
}

}  // namespace hecto::router
