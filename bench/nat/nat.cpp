#include "bench/nat/nat.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <random>

#include "bench/bed/bed.hpp"
#include "router/dataplane/stages/nat.hpp"

namespace hecto::bench {
namespace {

using namespace router;

constexpr unsigned kHostPorts = 64;  // sessions of a host: one block

struct Flow {
  uint32_t address;  // as in the packet
  uint16_t port;
};

config::NatConfig nat_config(unsigned sessions) {
  config::NatConfig nat;
  config::NatPoolConfig pool;
  pool.name = "pool";
  pool.addresses = {*lookup::IpPrefix::parse("203.0.113.0/24")};
  pool.block_size = kHostPorts;
  pool.sessions = sessions + sessions / 16;
  nat.pools.push_back(pool);
  nat.rules.push_back({*lookup::IpPrefix::parse("10.0.0.0/8"), {}, "pool", "out"});
  nat.rules.push_back({*lookup::IpPrefix::parse("172.16.0.0/12"),
                       *lookup::IpPrefix::parse("100.64.0.0/12"), "", "out"});
  return nat;
}

// The stage, a chunk of UDP packets, and a table in which all leave by one interface.
class NatBench {
 public:
  NatBench(const NatBenchOptions& options, rte_mempool* pool) : burst_(options.burst) {
    if (rte_pktmbuf_alloc_bulk(pool, packets_, burst_) != 0)
      throw std::runtime_error("nat: the pool has no buffers");
    for (unsigned i = 0; i < burst_; ++i) make_packet(packets_[i]);
    records_[1].kind = lookup::RecordKind::kForward;
    records_[1].interface = 1;
    records_[1].mtu = 1500;
    views_.next_hops = {slots_, records_, nullptr};
    const config::NatConfig config = nat_config(options.sessions);
    auto tables = make_nat_tables({config,
                                   [](const std::string&) { return InterfaceId(1); },
                                   {0},
                                   nullptr,
                                   lookup::Memory::system()});
    if (!tables) throw std::runtime_error(tables.error().message);
    snapshot_.nat = *tables;
    stage_.use(snapshot_, views_, 0);
    stage_.set_time(1);
  }
  ~NatBench() { rte_pktmbuf_free_bulk(packets_, burst_); }
  NatBench(const NatBench&) = delete;
  NatBench& operator=(const NatBench&) = delete;

  // Bursts of these flows, by `order`; `see` is shown each packet that has been through.
  using See = std::function<void(size_t flow, const uint8_t* ip)>;
  double cycles(const std::vector<Flow>& flows, const std::vector<uint32_t>& order,
                uint64_t packets, bool inwards, const See& see = {}) {
    uint64_t spent = 0, done = 0;
    std::vector<uint32_t> bursts;
    size_t next = 0;
    while (done < packets) {
      size_t of[kChunkSize];
      fill(flows, order, next, inwards, of);
      const uint64_t begin = rte_rdtsc();
      if (inwards)
        stage_.in(*chunk_);
      else
        stage_.out(*chunk_);
      bursts.push_back(static_cast<uint32_t>(rte_rdtsc() - begin));
      spent += bursts.back();
      done += burst_;
      lost_ += chunk_->refused_count;
      for (unsigned i = 0; see && i < burst_; ++i) see(of[i], ip_of(packets_[i]));
    }
    // What others do to this core meanwhile is not NAT's: the median of known sessions' bursts.
    if (see) return static_cast<double>(spent) / static_cast<double>(done);
    std::nth_element(bursts.begin(), bursts.begin() + bursts.size() / 2, bursts.end());
    return static_cast<double>(bursts[bursts.size() / 2]) / burst_;
  }
  uint64_t lost() const { return lost_; }
  const nat::Pool& pool() const { return *snapshot_.nat->pools[0].pool; }

