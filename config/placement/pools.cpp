// How many mbufs of which size lie on which socket, and what all memory comes to.
#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "config/placement/placement_parts.hpp"

namespace hecto::config {
namespace {

using lookup::Family;

constexpr uint32_t kHeadroom = 128;  // RTE_PKTMBUF_HEADROOM
constexpr uint32_t kStandardRoom = 2048 + kHeadroom;
// Also on AF_XDP, where the kernel keeps 256 bytes of a frame to itself.
constexpr uint16_t kStandardMtu = 1750;
// An AF_XDP chunk is one page: mempool header, mbuf and data room together.
constexpr uint16_t kPageMtu = 3400;
constexpr uint32_t kPageRoom = 3840;
// AF_PACKET's 10,240-byte frames, which carry 9000 bytes and their own header.
constexpr uint32_t kJumboRoom = 10240 + 2 * kHeadroom;

constexpr uint32_t kMempoolCache = 768;  // 512, times the 1.5 that a cache may run over
constexpr uint32_t kPuntQueue = 2048;    // rings to Linux: four of 512, full in one worker
constexpr uint32_t kFromLinux = 1024;    // frames of Linux on their way to transmit queues
constexpr uint32_t kReassembly = 1280;   // fragments of ESP that a worker holds
constexpr uint64_t kMbufOverhead_bytes = 128 + 64 + 8;  // rte_mbuf, object header, ring slot
constexpr uint64_t kDescriptor_bytes = 64;              // hardware's and software's
constexpr uint64_t kLacpBuffer_bytes = 640;             // net_bonding's, one a transmit descriptor
constexpr uint64_t kBase_bytes = 64ull << 20;           // DPDK itself, rings, counters

// Arenas grow: room for half more than a full table (900,000 IPv4 and 160,000 IPv6 prefixes take
// 8 and 3.5 MB as tries, IPv4 11 MB when loaded under readers), twice, for the larger copy while
// one grows.
constexpr uint64_t kCompactFib_bytes = 16ull << 20, kIpv6Fib_bytes = 6ull << 20;
constexpr uint64_t kGroup_bytes = 2 * (64 + 4);  // two records, while one is replaced

uint64_t replica_bytes(const TablesConfig& tables) {
  uint64_t ipv4 = tables.ipv4_engine == Ipv4Engine::kCompact ? kCompactFib_bytes : kDirectFib_bytes;
  return 2 * (ipv4 + kIpv6Fib_bytes) + tables.groups * kGroup_bytes;
}

// Of their trees, an entry: 30 to 270 bytes in IPv4, with random prefixes and ranges of ports the most.
constexpr uint64_t kFilterEntry_bytes = 512;

// While filters change, those of before and after are there, and where one is to be confirmed those before it.
uint64_t filter_bytes(const FiltersConfig& filters) {
  uint64_t entries = 0;
  for (const FilterConfig& filter : filters.filters)
    for (const FilterRuleConfig& rule : filter.rules)
      for (const Family family : {Family::kIpv4, Family::kIpv6})
        if (rule.holds_for(family))
          entries += std::max<size_t>(rule.sources.size(), 1) *
                     std::max<size_t>(rule.destinations.size(), 1);
  return 3 * entries * kFilterEntry_bytes;
}

// Of NAT, in bytes: a session, a bucket of an index (half full with four numbers), a place of peers, and
// the same of blocks of ports and the hosts that have them; a bit for each port and kind of session.
constexpr uint64_t kNatSession_bytes = 64, kNatBucket_bytes = 64, kNatOfABucket = 4;
constexpr uint64_t kNatBlock_bytes = 12, kNatHost_bytes = 24, kNatKinds = 3;
constexpr uint64_t kNatAddress_bytes = 4,
                   kNatShare_bytes = 80 << 10;  // fragments, events, counters

uint64_t nat_index_bytes(uint64_t numbers) {
  return std::bit_ceil(std::max<uint64_t>(numbers / kNatOfABucket, 2)) * kNatBucket_bytes;
}

uint64_t nat_pool_bytes(const NatPoolConfig& pool, size_t workers) {
  const uint64_t sessions = (pool.sessions + workers - 1) / workers;
  const uint64_t blocks =
      (pool.address_count() * pool.blocks_per_address() + workers - 1) / workers;
  const bool by_peer = pool.filtering == NatFiltering::kAddressDependent;
  return sessions * kNatSession_bytes + (by_peer ? 3 : 2) * nat_index_bytes(sessions) +
         blocks * (kNatBlock_bytes + kNatHost_bytes + kNatKinds * pool.block_size / 8) +
         nat_index_bytes(blocks) + pool.address_count() * kNatAddress_bytes + kNatShare_bytes;
}

// A mempool uses its memory best at 2^n - 1 (rte_mempool_create).
uint32_t round_pool(uint64_t mbufs) {
  return static_cast<uint32_t>(std::bit_ceil(std::min<uint64_t>(mbufs + 1, 1u << 30)) - 1);
}

const PortPlacement& placed(const Placement& placement, const std::string& port) {
  return *std::find_if(placement.ports.begin(), placement.ports.end(),
                       [&](const PortPlacement& p) { return p.port == port; });
}

// Each has the port's queues.
uint64_t wires_of(const PortConfig& port) {
  return port.bond ? std::max<uint64_t>(port.bond->members.size(), 1) : 1;
}

// Of one worker, on their way to a device and back: batches of IPv4, of IPv6, and of ESP.
uint64_t offload_mbufs(const Config& config, const Placement& placement) {
  const uint64_t lookups = placement.offload_lookup ? 2 * kOffloadBatches : 0;
  const uint64_t esp = placement.offload_ipsec ? kOffloadEspKinds * kOffloadEspBatches : 0;
  const uint32_t batch = config.offload.batch;
  return lookups * batch + esp * std::min(batch, kMostOffloadEspBatch);
}

// A worker's transmit queues, on every port, can be full of mbufs from each pool that it receives
// into; the control core's likewise.
uint32_t mbufs_of(const PoolPlacement& pool, const Config& config, const Placement& placement) {
  uint64_t receive = 0, transmit_per_user = 0, users = 1;
  std::vector<const PortPlacement*> placed_members;
  std::set<std::string> members(pool.ports.begin(), pool.ports.end());
  for (const PortConfig& port : config.ports) {
    transmit_per_user += wires_of(port) * port.tx_descriptors;
    if (!members.contains(port.name)) continue;
    const PortPlacement& here = placed(placement, port.name);
    receive += wires_of(port) * here.rx_queues * port.rx_descriptors +
               spread_rings(here, placement) * kSpreadRing;
    placed_members.push_back(&here);
  }
  for (const WorkerPlacement& worker : placement.workers)
    users +=
        std::any_of(placed_members.begin(), placed_members.end(),
                    [&](const PortPlacement* port) { return takes(worker, *port, placement); }) ||
        std::any_of(worker.queues.begin(), worker.queues.end(),
                    [&](const QueuePlacement& q) { return members.contains(q.port); });
  const uint64_t workers = users - 1;  // without the control core
  const uint64_t in_flight =
      users * (2u * config.burst + kMempoolCache + offload_mbufs(config, placement)) +
      workers * kReassembly + kPuntQueue + kFromLinux;
  return round_pool(receive + users * transmit_per_user + in_flight);
}

}  // namespace

uint32_t data_room_bytes(uint16_t mtu) noexcept {
  if (mtu <= kStandardMtu) return kStandardRoom;
  return mtu <= kPageMtu ? kPageRoom : kJumboRoom;
}

uint64_t nat_bytes(const NatConfig& nat, size_t workers) {
  uint64_t bytes = 0;
  for (const NatPoolConfig& pool : nat.pools) bytes += nat_pool_bytes(pool, workers);
  return bytes;
}

uint64_t lacp_bytes(const PortConfig& port, const PortPlacement& placed) {
  if (!port.bond || port.bond->mode != BondMode::kLacp) return 0;
  return wires_of(port) * placed.tx_queues * port.tx_descriptors * kLacpBuffer_bytes;
}

void size_memory(const Config& config, Placement& placement) {
  std::map<std::pair<int, uint32_t>, PoolPlacement> pools;
  for (const PortConfig& port : config.ports) {
    int socket = placed(placement, port.name).socket;
    uint32_t room = data_room_bytes(port.mtu);
    PoolPlacement& pool = pools[{socket, room}];
    pool.socket = socket;
    pool.data_room_bytes = room;
    pool.ports.push_back(port.name);
  }
  std::map<int, SocketMemory> memory;
  std::set<int> spared;
  for (auto& [key, pool] : pools) {
    pool.mbufs = mbufs_of(pool, config, placement);
    // The spare ones go to the socket's first pool, that of the smallest packets.
    if (config.spare_mbufs > 0 && spared.insert(pool.socket).second)
      pool.mbufs = round_pool(uint64_t{pool.mbufs} + config.spare_mbufs);
    memory[pool.socket].bytes +=
        pool.mbufs * (uint64_t{pool.data_room_bytes} + kMbufOverhead_bytes);
    placement.pools.push_back(pool);
  }
  std::set<int> sockets;
  for (const WorkerPlacement& worker : placement.workers) sockets.insert(worker.socket);
  placement.sockets.assign(sockets.begin(), sockets.end());
  for (int socket : sockets) {
    memory[socket].table_bytes = replica_bytes(config.tables);
    memory[socket].bytes += filter_bytes(config.filters);
  }
  for (const WorkerPlacement& worker : placement.workers)
    memory[worker.socket].table_bytes += nat_bytes(config.nat, placement.workers.size());
  for (const PortPlacement& port : placement.ports) {
    const auto same = [&](const PortConfig& p) { return p.name == port.port; };
    const PortConfig& c = *std::find_if(config.ports.begin(), config.ports.end(), same);
    const uint64_t descriptors =
        uint64_t{port.rx_queues} * c.rx_descriptors + uint64_t{port.tx_queues} * c.tx_descriptors;
    memory[port.socket].bytes += kDescriptor_bytes * wires_of(c) * descriptors;
    memory[port.socket].bytes += lacp_bytes(c, port);
  }
  if (!sockets.empty()) {
    memory[*sockets.begin()].bytes += kBase_bytes;
    memory[*sockets.begin()].table_bytes += policed_bytes(config.filters);
  }
  for (auto& [socket, need] : memory) {
    need.socket = socket;
    placement.memory.push_back(need);
    placement.memory_bytes += need.bytes;
  }
}

}  // namespace hecto::config
