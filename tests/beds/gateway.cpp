#include "tests/beds/gateway.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hecto::router::test {
namespace {

using Ring = std::unique_ptr<rte_ring, void (*)(rte_ring*)>;

Ring make_ring() {
  static unsigned number = 0;
  const std::string name = fmt::format("gateway-{}", number++);
  return {rte_ring_create(name.c_str(), 1024, SOCKET_ID_ANY, RING_F_SC_DEQ), rte_ring_free};
}

IpAddress address(const std::string& text) {
  return *IpAddress::parse(text);
}

}  // namespace

Gateway::Gateway(unsigned side, uint16_t outer_mtu, Offload::Devices devices)
    : side_(side), rings_{(pool(), make_ring()), make_ring()} {
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
  WorkerOffload* const offload = offload_ ? &device() : nullptr;
  const Pipeline::Options pipeline{0, tables_->views(0), offload, stages_.get()};
  pipeline_ = std::make_unique<Pipeline>(pipeline, static_cast<RefusedSink&>(*this));
  snapshot_.features = kFeatureIpsec;
  for (PortId port = 0; port < 2; ++port) {
    PortView& view = snapshot_.ports[port];
    view.present = true;
    view.untagged = InterfaceId(port.value());
    const MacAddress mac = own_mac(port);
    std::memcpy(&view.mac, mac.data(), mac.size());
    snapshot_.interfaces[port].up = true;
    transmit_[port] = {0, false, false, rings_[port].get()};
  }
  snapshot_.interfaces[0].address4 = address(fmt::format("10.{}.0.254", side)).v4().value;
  snapshot_.interfaces[0].address6 = address(fmt::format("fd00:{}::fe", side)).v6();
  snapshot_.punt_pps[static_cast<size_t>(Reason::kTooBig)] = 1000;
  pipeline_->use(snapshot_, transmit_);
}

void Gateway::plug(const NicSessions::Port& port) {
  const auto added = nic_->add_port(port);
  ASSERT_TRUE(added) << added.error().message;
  snapshot_.ports[port.id].opens_esp = port.opens;
  snapshot_.seals_esp |= port.seals;
  ipsec_->offer_to_nics();
}

void Gateway::unplug(PortId port) {
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
  for (PortId port = 0; port < 2; ++port) {
    InterfaceState state;
    state.id = InterfaceId(port.value());
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
    state.id = {end(to), Spi(kSpi * to)};
    state.source = end(3 - to);
    state.origin = RouteOrigin::kFile;
    state.mode = mode;
    state.reqid = 7;
    state.if_id = algorithm.if_id;
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
  const auto protect = [&](PolicyDirection direction, const auto& from, const auto& to,
                           const PolicyTemplate& by) {
    policy(direction, PolicyAction::kProtect, from, to, by, 100, algorithm.if_id);
  };
  protect(PolicyDirection::kOut, net(side_), net(other), out);
  protect(PolicyDirection::kForward, net(other), net(side_), in);
  protect(PolicyDirection::kIn, net(other), net(side_), in);
}

void Gateway::run(const std::vector<rte_mbuf*>& packets, PortId port) {
  ASSERT_TRUE(refused_.empty()) << "refused() comes between";
  frames_.clear();
  chunk_->count = static_cast<unsigned>(packets.size());
  std::copy(packets.begin(), packets.end(), chunk_->packets);
  for (rte_mbuf* packet : packets) packet->port = port;  // as a driver does
  pipeline_->use(snapshot_, transmit_);
  pipeline_->received(*chunk_, {port, 0});
}

void Gateway::send_own(rte_mbuf* packet) {
  Chunk& chunk = *chunk_;
  chunk.v4.packets[0] = packet;
  chunk.v4.ingress[0] = {1, kEthernetBytes};
  chunk.v4.count = 1;
  chunk.v6.count = chunk.refused_count = 0;
  EXPECT_TRUE(pipeline_->from_linux(chunk));
  EXPECT_TRUE(stages_->encap.inline_encrypt().empty());
}

void Gateway::take_refused(Chunk& chunk) noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    refused_.push_back(chunk.refused[i].reason);
    frames_.emplace_back(chunk.refused[i].interface, bytes_of(chunk.refused[i].packet));
    rte_pktmbuf_free(chunk.refused[i].packet);
  }
  chunk.refused_count = 0;
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
  return *ipsec_->view().sad->find(Spi(kSpi * to), Family::kIpv4, end.bytes.data());
}

std::vector<rte_mbuf*> Gateway::sent(PortId port) {
  pipeline_->flush();
  std::vector<rte_mbuf*> packets;
  void* packet = nullptr;
  while (rte_ring_dequeue(rings_[port].get(), &packet) == 0)
    packets.push_back(static_cast<rte_mbuf*>(packet));
  return packets;
}

std::vector<Reason> Gateway::refused() {
  return std::exchange(refused_, {});
}

}  // namespace hecto::router::test
