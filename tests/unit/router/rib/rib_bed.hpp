// A Routing with real tables under it, and what a packet to an address would meet, in words.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "lookup/direct_layout.hpp"
#include "router/rib/routing.hpp"
#include "tests/beds/addresses.hpp"

namespace hecto::router::test {

inline MacAddress mac(uint8_t last) {
  return {0x02, 0, 0, 0, 0, last};
}

inline std::string reason_word(uint8_t number) {
  switch (static_cast<Reason>(number)) {
    case Reason::kLocal:
      return "local";
    case Reason::kMulticast:
      return "multicast";
    case Reason::kBroadcast:
      return "broadcast";
    case Reason::kGlean:
      return "glean";
    case Reason::kNoRoute:
      return "no_route";
    case Reason::kUnreachable:
      return "unreachable";
    case Reason::kProhibit:
      return "prohibit";
    case Reason::kInterfaceDown:
      return "interface_down";
    case Reason::kBlackhole:
      return "blackhole";
    default:
      return std::to_string(number);
  }
}

// Routes by Linux's devices: `hop(11, "10.0.0.1")`, on-link `hop(11)`.
inline NextHop hop(int ifindex, const std::string& gateway = "", uint16_t weight = 1) {
  NextHop next;
  if (!gateway.empty()) next.gateway = ip(gateway);
  next.ifindex = ifindex;
  next.weight = weight;
  return next;
}

inline Route linux_route(const std::string& prefix, std::vector<NextHop> hops,
                         uint32_t metric = 0) {
  Route route;
  route.prefix = net(prefix);
  route.next_hops = std::move(hops);
  route.metric = metric;
  route.protocol = 186;
  return route;
}

inline Route typed_route(const std::string& prefix, RouteType type, uint32_t table = kTableMain) {
  Route route = linux_route(prefix, {});
  route.type = type;
  route.table = table;
  return route;
}

inline Route api_route(const std::string& prefix, const std::string& gateway, uint32_t metric = 0) {
  Route route = linux_route(prefix, {hop(0, gateway)}, metric);
  route.origin = RouteOrigin::kApi;
  route.protocol = 4;
  return route;
}

// Readers that let go of what they hold only when told, or `lag` requests later.
class LateReaders final : public lookup::Reclaimer {
 public:
  uint64_t start() noexcept override { return ++last_; }
  bool passed(uint64_t token) noexcept override { return !holding && token + lag <= last_; }

  bool holding = false;
  uint64_t lag = 0;

 private:
  uint64_t last_ = 0;
};

class Bed {
 public:
  static constexpr lookup::TableId kFurtherTables = 3;
  // `max_nodes`: how many /24s of IPv4 can hold longer prefixes; 0: as many as there can be.
  explicit Bed(uint32_t max_groups = 512, uint32_t max_nodes = 0,
               lookup::Reclaimer& readers = lookup::Reclaimer::none(), size_t large_from = 100'000,
               bool consistent_ecmp = false) {
    lookup::Memory& memory = lookup::Memory::system();
    lookup::FibOptions fib_options;
    fib6 = lookup::Fib6::create(fib_options, memory, readers).value();
    fib_options.engine = lookup::Engine::kDirect;
    if (max_nodes != 0) {
      fib_options.max_bytes = (DIRECT_NODES_WORD + size_t{max_nodes} * DIRECT_NODE_WORDS) * 4;
    }
    fib4 = lookup::Fib4::create(fib_options, memory, readers).value();
    lookup::FibOptions further;
    further.engine = lookup::Engine::kTrie;
    further.tables = 1 + kFurtherTables;
    further4 = lookup::Fib4::create(further, memory, readers).value();
    further6 = lookup::Fib6::create(further, memory, readers).value();
    lookup::NextHopOptions next_hop_options;
    next_hop_options.max_groups = max_groups;
    next_hop_options.no_route_reason = static_cast<uint8_t>(Reason::kNoRoute);
    next_hop_options.no_route_kind = lookup::RecordKind::kPunt;
    next_hops = lookup::NextHopTable::create(next_hop_options, memory, readers).value();
    RoutingOptions options;
    options.max_groups = max_groups;
    options.further4 = further4.get();
    options.further6 = further6.get();
    options.further_tables = 1 + kFurtherTables;
    options.large_from = large_from;
    options.consistent_ecmp = consistent_ecmp;
    options.make4 = [this] {
      lookup::FibOptions large;
      large.engine = lookup::Engine::kDirect;
      large.max_bytes = large_bytes;
      return large_bytes == 0 ? nullptr : lookup::Fib4::create(large).value();
    };
    options.make6 = [] { return lookup::Fib6::create({}).value(); };
    options.log = [this](LogLevel, const std::string& line) { log.push_back(line); };
    routing = std::make_unique<Routing>(*fib4, *fib6, *next_hops, options);
  }

