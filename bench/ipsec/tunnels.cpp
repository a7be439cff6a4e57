#include "bench/ipsec/tunnels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <unordered_set>

#include "base/bytes.hpp"
#include "base/checksum.hpp"
#include "base/ether.hpp"
#include "router/dataplane/core/dpdk.hpp"

#include <rte_ip.h>

namespace hecto::bench {

using namespace router;

namespace {

constexpr uint32_t kPrivate = 10U << 24;            // 10.0.0.0/8: behind the tunnels
constexpr uint32_t kOurs = 172U << 24 | 16U << 16;  // 172.16.0.0/12: behind the router
constexpr const char* kRouter = "198.18.0.254";
constexpr uint32_t kFirstSpi = 0x10000;
constexpr size_t kLeastFrames = 256;
constexpr unsigned kRoom = 128;  // before and behind an inner packet
constexpr uint64_t kSeed = 17;

IpAddress address(uint32_t host_order) {
  IpAddress out;
  for (unsigned i = 0; i < 4; ++i) out.bytes[i] = static_cast<uint8_t>(host_order >> (24 - 8 * i));
  return out;
}

IpPrefix network_behind(unsigned n) {
  return {address(kPrivate | n << 8), 24};
}

SaState state_of(const Tunnel& tunnel, const IpAddress& source, const SaId& id) {
  SaState state;
  state.id = id;
  state.source = source;
  state.origin = RouteOrigin::kApi;
  state.reqid = tunnel.n + 1;
  state.transform = tunnel.transform;
  state.replay_window = tunnel.replay_window;
  std::mt19937_64 random(id.spi);
  const auto fill = [&random](auto& key, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) key[i] = static_cast<uint8_t>(random());
    return static_cast<uint8_t>(bytes);
  };
  state.keys.cipher_bytes =
      fill(state.keys.cipher, tunnel.transform.key_bytes + tunnel.transform.salt_bytes());
  state.keys.integrity_bytes = fill(state.keys.integrity, tunnel.transform.integrity_key_bytes());
  return state;
}

}  // namespace

SaState Tunnel::outbound() const {
  return state_of(*this, *IpAddress::parse(kRouter), {far_end, spi});
}

SaState Tunnel::inbound() const {
  return state_of(*this, far_end, {*IpAddress::parse(kRouter), Spi(spi + 1)});
}

IpsecPolicy Tunnel::policy(PolicyDirection direction) const {
  const bool out = direction == PolicyDirection::kOut;
  const IpAddress router = *IpAddress::parse(kRouter);
  IpsecPolicy policy;
  policy.direction = direction;
  policy.origin = RouteOrigin::kApi;
  (out ? policy.selector.destination : policy.selector.source) = network_behind(n);
  (out ? policy.selector.source : policy.selector.destination) =
      IpPrefix{out ? router : address(kOurs), our_bits}.network();
  policy.protection = PolicyTemplate{
      out ? router : far_end, out ? far_end : router, n + 1, 0, IpsecMode::kTunnel, false};
  return policy;
}

bool Tunnel::leads_to(const std::string& host) const {
  const auto parsed = IpAddress::parse(host);
  return parsed && network_behind(n).v4().contains(parsed->v4());
}

std::vector<uint8_t> inner_packet(unsigned n, uint16_t bytes) {
  std::vector<uint8_t> ip(bytes);
  rte_ipv4_hdr header{};
  header.version_ihl = 0x45;
  header.total_length = __builtin_bswap16(bytes);
  header.time_to_live = 64;
  header.next_proto_id = 17;
  header.src_addr = __builtin_bswap32(kPrivate | n << 8 | 1);
  header.dst_addr = __builtin_bswap32(kOurs | (n & 0xffff));
  header.hdr_checksum = rte_ipv4_cksum(&header);
  std::memcpy(ip.data(), &header, sizeof header);
  store16_be(&ip[kIpv4Bytes + 4], bytes - kIpv4Bytes);
  for (size_t i = kIpv4Bytes + 8; i < ip.size(); ++i)
    ip[i] = static_cast<uint8_t>(n * 167 + i * 31);
  return ip;
}

Result<void> add_private_routes(Bed& bed) {
  for (const auto& [to, via] :
       {std::pair{"10.0.0.0/8", "100.64.0.1"}, {"172.16.0.0/12", "100.64.0.1"}}) {
    config::RouteConfig route;
    route.to = *lookup::IpPrefix::parse(to);
    route.via.push_back({*IpAddress::parse(via), "", 1});
    if (auto added = bed.router().routes().add(route, RouteOrigin::kApi); !added)
      return tl::unexpected(added.error());
  }
  bed.router().routing().commit();
  return {};
}

Result<std::vector<IpAddress>> far_ends(const Bed& bed, unsigned count) {
  std::vector<IpAddress> ends;
  std::unordered_set<uint32_t> seen;
  for (const ReplayDestinations::Ipv4& destination : bed.destinations().ipv4) {
    if (ends.size() == count) break;
    const uint32_t host = __builtin_bswap32(destination.address_be);
    if (seen.insert(host).second) ends.push_back(address(host));
  }
  if (ends.size() < count)
    return fail(fmt::format("{} tunnels: the table gives {} far ends", count, ends.size()));
  return ends;
}

