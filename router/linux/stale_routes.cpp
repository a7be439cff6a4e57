#include "router/linux/stale_routes.hpp"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <poll.h>

#include <cstring>
#include <vector>

#include "router/linux/dump.hpp"
#include "router/linux/netlink_exchange.hpp"
#include "router/linux/request_messages.hpp"

namespace hecto::router {
namespace {

constexpr int kAnswer_ms = 5000;

using Bodies = std::vector<std::vector<uint8_t>>;  // rtmsg and attributes

bool is_wanted(const Message& message, uint8_t protocol) {
  const auto route = read_pod<rtmsg>(message.body);
  if (message.header.nlmsg_type != RTM_NEWROUTE || !route) return false;
  return route->rtm_protocol == protocol && route->rtm_table == RT_TABLE_MAIN &&
         (route->rtm_flags & RTM_F_CLONED) == 0 &&
         message.body.size() + sizeof(nlmsghdr) <= messages::kMessageBytes;
}

Result<void> collect(DumpReader& reader, uint8_t family, uint8_t protocol, Bodies& found) {
  DumpPhase phase{MessageKind::kOther, RTM_GETROUTE, family, RT_TABLE_MAIN};
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
          if (is_wanted(message, protocol))
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

Result<size_t> remove_routes_of_protocol(const NetworkNamespace& space, uint8_t protocol) {
  auto reader = DumpReader::open(space);
  if (!reader) return tl::unexpected(reader.error());
  Bodies found;
  for (const uint8_t family : {AF_INET, AF_INET6})
    if (auto done = collect(*reader, family, protocol, found); !done)
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