 private:
  static uint8_t* ip_of(rte_mbuf* packet) { return rte_pktmbuf_mtod_offset(packet, uint8_t*, 14); }
  static void make_packet(rte_mbuf* packet) {
    constexpr uint16_t kBytes = 60;
    char* const frame = rte_pktmbuf_append(packet, kBytes);
    if (frame == nullptr) throw std::runtime_error("nat: a buffer has no room");
    uint8_t* const ip = reinterpret_cast<uint8_t*>(frame) + kEthernetBytes;
    std::memset(ip, 0, kBytes - kEthernetBytes);
    ip[0] = 0x45;
    store16_be(ip + 2, kBytes - kEthernetBytes);
    ip[8] = 64;
    ip[9] = 17;
    store16_be(ip + 26, 0x1234);
  }
  void fill(const std::vector<Flow>& flows, const std::vector<uint32_t>& order, size_t& next,
            bool inwards, size_t* of) {
    Lane4& lane = chunk_->v4;
    lane.count = burst_;
    chunk_->v6.count = chunk_->refused_count = 0;
    for (unsigned i = 0; i < burst_; ++i) {
      of[i] = order[next];
      const Flow& flow = flows[order[next]];
      next = next + 1 == order.size() ? 0 : next + 1;
      uint8_t* const ip = ip_of(packets_[i]);
      const uint32_t peer = 0x08080808;
      std::memcpy(ip + (inwards ? 12 : 16), &peer, 4);
      std::memcpy(ip + (inwards ? 16 : 12), &flow.address, 4);
      std::memcpy(ip + (inwards ? 22 : 20), &flow.port, 2);
      lane.packets[i] = packets_[i];
      lane.destinations[i] = load32_be(ip + 16);
      lane.groups[i] = 1;
      lane.ingress[i] = {InterfaceId(inwards ? 1 : 0), kEthernetBytes};
    }
  }

  unsigned burst_;
  rte_mbuf* packets_[kChunkSize];
  uint32_t slots_[2] = {0, 1};
  lookup::NextHopRecord records_[2] = {};
  TableViews views_;
  Snapshot snapshot_;
  NatStage stage_;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
  uint64_t lost_ = 0;
};

std::vector<uint32_t> order_of(size_t count, bool shuffled) {
  std::vector<uint32_t> order(count);
  for (size_t i = 0; i < count; ++i) order[i] = static_cast<uint32_t>(i);
  std::mt19937_64 random(7);
  if (shuffled) std::shuffle(order.begin(), order.end(), random);
  return order;
}

std::vector<Flow> flows_from(uint32_t first, unsigned count) {
  std::vector<Flow> flows;
  for (unsigned i = 0; i < count; ++i)
    flows.push_back({__builtin_bswap32(first + i / kHostPorts),
                     __builtin_bswap16(static_cast<uint16_t>(1024 + i % kHostPorts))});
  return flows;
}

}  // namespace

int run_nat(const NatBenchOptions& options) {
  BedOptions bed_options;
  bed_options.routes = 100;
  auto bed = Bed::create(bed_options);
  if (!bed) {
    fmt::print(stderr, "nat: {}\n", bed.error().message);
    return 1;
  }
  NatBench bench(options, (*bed)->pool(0));
  const uint64_t packets = uint64_t{options.packets} * 1000;
  constexpr unsigned kRounds = 5;
  const auto best = [&](const std::vector<Flow>& flows, const std::vector<uint32_t>& order,
                        bool inwards) {
    double least = 1e9;
    for (unsigned round = 0; round < kRounds; ++round)
      least = std::min(least, bench.cycles(flows, order, packets, inwards));
    return least;
  };
  const std::vector<Flow> others = flows_from(0xc0a80001, 4096);
  const std::vector<uint32_t> few = order_of(4096, true), all = order_of(options.sessions, true);
  const std::vector<Flow> inside = flows_from(0x0a000001, options.sessions);
  fmt::print("cycles a packet, burst {}, {} sessions in random order, one worker\n", options.burst,
             options.sessions);
  fmt::print("nothing to translate, out {:6.1f}\n", best(others, few, false));
  fmt::print("nothing to translate, in  {:6.1f}\n", best(others, few, true));
  fmt::print("1:1, out                  {:6.1f}\n", best(flows_from(0xac100001, 4096), few, false));
  fmt::print("1:1, in                   {:6.1f}\n", best(flows_from(0x64400001, 4096), few, true));
  std::vector<Flow> outside(options.sessions);
  const double opened = bench.cycles(inside, order_of(options.sessions, false), options.sessions,
                                     false, [&](size_t flow, const uint8_t* ip) {
                                       std::memcpy(&outside[flow].address, ip + 12, 4);
                                       std::memcpy(&outside[flow].port, ip + 20, 2);
                                     });
  fmt::print("new sessions              {:6.1f}   {:.1f} million a second\n", opened,
             static_cast<double>(rte_get_tsc_hz()) / opened / 1e6);
  fmt::print("known sessions, out       {:6.1f}\n", best(inside, all, false));
  fmt::print("known sessions, in        {:6.1f}\n", best(outside, all, true));
  fmt::print("memory                    {:6.1f} bytes a session\n",
             static_cast<double>(bench.pool().bytes()) / options.sessions);
  if (bench.lost() == 0) return 0;
  fmt::print(stderr, "nat: {} packets were refused\n", bench.lost());
  return 1;
}

}  // namespace hecto::bench