std::vector<uint32_t> hosts_behind(unsigned tunnels, size_t count) {
  std::mt19937_64 random(kSeed);
  std::vector<uint32_t> hosts(count);
  for (uint32_t& host : hosts)
    host = static_cast<uint32_t>(kPrivate | random() % tunnels << 8 | (1 + random() % 254));
  return hosts;
}

Result<std::unique_ptr<FarEnd>> FarEnd::create() {
  auto engine = esp::Engine::create();
  if (!engine) return tl::unexpected(engine.error());
  auto far_end = std::make_unique<FarEnd>();
  far_end->engine_ = std::move(*engine);
  far_end->buffer_.resize(kLargestFrame_bytes + 2 * kRoom);
  return far_end;
}

void FarEnd::send(esp::Sa& sa, std::span<const uint8_t> inner, WholeFrames& to) {
  esp::Packet packet{buffer_.data() + kRoom,
                     static_cast<uint32_t>(inner.size()),
                     kRoom - kEthernetBytes,
                     kRoom,
                     &sa,
                     Reason::kNone};
  std::memcpy(packet.ip, inner.data(), inner.size());
  engine_->outbound({&packet, 1}, 1, 64);
  uint8_t* frame = packet.ip - kEthernetBytes;
  std::memset(frame, 2, kEthernetBytes);
  std::memcpy(frame + 12, &kEtherIpv4, sizeof kEtherIpv4);
  to.add(frame, packet.bytes + kEthernetBytes);
}

Result<std::unique_ptr<Tunnels>> Tunnels::create(Bed& bed, const esp::Transform& transform,
                                                 std::span<const IpAddress> ends, unsigned shapes) {
  std::unique_ptr<Tunnels> tunnels(new Tunnels(bed));
  for (unsigned n = 0; n < ends.size(); ++n)
    tunnels->tunnels_.push_back(
        {n, Spi(kFirstSpi + 2 * n), ends[n], transform, 0, static_cast<uint8_t>(n % shapes)});
  for (const Tunnel& tunnel : tunnels->tunnels_) {
    auto twin = esp::Sa::create(tunnel.inbound());
    if (!twin) return tl::unexpected(twin.error());
    tunnels->twins_.push_back(std::move(*twin));
  }
  if (auto done = tunnels->install(); !done) return tl::unexpected(done.error());
  return tunnels;
}

Result<void> Tunnels::install() {
  Ipsec& ipsec = bed_.router().ipsec();
  for (const Tunnel& tunnel : tunnels_) {
    for (const SaState& state : {tunnel.outbound(), tunnel.inbound()})
      if (auto added = ipsec.add_sa(state); !added) return tl::unexpected(added.error());
    for (const auto direction : {PolicyDirection::kOut, PolicyDirection::kForward})
      if (auto added = ipsec.add_policy(tunnel.policy(direction)); !added)
        return tl::unexpected(added.error());
  }
  apply(bed_);
  return {};
}

Tunnels::~Tunnels() {
  Ipsec& ipsec = bed_.router().ipsec();
  for (const Tunnel& tunnel : tunnels_) {
    for (const auto direction : {PolicyDirection::kOut, PolicyDirection::kForward})
      (void)ipsec.remove_policy(tunnel.policy(direction));
    for (const SaState& state : {tunnel.outbound(), tunnel.inbound()})
      (void)ipsec.remove_sa(state.id, RouteOrigin::kApi);
  }
  apply(bed_);
}

const Tunnel* Tunnels::by_spi(uint32_t outbound) const {
  const uint32_t n = (outbound - kFirstSpi) / 2;
  return n < tunnels_.size() && tunnels_[n].spi == outbound ? &tunnels_[n] : nullptr;
}

uint64_t Tunnels::carried() const {
  uint64_t packets = 0;
  for (const SaView& sa : bed_.router().ipsec().sas()) packets += sa.usage.packets;
  return packets;
}

Result<WholeFrames> Tunnels::frames(const std::vector<uint16_t>& inner_bytes) const {
  auto far_end = FarEnd::create();
  if (!far_end) return tl::unexpected(far_end.error());
  std::vector<unsigned> order(std::max<size_t>(kLeastFrames, tunnels_.size()));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<unsigned>(i % tunnels_.size());
  std::shuffle(order.begin(), order.end(), std::mt19937_64(kSeed));
  WholeFrames frames;
  for (size_t i = 0; i < order.size(); ++i)
    (*far_end)->send(*twins_[order[i]], order[i], inner_bytes[i % inner_bytes.size()], frames);
  return frames;
}

void apply(Bed& bed) {
  bed.router().publish_ipsec();
  for (unsigned i = 0; i < bed.workers(); ++i) bed.router().dataplane().worker(i).refresh();
}

}  // namespace hecto::bench
