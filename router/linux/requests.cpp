#include "router/linux/requests.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace hecto::router {
namespace {

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

std::string route_verb(bool remove, const Route& route) {
  return fmt::format("{} route {}", remove ? "remove" : "add", text_of(route));
}

}  // namespace

Result<NetlinkRequests> NetlinkRequests::open(const NetworkNamespace& space) {
  auto exchange = NetlinkExchange::open(space);
  if (!exchange) return tl::unexpected(exchange.error());
  return NetlinkRequests(std::move(*exchange));
}

Result<void> NetlinkRequests::one(const std::string& what,
                                  const std::function<nlmsghdr*(char*)>& build) {
  return exchange_.one(what, messages::kMessageBytes, build);
}

Result<int> NetlinkRequests::ifindex(const std::string& name) {
  if (name.empty() || name.size() >= IFNAMSIZ) return 0;
  int index = 0;
  auto exchanged = exchange_.run(
      1, messages::kMessageBytes,
      [&](size_t, char* buffer) { return messages::link_by_name(buffer, name); },
      [&](size_t, const NetlinkExchange::Answer& answer) {
        const auto link = read_pod<ifinfomsg>(answer.message.body);
        if (link) index = link->ifi_index;
      });
  if (!exchanged) return tl::unexpected(exchanged.error());
  return index;
}

Result<void> NetlinkRequests::set_link_up(int ifindex, bool up) {
  return one(fmt::format("set interface {} {}", ifindex, up ? "up" : "down"),
             [&](char* buffer) { return messages::link_flags(buffer, ifindex, up); });
}

Result<void> NetlinkRequests::set_link_mtu(int ifindex, uint32_t mtu) {
  return one(fmt::format("set MTU {} on interface {}", mtu, ifindex),
             [&](char* buffer) { return messages::link_mtu(buffer, ifindex, mtu); });
}

// Linux before 6.2 renames only what is down.
Result<void> NetlinkRequests::set_link_name(int ifindex, const std::string& name) {
  const auto rename = [&] {
    return one(fmt::format("rename interface {} to {}", ifindex, name),
               [&](char* buffer) { return messages::link_name(buffer, ifindex, name); });
  };
  auto done = rename();
  if (done || done.error().error_number != EBUSY) return done;
  if (auto down = set_link_up(ifindex, false); !down) return down;
  done = rename();
  auto up = set_link_up(ifindex, true);
  return done ? up : done;
}

Result<void> NetlinkRequests::set_link_mac(int ifindex, const MacAddress& mac) {
  return one(fmt::format("set MAC {:02x} on interface {}", fmt::join(mac, ":"), ifindex),
             [&](char* buffer) { return messages::link_mac(buffer, ifindex, mac); });
}

Result<void> NetlinkRequests::remove_link(int ifindex) {
  return one(fmt::format("remove interface {}", ifindex),
             [&](char* buffer) { return messages::link_removal(buffer, ifindex); });
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
  auto exchanged = exchange_.run(
      requests.size(), messages::kMessageBytes,
      [&](size_t index, char* buffer) {
        return messages::route(buffer, requests[index].route, requests[index].remove, mode);
      },
      [&](size_t index, const NetlinkExchange::Answer& answer) {
        if (answer.error_number == 0) {
          ++outcome.done;
          return;
        }
        ++outcome.failed;
        if (outcome.failures.size() >= BatchOutcome::kMaxFailures) return;
        const RouteRequest& request = requests[index];
        outcome.failures.push_back({index, refusal(route_verb(request.remove, request.route),
                                                   answer.error_number, answer.detail)});
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

Result<void> NetlinkRequests::hear_station(int port, uint16_t vlan, const MacAddress& mac) {
  return one(fmt::format("tell interface {}'s bridge of {}", port, to_string(mac)),
             [&](char* buffer) { return messages::fdb_use(buffer, port, vlan, mac); });
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
