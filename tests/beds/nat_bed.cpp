#include "tests/beds/nat_bed.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "router/dataplane/stages/classify.hpp"

namespace hecto::router::test {
namespace {

using lookup::IpAddress;
using lookup::IpPrefix;

constexpr uint8_t kIcmpProtocol = 1, kTcpProtocol = 6, kUdpProtocol = 17;

uint64_t sum_bytes(const uint8_t* at, uint32_t bytes) {
  uint64_t sum = sum_words(at, bytes & ~1u);
  if (bytes % 2 == 1) sum += uint64_t{at[bytes - 1]} << 8;
  return sum;
}

// Of TCP and UDP with their pseudo header, of ICMP without.
uint16_t upper_sum(const uint8_t* ip, uint32_t bytes) {
  uint64_t sum = sum_bytes(ip + 20, bytes);
  if (ip[9] != kIcmpProtocol) sum += sum_words(ip + 12, 8) + ip[9] + bytes;
  return fold_sum(sum);
}

unsigned checksum_at(uint8_t protocol) {
  return protocol == kTcpProtocol ? 16 : protocol == kUdpProtocol ? 6 : 2;
}

bool packet_holds(const uint8_t* ip, uint32_t bytes, bool whole) {
  if (ipv4_checksum(ip, 20) != 0) return false;
  const bool fragment = (load16_be(ip + 6) & 0x3fff) != 0;
  const bool known = ip[9] == kIcmpProtocol || ip[9] == kTcpProtocol || ip[9] == kUdpProtocol;
  if (!whole || fragment || !known) return true;
  const uint32_t upper = bytes - 20;
  if (ip[9] == kUdpProtocol && load16_be(ip + 26) == 0) return true;
  return upper_sum(ip, upper) == 0xffff;
}

rte_ring* ring(const char* what, unsigned entry) {
  static unsigned number = 0;
  (void)pool();
  const std::string name = fmt::format("natbed-{}-{}", what, number++);
  return entry == 0
             ? rte_ring_create(name.c_str(), 2048, SOCKET_ID_ANY, RING_F_SC_DEQ)
             : rte_ring_create_elem(name.c_str(), entry, kNatRing, SOCKET_ID_ANY, RING_F_SC_DEQ);
}

// One that takes nothing.
rte_ring* full_ring() {
  static rte_ring* const full = [] {
    rte_ring* const made =
        rte_ring_create_elem("natbed-full", sizeof(NatHanded), 2, SOCKET_ID_ANY, RING_F_SC_DEQ);
    NatHanded nothing{};
    (void)rte_ring_mp_enqueue_elem(made, &nothing, sizeof nothing);
    return made;
  }();
  return full;
}

MacAddress mac_of(unsigned port) {
  return {0x02, 0, 0, 0, static_cast<uint8_t>(port), 0x01};
}

}  // namespace

Frame nat_frame(const NatFrame& what) {
  const unsigned header = what.protocol == kTcpProtocol ? 20 : 8;
  Frame frame = ipv4_frame({.source = what.source,
                            .destination = what.destination,
                            .ttl = what.ttl,
                            .payload_bytes = static_cast<uint16_t>(header + what.payload),
                            .protocol = what.protocol,
                            .flags_and_offset = what.flags_and_offset});
  uint8_t* const ip = frame.data() + kIp;
  store16_be(ip + 4, what.ip_id);
  uint8_t* const upper = ip + 20;
  if ((what.flags_and_offset & 0x1fff) == 0) {
    std::memset(upper, 0, header);
    for (unsigned i = 0; i < what.payload; ++i) upper[header + i] = static_cast<uint8_t>(i * 7);
    if (what.protocol == kIcmpProtocol) {
      upper[0] = what.icmp_type;
      store16_be(upper + 4, what.source_port);
    } else {
      store16_be(upper, what.source_port);
      store16_be(upper + 2, what.destination_port);
    }
    if (what.protocol == kTcpProtocol) upper[12] = 0x50, upper[13] = what.flags;
    if (what.protocol == kUdpProtocol) store16_be(upper + 4, header + what.payload);
    const auto bytes = static_cast<uint32_t>(frame.size()) - kIp - 20;
    store16_be(upper + checksum_at(what.protocol), static_cast<uint16_t>(~upper_sum(ip, bytes)));
  }
  fix_checksum(frame);
  return frame;
}

Frame nat_error(const char* source, const char* destination, const Frame& about, uint8_t type,
                uint8_t code, unsigned bytes) {
  const auto inner = static_cast<uint16_t>(std::min<size_t>(about.size() - kIp, bytes));
  Frame frame = ipv4_frame({.source = source,
                            .destination = destination,
                            .payload_bytes = static_cast<uint16_t>(8 + inner),
                            .protocol = kIcmpProtocol});
  uint8_t* const icmp = frame.data() + kIp + 20;
  std::memset(icmp, 0, 8);
  icmp[0] = type;
  icmp[1] = code;
  std::memcpy(icmp + 8, about.data() + kIp, inner);
  store16_be(icmp + 2, static_cast<uint16_t>(~upper_sum(frame.data() + kIp, 8u + inner)));
  fix_checksum(frame);
  return frame;
}

bool checksums_hold(const Frame& frame) {
  const uint8_t* const ip = frame.data() + kIp;
  if (!packet_holds(ip, load16_be(ip + 2), true)) return false;
  const bool error = ip[9] == kIcmpProtocol && (ip[20] == 3 || ip[20] == 11 || ip[20] == 12);
  if (!error) return true;
  const uint8_t* const inner = ip + 28;
  const auto there = static_cast<uint32_t>(frame.size()) - kIp - 28;
  return packet_holds(inner, load16_be(inner + 2), there >= load16_be(inner + 2));
}

Ends ends_of(const Frame& frame) {
  const uint8_t* const ip = frame.data() + kIp;
  const auto text = [](const uint8_t* at) {
    return fmt::format("{}.{}.{}.{}", at[0], at[1], at[2], at[3]);
  };
  Ends ends{text(ip + 12), text(ip + 16)};
  if (ip[9] == kIcmpProtocol)
    ends.source_port = ends.destination_port = load16_be(ip + 24);
  else
    ends.source_port = load16_be(ip + 20), ends.destination_port = load16_be(ip + 22);
  return ends;
}

config::NatConfig NatBed::usual() {
  config::NatConfig nat;
  config::NatPoolConfig pool;
  pool.name = "main";
  pool.addresses = {*IpPrefix::parse("198.51.100.0/31")};
  pool.sessions = 4096;
  pool.block_size = 64;
  nat.pools.push_back(pool);
  nat.rules.push_back({*IpPrefix::parse("10.0.0.0/24"), {}, "main", "out"});
  nat.rules.push_back(
      {*IpPrefix::parse("10.1.0.0/24"), *IpPrefix::parse("203.0.113.0/24"), "", "out"});
  return nat;
}

NatBed::NatBed(unsigned workers, const config::NatConfig& nat) {
  make_tables();
  for (unsigned port = 0; port < 2; ++port) {
    ports_.push_back({ring("port", 0), rte_ring_free});
    PortView& view = snapshot_.ports[port];
    view.present = true;
    view.untagged = InterfaceId(port);
    const MacAddress mac = mac_of(port);
    std::memcpy(&view.mac, mac.data(), mac.size());
    snapshot_.interfaces[port].up = true;
    snapshot_.interfaces[port].address4 =
        IpAddress::parse(port == 0 ? "10.0.0.254" : "192.0.2.1")->v4().value;
    transmit_[port] = {0, false, false, ports_[port].get()};
  }
  snapshot_.punt_pps[static_cast<size_t>(Reason::kTooBig)] = 1000;
  for (unsigned worker = 0; worker < workers; ++worker) {
    handover_.push_back({ring("worker", sizeof(NatHanded)), rte_ring_free});
    pipes_.push_back(std::make_unique<Pipeline>(
        Pipeline::Options{worker, tables_->views(0), nullptr, nullptr}, sink_));
  }
  reload(nat);
}

NatBed::~NatBed() {
  void* packet = nullptr;
  for (const Ring& port : ports_)
    while (rte_ring_sc_dequeue(port.get(), &packet) == 0)
      rte_pktmbuf_free(static_cast<rte_mbuf*>(packet));
}

void NatBed::make_tables() {
  config::TablesConfig config;
  config.groups = 256;
  config.ipv4_engine = config::Ipv4Engine::kCompact;
  tables_ =
      std::make_unique<Tables>(config, std::vector<int>{0}, 1, [](LogLevel, const std::string&) {});
  Routing& routing = tables_->routing();
  for (unsigned port = 0; port < 2; ++port) {
    InterfaceState state;
    state.id = InterfaceId(port);
    state.name = port == 0 ? "in" : "out";
    state.port = PortId(port);
    state.mac = mac_of(port);
    state.mtu = 1500;
    state.addresses.push_back(
        *IpPrefix::parse_interface(port == 0 ? "10.0.0.254/24" : "192.0.2.1/24"));
    ASSERT_TRUE(routing.add_interface(state));
  }
  ASSERT_TRUE(routing.add_neighbor(1, *IpAddress::parse("192.0.2.2"), kHostMac));
  for (unsigned host = 1; host <= 40; ++host)
    ASSERT_TRUE(
        routing.add_neighbor(0, *IpAddress::parse(fmt::format("10.0.0.{}", host)), kHostMac));
  for (const auto& [to, via] :
       {std::pair{"0.0.0.0/0", "192.0.2.2"}, std::pair{"10.1.0.0/24", "10.0.0.1"}}) {
    Route route;
    route.prefix = *IpPrefix::parse(to);
    route.origin = RouteOrigin::kFile;
    NextHop hop;
    hop.gateway = *IpAddress::parse(via);
    hop.interface = via[1] == '0' ? InterfaceId(0) : InterfaceId(1);
    route.next_hops = {hop};
    ASSERT_TRUE(routing.add(route));
  }
  routing.commit();
}

void NatBed::reload(const config::NatConfig& nat) {
  const auto interface = [](const std::string& name) {
    return name == "in" ? InterfaceId(0) : name == "out" ? InterfaceId(1) : kNoInterface;
  };
  auto made = make_nat_tables(
      {nat, interface, std::vector<int>(pipes_.size(), 0), nat_.get(), lookup::Memory::system()});
  ASSERT_TRUE(made) << made.error().message;
  for (const Ring& ring : handover_) (*made)->rings.push_back({ring.get(), nullptr});
  snapshot_.nat = *made;
  for (const auto& pipe : pipes_) pipe->use(snapshot_, transmit_);
  nat_ = std::move(*made);
  set_time(now_s_);
}

void NatBed::set_time(uint32_t now_s) {
  now_s_ = now_s;
  for (const auto& pipe : pipes_) pipe->nat().set_time(now_s);
}

void NatBed::expire() {
  for (const nat::PoolUse& use : nat_->pools)
    for (unsigned worker = 0; worker < workers(); ++worker)
      use.pool->share(worker).expire(use.pool->share(worker).capacity(), use.limits.timeouts,
                                     now_s_, [](uint32_t) { return true; });
}

uint64_t NatBed::sessions() const {
  uint64_t sessions = 0;
  for (unsigned worker = 0; worker < workers(); ++worker)
    sessions += nat_->pools[0].pool->share(worker).sessions();
  return sessions;
}

void NatBed::Sink::take_refused(Chunk& chunk) noexcept {
  for (unsigned i = 0; i < chunk.refused_count; ++i) {
    reasons.push_back(chunk.refused[i].reason);
    rte_pktmbuf_free(chunk.refused[i].packet);
  }
  chunk.refused_count = 0;
}

NatOutcome NatBed::receive(unsigned worker, PortId port, const std::vector<Frame>& frames) {
  chunk_->count = 0;
  for (Frame frame : frames) {
    const MacAddress mac = mac_of(port.value());
    std::memcpy(frame.data(), mac.data(), mac.size());
    rte_mbuf* const made = packet(frame);
    made->port = port.value();
    chunk_->packets[chunk_->count++] = made;
  }
  if (clogged_ < workers()) nat_->rings[clogged_].ring = full_ring();
  pipes_[worker]->received(*chunk_, {port, 0});
  for (bool more = true; more;) {
    more = false;
    for (unsigned each = 0; each < workers(); ++each)
      if (const unsigned taken = pipes_[each]->receive_handed(handover_[each].get(), *chunk_)) {
        handed_ += taken;
        more = true;
      }
  }
  NatOutcome outcome;
  for (const auto& pipe : pipes_) pipe->flush();
  for (unsigned each = 0; each < 2; ++each) {
    void* sent = nullptr;
    while (rte_ring_sc_dequeue(ports_[each].get(), &sent) == 0) {
      outcome.sent[each].push_back(bytes_of(static_cast<rte_mbuf*>(sent)));
      rte_pktmbuf_free(static_cast<rte_mbuf*>(sent));
    }
  }
  outcome.refused.swap(sink_.reasons);
  return outcome;
}

Frame NatBed::through(unsigned worker, PortId port, const Frame& frame) {
  NatOutcome outcome = receive(worker, port, frame);
  const unsigned other = 1 - port.value();
  if (outcome.sent[other].size() != 1 || !outcome.refused.empty()) {
    ADD_FAILURE() << "sent " << outcome.sent[0].size() << ", " << outcome.sent[1].size()
                  << ", refused "
                  << (outcome.refused.empty() ? "none" : info(outcome.refused[0]).name);
    return frame;
  }
  EXPECT_TRUE(checksums_hold(outcome.sent[other][0]));
  return outcome.sent[other][0];
}

}  // namespace hecto::router::test
