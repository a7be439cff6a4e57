#include "tests/beds/gateway.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hecto::router::test {
namespace {

constexpr unsigned kMostAtOnce = 32;

IpAddress address(const std::string& text) {
  return *IpAddress::parse(text);
}

}  // namespace

Gateway::Gateway(unsigned side, uint16_t outer_mtu, Offload::Devices devices) : side_(side) {
  pool();
  make_tables(outer_mtu);
  NicSessions::Options nic;
  nic.own = [this](const IpAddress& address) {
    const Interfaces& interfaces = routing().interfaces();
    for (const auto& [id, state] : interfaces.all())
      for (const IpPrefix& own : state.addresses)
        if (own.address == address) return true;
    return false;
  };
  nic.now_s = [this] { return now_s.load(); };
  nic.log = [](LogLevel, const std::string&) {};
  nic_ = std::make_unique<NicSessions>(std::move(nic));
  IpsecOptions options;
  options.nic = nic_.get();
  options.now_s = [this] { return now_s.load(); };
  if (!devices.empty()) {
    make_offload(std::move(devices));
    options.readers = &in_flight_;
    options.device_keys = offload_->keys();
  }
  ipsec_ = std::make_unique<Ipsec>(std::move(options));
  static const SaMark kMark = *register_sa_mark();
  auto stages =
      IpsecStages::create({ipsec_->view(), kMark, &now_s}, offload_ ? device().esp() : nullptr);
  if (!stages) throw std::runtime_error(stages.error().message);
  stages_ = std::move(*stages);
  for (uint16_t port = 0; port < 2; ++port) {
    PortView& view = snapshot_.ports[port];
    view.present = true;
    view.untagged = port;
    const MacAddress mac = own_mac(port);
    std::memcpy(&view.mac, mac.data(), mac.size());
    snapshot_.interfaces[port].up = true;
  }
  snapshot_.interfaces[0].address4 = address(fmt::format("10.{}.0.254", side)).v4().value;
  snapshot_.interfaces[0].address6 = address(fmt::format("fd00:{}::fe", side)).v6();
  snapshot_.punt_pps[static_cast<size_t>(Reason::kTooBig)] = 1000;
}

void Gateway::plug(const NicSessions::Port& port) {
  const auto added = nic_->add_port(port);
  ASSERT_TRUE(added) << added.error().message;
  snapshot_.ports[port.id].opens_esp = port.opens;
  snapshot_.seals_esp |= port.seals;
  ipsec_->offer_to_nics();
}

void Gateway::unplug(uint16_t port) {
  nic_->withdraw(port);
  nic_->drop_port(port);
}

void Gateway::make_offload(Offload::Devices devices) {
  config::OffloadConfig config;
  config.lookup = config::OffloadMode::kNever;
  config.ipsec = config::OffloadMode::kAlways;
  config.batch = 256;
  config::Placement placement;
  placement.workers.resize(1);
  auto offload = Offload::create(config, placement, *tables_, std::move(devices));
  if (!offload) throw std::runtime_error(offload.error().message);
  offload_ = std::move(*offload);
}

void Gateway::make_tables(uint16_t outer_mtu) {
  config::TablesConfig config;
  config.groups = 256;
  config.ipv4_engine = config::Ipv4Engine::kCompact;
  tables_ =
      std::make_unique<Tables>(config, std::vector<int>{0}, 1, [](LogLevel, const std::string&) {});
  Routing& routing = tables_->routing();
  const unsigned other = 3 - side_;
  for (uint16_t port = 0; port < 2; ++port) {
    InterfaceState state;
    state.id = port;
    state.name = port == 0 ? "in" : "out";
    state.port = port;
    state.mac = own_mac(port);
    state.mtu = port == 0 ? 1500 : outer_mtu;
    for (const std::string& own :
         port == 0 ? std::vector<std::string>{fmt::format("10.{}.0.254/24", side_),
                                              fmt::format("fd00:{}::fe/64", side_)}
                   : std::vector<std::string>{fmt::format("192.0.2.{}/24", side_),
                                              fmt::format("2001:db8::{}/64", side_)})
      state.addresses.push_back(*IpPrefix::parse_interface(own));
    ASSERT_TRUE(routing.add_interface(state));
  }
  const MacAddress far = own_mac(1), host = kHostMac;
  for (const std::string& to :
       {fmt::format("192.0.2.{}", other), fmt::format("2001:db8::{}", other)})
    ASSERT_TRUE(routing.add_neighbor(1, address(to), far));
  for (const std::string& to : {fmt::format("10.{}.0.1", side_), fmt::format("fd00:{}::1", side_)})
    ASSERT_TRUE(routing.add_neighbor(0, address(to), host));
  for (const auto& [to, via] :
       {std::pair{fmt::format("10.{}.0.0/24", other), fmt::format("192.0.2.{}", other)},
        std::pair{fmt::format("fd00:{}::/64", other), fmt::format("2001:db8::{}", other)}}) {
    Route route;
    route.prefix = *IpPrefix::parse(to);
    route.origin = RouteOrigin::kFile;
    NextHop hop;
    hop.gateway = address(via);
    hop.interface = 1;
    route.next_hops = {hop};
    ASSERT_TRUE(routing.add(route));
  }
  routing.commit();
}

