// libFuzzer target: the netlink decoders on arbitrary bytes.
#include <cstdlib>

#include "router/linux/decode_bridge.hpp"
#include "router/linux/decode_labels.hpp"
#include "router/linux/decode_route.hpp"
#include "router/linux/decode_rule.hpp"

using namespace hecto::router;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MessageWalker walker({data, size});
  Message message;
  while (walker.next(message)) {
    LinkEvent link;
    AddressEvent address;
    NeighborEvent neighbor;
    NextHopEvent object;
    RouteEvent route;
    RuleEvent rule;
    static_cast<void>(kind_of(message));
    if (decode_link(message, link) == Decoded::kEvent) require(link.link.name.size() < 16);
    if (decode_address(message, address) == Decoded::kEvent) {
      const IpPrefix& prefix = address.address.address;
      require(prefix.length <= prefix.address.size() * 8);
    }
    static_cast<void>(decode_neighbor(message, neighbor));
    BridgePortEvent port;
    BridgeVlansEvent vlans;
    FdbEvent fdb;
    static_cast<void>(decode_bridge_port(message, port));
    if (decode_bridge_vlans(message, vlans) == Decoded::kEvent)
      for (const LinuxBridgeVlans& each : vlans.vlans)
        require(each.first > 0 && each.first <= each.last && each.last < 4095);
    if (decode_fdb_entry(message, fdb) == Decoded::kEvent)
      require(fdb.entry.vlan < 4095 && fdb.entry.bridge > 0 && (fdb.entry.mac[0] & 1) == 0);
    if (decode_nexthop(message, object) == Decoded::kEvent) require(object.object.id != 0);
    if (decode_route(message, route) == Decoded::kEvent) {
      const IpPrefix& prefix = route.route.prefix;
      require(prefix.length <= prefix.address.size() * 8);
      require(route.route.table != 0);
    }
    LabelRouteEvent label;
    if (decode_label_route(message, label) == Decoded::kEvent) {
      require(label.route.label < kMostLabels);
      for (const NextHop& hop : label.route.next_hops)
        require(hop.labels.count <= LabelStack::kMost);
    }
    if (decode_rule(message, rule) == Decoded::kEvent) {
      require(rule.rule.iif.size() < 16 && rule.rule.oif.size() < 16);
      for (const auto& prefix : {rule.rule.from, rule.rule.to})
        require(!prefix || (prefix->length > 0 && prefix->length <= prefix->address.size() * 8));
    }
  }
  return 0;
}
