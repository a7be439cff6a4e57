#include "router/linux/stale_routes.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <vector>

#include "router/linux/decode_route.hpp"
#include "router/linux/dump.hpp"
#include "router/linux/netlink_exchange.hpp"
#include "router/linux/request_messages.hpp"

namespace hecto::router {
namespace {

constexpr int kAnswer_ms = 5000;

using Bodies = std::vector<std::vector<uint8_t>>;  // rtmsg and attributes

bool is_ours(const Message& message, uint8_t protocol) {
  const auto route = read_pod<rtmsg>(message.body);
  if (message.header.nlmsg_type != RTM_NEWROUTE || !route) return false;
  return route->rtm_protocol == protocol && (route->rtm_flags & RTM_F_CLONED) == 0 &&
         message.body.size() + sizeof(nlmsghdr) <= messages::kMessageBytes;
}

constexpr uint32_t kIpv6Metric = 1024;  // what IPv6 makes of 0

// Next hops matter in no order; where they do not say where to go they matter not at all.
bool alike(const Route& wanted, const Route& there) {
  const auto metric = [](const Route& route) {
    return route.metric == 0 && route.prefix.address.family == Family::kIpv6 ? kIpv6Metric
                                                                             : route.metric;
  };
  if (!(wanted.prefix == there.prefix) || wanted.table != there.table ||
      wanted.type != there.type || there.tos != 0 || there.nexthop_object != 0 ||
      metric(wanted) != metric(there))
    return false;
  if (wanted.type != RouteType::kUnicast) return true;
  const auto same = [](const NextHop& a, const NextHop& b) {
    return a.gateway == b.gateway && a.ifindex == b.ifindex && a.weight == b.weight;
  };
  return std::is_permutation(wanted.next_hops.begin(), wanted.next_hops.end(),
                             there.next_hops.begin(), there.next_hops.end(), same);
}

using ByPrefix = std::multimap<IpPrefix, const Route*>;

bool is_kept(const Message& message, const ByPrefix& keep) {
  if (keep.empty()) return false;
  RouteEvent there;
  if (decode_route(message, there) != Decoded::kEvent) return false;
  const auto [first, last] = keep.equal_range(there.route.prefix);
  return std::any_of(first, last,
                     [&](const auto& wanted) { return alike(*wanted.second, there.route); });
}

Result<void> collect(DumpReader& reader, uint8_t family, uint8_t protocol, const ByPrefix& keep,
                     Bodies& found) {
  DumpPhase phase{MessageKind::kOther, RTM_GETROUTE, family};
  phase.protocol = protocol;
  if (auto started = reader.start(phase); !started) return started;
  std::vector<Message> messages;
  for (;;) {
    switch (reader.read(messages)) {
      case DumpReader::Status::kDone:
        return {};
      case DumpReader::Status::kFailed:
        return tl::unexpected(reader.error());
      case DumpReader::Status::kWait: {
        pollfd descriptor{reader.fd(), POLLIN, 0};
        if (poll(&descriptor, 1, kAnswer_ms) == 0)
          return fail("netlink: Linux does not say which routes there are", ETIMEDOUT);
        break;
      }
      case DumpReader::Status::kMessages:
        for (const Message& message : messages)
          if (is_ours(message, protocol) && !is_kept(message, keep))
            found.emplace_back(message.body.begin(), message.body.end());
    }
  }
}

nlmsghdr* removal(char* buffer, const std::vector<uint8_t>& body) {
  auto* header = reinterpret_cast<nlmsghdr*>(buffer);
  std::memset(header, 0, sizeof *header);
  header->nlmsg_len = static_cast<uint32_t>(sizeof *header + body.size());
  header->nlmsg_type = RTM_DELROUTE;
  header->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
  std::memcpy(buffer + sizeof *header, body.data(), body.size());
  return header;
}

}  // namespace

Result<size_t> remove_routes_of_protocol(const NetworkNamespace& space, uint8_t protocol,
                                         std::span<const Route> keep) {
  auto reader = DumpReader::open(space);
  if (!reader) return tl::unexpected(reader.error());
  ByPrefix wanted;
  for (const Route& route : keep) wanted.emplace(route.prefix, &route);
  Bodies found;
  for (const uint8_t family : {AF_INET, AF_INET6})
    if (auto done = collect(*reader, family, protocol, wanted, found); !done)
      return tl::unexpected(done.error());
  if (found.empty()) return 0;
  auto exchange = NetlinkExchange::open(space);
  if (!exchange) return tl::unexpected(exchange.error());
  Error refused;
  auto done = exchange->run(
      found.size(), messages::kMessageBytes,
      [&](size_t index, char* buffer) { return removal(buffer, found[index]); },
      [&](size_t, const NetlinkExchange::Answer& answer) {
        if (answer.error_number != 0 && answer.error_number != ESRCH)
          refused = refusal("remove a route of an earlier run", answer.error_number, answer.detail);
      });
  if (!done) return tl::unexpected(done.error());
  if (refused.error_number != 0) return tl::unexpected(refused);
  return found.size();
}

}  // namespace hecto::router