void Gateway::policy(PolicyDirection direction, PolicyAction action, const std::string& source,
                     const std::string& destination, std::optional<PolicyTemplate> protection,
                     uint32_t priority, uint32_t if_id) {
  IpsecPolicy policy;
  policy.direction = direction;
  policy.action = action;
  policy.selector.source = *IpPrefix::parse(source);
  policy.selector.destination = *IpPrefix::parse(destination);
  policy.selector.family = policy.selector.source.address.family;
  policy.priority = priority;
  policy.if_id = if_id;
  policy.protection = std::move(protection);
  policy.origin = RouteOrigin::kFile;
  ASSERT_TRUE(ipsec_->add_policy(policy));
  ipsec_->commit();
}

void Gateway::tunnel(Family inner, Family outer, IpsecMode mode, const Algorithm& algorithm) {
  const unsigned other = 3 - side_;
  const auto end = [&](unsigned side) {
    return address(outer == Family::kIpv4 ? fmt::format("192.0.2.{}", side)
                                          : fmt::format("2001:db8::{}", side));
  };
  const auto net = [&](unsigned side) {
    return inner == Family::kIpv4 ? fmt::format("10.{}.0.0/24", side)
                                  : fmt::format("fd00:{}::/64", side);
  };
  for (const unsigned to : {side_, other}) {
    SaState state;
    state.id = {end(to), kSpi * to};
    state.source = end(3 - to);
    state.origin = RouteOrigin::kFile;
    state.mode = mode;
    state.reqid = 7;
    state.transform = *esp::transform_by_name(algorithm.cipher, algorithm.integrity);
    state.esn = algorithm.esn;
    if (algorithm.in_udp) state.encapsulation.emplace();
    esp::Keys& keys = state.keys;
    keys.cipher_bytes =
        static_cast<uint8_t>(state.transform.key_bytes + state.transform.salt_bytes());
    keys.integrity_bytes = static_cast<uint8_t>(state.transform.integrity_key_bytes());
    for (uint8_t i = 0; i < keys.cipher_bytes; ++i) keys.cipher[i] = static_cast<uint8_t>(i * to);
    for (uint8_t i = 0; i < keys.integrity_bytes; ++i)
      keys.integrity[i] = static_cast<uint8_t>(100 + i * to);
    state.replay_window = 64;
    const auto added = ipsec_->add_sa(state);
    ASSERT_TRUE(added) << added.error().message;
  }
  const PolicyTemplate out{end(side_), end(other), 7, 0, mode, false};
  const PolicyTemplate in{end(other), end(side_), 7, 0, mode, false};
  policy(PolicyDirection::kOut, PolicyAction::kProtect, net(side_), net(other), out);
  policy(PolicyDirection::kForward, PolicyAction::kProtect, net(other), net(side_), in);
  policy(PolicyDirection::kIn, PolicyAction::kProtect, net(other), net(side_), in);
}

void Gateway::run(const std::vector<rte_mbuf*>& packets, uint16_t port) {
  Chunk& chunk = *chunk_;
  chunk.count = static_cast<unsigned>(packets.size());
  std::copy(packets.begin(), packets.end(), chunk.packets);
  const PortView& view = snapshot_.ports[port];
  const TableViews tables = tables_->views(0);
  ASSERT_EQ(chunk.refused_count, 0u) << "refused() comes between";
  for (rte_mbuf* packet : packets) packet->port = port;  // as a driver does
  observer_.use(snapshot_, 0);
  classify<0>(chunk, view, snapshot_);
  bool done = stages_->decap(chunk, view, tables, snapshot_, *reasons_, watching());
  while (!done) {
    poll_opened();
    done = stages_->decap_rest(chunk, view, snapshot_, watching());
  }
  finish(chunk);
}

