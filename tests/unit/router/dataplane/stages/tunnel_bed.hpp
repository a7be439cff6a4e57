// Two gateways with a tunnel between them, which is interface 2 of both.
#pragma once

#include <fmt/format.h>

#include "router/dataplane/core/tunnel_tables.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {

inline constexpr InterfaceId kTunnelId = 2;
inline constexpr uint32_t kGreKey = 0xcafe0007;

class TunnelBed : public TwoGateways {
 protected:
  TunnelBed() {
    for (Gateway* gateway : {&left_, &right_}) gateway->snapshot().features = kFeatureVlan;
  }
  // One of a gateway's; of the other ends nobody needs to know.
  static LinuxTunnel between(unsigned side, bool gre, Family outer, bool with_key = false) {
    LinuxTunnel tunnel;
    tunnel.gre = gre;
    const char* const ends4[] = {"192.0.2.1", "192.0.2.2"};
    const char* const ends6[] = {"2001:db8::1", "2001:db8::2"};
    const auto& ends = outer == Family::kIpv4 ? ends4 : ends6;
    tunnel.local = *IpAddress::parse(ends[side - 1]);
    tunnel.remote = *IpAddress::parse(ends[2 - side]);
    tunnel.ttl = 77;
    tunnel.sets_df = true;
    if (with_key) tunnel.key_in = tunnel.key_out = kGreKey;
    return tunnel;
  }
  static void set(Gateway& gateway, const std::vector<TunnelSetup>& setups,
                  bool gre_is_known = true) {
    gateway.snapshot().tunnels =
        std::make_shared<const TunnelTables>(setups, gre_is_known, uint64_t{1} << 40);
  }
  static void add_interface(Gateway& gateway, InterfaceId id, uint16_t mtu = 1400) {
    InterfaceState state;
    state.id = id;
    state.name = fmt::format("tun{}", id.value());
    state.port = kNoPort;
    state.tunnel = true;
    state.mtu = mtu;
    ASSERT_TRUE(gateway.routing().add_interface(state));
    gateway.snapshot().interfaces[id].up = true;
    gateway.snapshot().interfaces[id].counters = true;
  }
  static void route(Gateway& gateway, const std::string& to, InterfaceId by) {
    Route route;
    route.prefix = *IpPrefix::parse(to);
    route.origin = RouteOrigin::kFile;
    NextHop hop;
    hop.interface = by;
    route.next_hops = {hop};
    ASSERT_TRUE(gateway.routing().add(route));
    gateway.routing().commit();
  }
  // Of both sides, with routes to the other side's host.
  void make(const LinuxTunnel& of_left, const LinuxTunnel& of_right, uint16_t mtu = 1400) {
    for (Gateway* gateway : {&left_, &right_}) {
      const unsigned other = 3 - gateway->side();
      add_interface(*gateway, kTunnelId, mtu);
      set(*gateway, {{kTunnelId, kNoInterface, gateway == &left_ ? of_left : of_right}});
      route(*gateway, fmt::format("10.{}.0.1/32", other), kTunnelId);
      route(*gateway, fmt::format("fd00:{}::1/128", other), kTunnelId);
    }
  }
  void make(bool gre, Family outer, bool with_key = false, uint16_t mtu = 1400) {
    make(between(1, gre, outer, with_key), between(2, gre, outer, with_key), mtu);
  }
  // What left by a port, and is gone.
  static std::vector<Frame> taken(Gateway& gateway, PortId port) {
    std::vector<Frame> frames;
    for (rte_mbuf* each : gateway.sent(port)) {
      frames.push_back(bytes_of(each));
      rte_pktmbuf_free(each);
    }
    return frames;
  }
  // The outer frame of what left's host sends; empty: none.
  Frame outer(const Frame& frame) {
    left_.run({packet(frame)}, 0);
    const std::vector<Frame> frames = taken(left_, 1);
    return frames.size() == 1 ? frames[0] : Frame{};
  }
  // What becomes of an outer frame on the right.
  std::vector<Frame> arrived(const Frame& frame) {
    right_.run({carried(packet(frame))}, 1);
    return taken(right_, 0);
  }
  uint64_t received_by_tunnel() {
    return right_.pipeline().counters().interfaces[kTunnelId].rx_packets.get();
  }
};

}  // namespace hecto::router::test
