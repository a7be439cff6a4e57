#include "bench/bed/gre_tunnels.hpp"

#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "base/bytes.hpp"
#include "base/ether.hpp"
#include "bench/bed/expected.hpp"
#include "router/control/interface_control.hpp"
#include "router/control/router.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/core/tunnel_tables.hpp"
#include "router/dataplane/dataplane.hpp"

namespace hecto::bench {

using namespace router;

namespace {

constexpr unsigned kOuterIp = kEthernetBytes, kGreAt = kOuterIp + kIpv4Bytes;
constexpr uint8_t kOuterTtl = 77;
// Of what comes out: our end is the first receive port's address.
constexpr const char* kOutLocal = "198.18.0.254";
constexpr const char* kOutRemote = "198.18.0.1";

LinuxLink gre_link(int number, const std::string& local, const std::string& remote) {
  LinuxLink link;
  link.ifindex = 100'000 + number;
  link.name = fmt::format("gre{}", number);
  link.kind = "gre";
  link.up = link.carrier = true;
  LinuxTunnel& tunnel = link.tunnel.emplace();
  tunnel.gre = true;
  tunnel.local = *IpAddress::parse(local);
  tunnel.remote = *IpAddress::parse(remote);
  tunnel.ttl = kOuterTtl;
  tunnel.sets_df = true;
  return link;
}

}  // namespace

Result<std::vector<InterfaceId>> make_gre_tunnels(Router& router, unsigned into, bool out) {
  std::vector<LinuxLink> links;
  for (unsigned i = 0; i < into; ++i)
    links.push_back(gre_link(static_cast<int>(i), fmt::format("100.64.{}.254", i % 2),
                             fmt::format("100.64.{}.{}", i % 2, i / 2 + 1)));
  if (out) links.push_back(gre_link(static_cast<int>(into), kOutLocal, kOutRemote));
  std::vector<TunnelSetup> setups;
  for (const LinuxLink& link : links) {
    if (const std::string trouble = router.interfaces().adopt_tunnel(link); !trouble.empty())
      return fail(trouble);
    const Interface* const made = router.interfaces().table().by_ifindex(link.ifindex);
    setups.push_back({made->id, kNoInterface, *link.tunnel});
  }
  static constexpr rte_mbuf_dynflag kFlag = {"hecto_by_tunnel", 0};
  const int bit = rte_mbuf_dynflag_register(&kFlag);
  if (bit < 0) return fail("tunnels: no room in DPDK's mbufs");
  router.dataplane().settings().tunnels =
      std::make_shared<const TunnelTables>(setups, true, uint64_t{1} << bit);
  router.dataplane().publish();
  std::vector<InterfaceId> ids;
  for (unsigned i = 0; i < into; ++i) ids.push_back(setups[i].interface);
  return ids;
}

std::array<uint8_t, kGreFront> gre_front(std::span<const uint8_t, 12> macs, uint16_t bytes,
                                         bool inner4) {
  std::array<uint8_t, kGreFront> front{};
  std::memcpy(front.data(), macs.data(), macs.size());
  std::memcpy(front.data() + 12, &kEtherIpv4, 2);
  uint8_t* const ip = front.data() + kOuterIp;
  ip[0] = 0x45;
  store16_be(ip + 2, bytes - kEthernetBytes + kOuterBytes);
  ip[6] = 0x40;
  ip[8] = kOuterTtl;
  ip[9] = kProtocolGre;
  std::memcpy(ip + 12, IpAddress::parse(kOutRemote)->bytes.data(), 4);
  std::memcpy(ip + 16, IpAddress::parse(kOutLocal)->bytes.data(), 4);
  store16_be(ip + 10, checksum_by_definition({ip, kIpv4Bytes}));
  const uint16_t type = inner4 ? kEtherIpv4 : kEtherIpv6;
  std::memcpy(front.data() + kGreAt + 2, &type, 2);
  return front;
}

// Neighbors are 100.64.SIDE.HOST, and end their MACs so.
std::optional<std::string> wrong_gre_front(std::span<const uint8_t> frame, unsigned side,
                                           const MacAddress& neighbor) {
  const uint8_t from[4] = {100, 64, static_cast<uint8_t>(side), 254};
  const uint8_t to[4] = {100, 64, neighbor[4], neighbor[5]};
  if (frame.size() < kGreFront + kIpv4Bytes) return "has no room for GRE";
  const uint8_t* const ip = &frame[kOuterIp];
  if (load16_native(&frame[12]) != kEtherIpv4 || ip[0] != 0x45 || ip[9] != kProtocolGre)
    return "is not in GRE over IPv4";
  if (load16_be(ip + 2) != frame.size() - kEthernetBytes) return "has a wrong outer length";
  if (checksum_by_definition({ip, kIpv4Bytes}) != 0) return "has a wrong outer checksum";
  if (ip[8] != kOuterTtl || (ip[6] & 0x40) == 0) return "has another outer TTL, or no DF";
  if (std::memcmp(ip + 12, from, 4) != 0 || std::memcmp(ip + 16, to, 4) != 0)
    return "goes to the end of another tunnel";
  const bool inner4 = frame[kGreFront] >> 4 == 4;
  const bool named = load16_native(&frame[kGreAt + 2]) == (inner4 ? kEtherIpv4 : kEtherIpv6);
  if (load16_native(&frame[kGreAt]) != 0 || !named) return "has a wrong GRE header";
  return std::nullopt;
}

}  // namespace hecto::bench