void Gateway::send_own(rte_mbuf* packet) {
  Chunk& chunk = *chunk_;
  chunk.v4.packets[0] = packet;
  chunk.v4.ingress[0] = {1, kEthernetBytes};
  chunk.v4.count = 1;
  chunk.v6.count = 0;
  EXPECT_TRUE(stages_->encap_own(chunk, tables_->views(0), snapshot_, nullptr));
  EXPECT_FALSE(stages_->has_for_nics());
  leave(chunk);
}

void Gateway::finish(Chunk& chunk) {
  const TableViews tables = tables_->views(0);
  lookup_batch(tables.fib4, chunk.v4.destinations, chunk.v4.groups, chunk.v4.count);
  lookup_batch(tables.fib6, chunk.v6.destinations, chunk.v6.groups, chunk.v6.count);
  bool done = stages_->encap(chunk, tables, snapshot_, watching());
  while (!done) {
    poll_sealed();
    done = stages_->encap_rest(chunk, tables, watching());
  }
  if (stages_->has_for_nics()) {
    if (before_leaving) before_leaving();
    stages_->leave_by_nic(*transmitter_, snapshot_, *interfaces_);
    collect();
  }
  leave(chunk);
}

void Gateway::collect() {
  for (uint16_t port = 0; port < 2; ++port) {
    const auto queued = transmitter_->queued(port);
    sent_[port].insert(sent_[port].end(), queued.begin(), queued.end());
    transmitter_->forget(port);
  }
}

void Gateway::leave(Chunk& chunk) {
  const lookup::NextHopView next_hops = tables_->views(0).next_hops;
  // In parts, each less than the transmitter would send.
  const auto send = [&](const auto& lane, auto& part) {
    for (unsigned first = 0; first < lane.count; first += part.count) {
      part.count = std::min(lane.count - first, kMostAtOnce);
      std::copy_n(lane.packets + first, part.count, part.packets);
      std::copy_n(lane.groups + first, part.count, part.groups);
      std::copy_n(lane.ingress + first, part.count, part.ingress);
      rewrite<0>(part, chunk, next_hops, *transmitter_, snapshot_, *interfaces_);
      collect();
    }
  };
  send(chunk.v4, part_->v4);
  send(chunk.v6, part_->v6);
  if (&chunk == chunk_.get()) return;
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    refused_late_.push_back(chunk.refused[i].reason);
    rte_pktmbuf_free(chunk.refused[i].packet);
  }
  chunk.refused_count = chunk.v4.count = chunk.v6.count = 0;
}

void Gateway::poll_opened() {
  Chunk& chunk = device().opened_chunk();
  stages_->poll_opened(chunk, snapshot_, [&](unsigned) { finish(chunk); });
}

void Gateway::poll_sealed() {
  Chunk& chunk = device().sealed_chunk();
  stages_->poll_sealed(chunk, [&](unsigned) { leave(chunk); });
}

void Gateway::poll() {
  poll_opened();
  poll_sealed();
}

void Gateway::settle() {
  while (offload_ && !device().empty()) poll();
}

void Gateway::tick() {
  poll();  // a stage takes up a device, and lets go of one
  for (int turns = 0; offload_->tick() && turns < 100; ++turns) continue;
  poll();
}

uint64_t Gateway::InFlight::start() noexcept {
  gateway_.device().mark();
  return ++token_;
}

bool Gateway::InFlight::passed(uint64_t token) noexcept {
  return token == 0 || gateway_.device().passed();  // by the moment marked last
}

esp::Sa& Gateway::sa(unsigned to) {
  const IpAddress end = address(fmt::format("192.0.2.{}", to));
  return *ipsec_->view().sad->find(kSpi * to, Family::kIpv4, end.bytes.data());
}

std::vector<rte_mbuf*> Gateway::sent(uint16_t port) {
  return std::exchange(sent_[port], {});
}

std::vector<Reason> Gateway::refused() {
  std::vector<Reason> reasons = std::exchange(refused_late_, {});
  for (unsigned i = 0; i < chunk_->refused_count; ++i) {
    reasons.push_back(chunk_->refused[i].reason);
    rte_pktmbuf_free(chunk_->refused[i].packet);
  }
  chunk_->refused_count = 0;
  return reasons;
}

}  // namespace hecto::router::test