  // Interface `id` is port 100 + id, ifindex 11 + id, MAC 02:..:(0xa0 + id).
  static InterfaceState state(InterfaceId id, const std::string& address = "") {
    InterfaceState interface;
    interface.id = id;
    interface.name = fmt::format("if{}", id.value());
    interface.port = PortId(100 + id);
    interface.mac = mac(static_cast<uint8_t>(0xa0 + id));
    interface.ifindex = 11 + id;
    if (!address.empty()) {
      interface.addresses.push_back(IpPrefix::parse_interface(address).value());
    }
    return interface;
  }
  void add_interface(InterfaceId id, const std::string& address = "") {
    auto added = routing->add_interface(state(id, address));
    ASSERT_TRUE(added) << added.error().message;
  }
  // Without a twin in Linux.
  void add_plain_interface(InterfaceId id, const std::vector<std::string>& addresses) {
    InterfaceState interface = state(id);
    interface.ifindex = 0;
    for (const std::string& address : addresses) {
      interface.addresses.push_back(IpPrefix::parse_interface(address).value());
    }
    auto added = routing->add_interface(interface);
    ASSERT_TRUE(added) << added.error().message;
  }

  void neighbor(int ifindex, const std::string& address, uint8_t last, bool usable = true) {
    routing->neighbor({ifindex, ip(address), mac(last), 2, usable}, false);
  }
  void add(const Route& route, bool replace = false) { routing->route(route, false, replace); }
  void remove(const Route& route) { routing->route(route, true, false); }
  void link(InterfaceId id, bool up, bool removed = false) {
    LinuxLink link;
    link.ifindex = 11 + id;
    link.name = fmt::format("if{}", id);
    link.mtu = 1500;
    link.up = link.carrier = up;
    routing->link(link, removed);
  }

  // `table`: Linux's number.
  GroupId group(const IpAddress& address, uint32_t table = kTableMain) const {
    const lookup::TableId in = routing->fib_table(table).value();
    GroupId group = 0;
    if (address.family == Family::kIpv4) {
      uint32_t destination = address.v4().value;
      lookup_batch(in == 0 ? fib4->view(0) : further4->view(0, in), &destination, &group, 1);
    } else {
      lookup::Ipv6Address destination = address.v6();
      lookup_batch(in == 0 ? fib6->view(0) : further6->view(0, in), &destination, &group, 1);
    }
    return group;
  }
  lookup::NextHopRecord record(const std::string& address) const {
    return next_hops->view(0).record(group(ip(address)));
  }

  std::string words(const lookup::NextHopRecord& record) const {
    switch (record.kind) {
      case lookup::RecordKind::kForward:
        return fmt::format("if{} {:02x}", record.interface, record.header[5]);
      case lookup::RecordKind::kPunt:
        return "punt " + reason_word(record.reason);
      case lookup::RecordKind::kDrop:
        return "drop " + reason_word(record.reason);
      case lookup::RecordKind::kMultipath:
        return "multipath";
      case lookup::RecordKind::kTunnel:
        return fmt::format("tunnel if{}", record.interface);
      case lookup::RecordKind::kLabelled: {
        std::string pushed;
        for (unsigned i = 0; i < record.label_count; ++i)
          pushed +=
              fmt::format("{}{}", i == 0 ? "" : "/", __builtin_bswap32(record.labels[i]) >> 12);
        const uint16_t type = record.header[record.header_length - 2u] << 8 |
                              record.header[record.header_length - 1u];
        return fmt::format("if{} {:02x} {} [{}] ttl {} mtu {}", record.interface, record.header[5],
                           type == 0x8847 ? "mpls" : "?", pushed, record.label_ttl, record.mtu);
      }
      case lookup::RecordKind::kReceive:
        return fmt::format("receive if{} ttl {}", record.interface, record.label_ttl);
    }
    return "?";
  }
  // "if1 05": leaves by interface 1 to the MAC that ends in 05; "punt glean"; "drop blackhole";
  // of ECMP the different members, "{if1 05 | if2 06}".
  std::string verdict(const IpAddress& address, uint32_t table = kTableMain) const {
    GroupId id = group(address, table);
    lookup::NextHopRecord record = next_hops->view(0).record(id);
    if (record.kind != lookup::RecordKind::kMultipath) return words(record);
    std::set<std::string> members;
    for (GroupId bucket : next_hops->buckets(id)) {
      members.insert(words(next_hops->view(0).record(bucket)));
    }
    return fmt::format("{{{}}}", fmt::join(members, " | "));
  }
  std::string verdict(const std::string& address, uint32_t table = kTableMain) const {
    return verdict(ip(address), table);
  }
  uint64_t fib_writes() const { return routing->statistics().fib_writes; }
  uint64_t records_written() const { return routing->statistics().records_written; }

  // Of further tables that are large; 0: there is no memory for one.
  size_t large_bytes = (DIRECT_NODES_WORD + size_t{64} * DIRECT_NODE_WORDS) * 4;
  std::vector<std::string> log;
  std::unique_ptr<lookup::Fib4> fib4;
  std::unique_ptr<lookup::Fib6> fib6;
  std::unique_ptr<lookup::Fib4> further4;
  std::unique_ptr<lookup::Fib6> further6;
  std::unique_ptr<lookup::NextHopTable> next_hops;
  std::unique_ptr<Routing> routing;
};

}  // namespace hecto::router::test
