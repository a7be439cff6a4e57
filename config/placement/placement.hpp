// Who polls what from where: a pure function of the box and the configuration, so that it can be
// tested for boxes we do not have. `hecto plan` prints it; the router starts from it.
#pragma once

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/box/topology.hpp"
#include "config/file/config.hpp"

namespace hecto::config {

// What a driver can do; known only once the port is probed. The defaults fit software ports.
struct PortCapability {
  uint16_t max_rx_queues = 0;  // 0: not known
  int socket = -1;
};

struct QueuePlacement {
  std::string port;
  uint16_t queue = 0;
};

struct WorkerPlacement {
  unsigned id = 0;  // dense, from 0
  unsigned cpu = 0;
  int socket = 0;
  std::vector<QueuePlacement> queues;
};

struct PortPlacement {
  std::string port;
  int socket = 0;  // where its pool lies
  bool socket_known = false;
  uint16_t rx_queues = 1;
  uint16_t tx_queues = 1;  // one per worker and one for the control core
  SpreadMode spread = SpreadMode::kNever;
};

// Mempools are shared by the ports of a socket that need the same data room.
struct PoolPlacement {
  int socket = 0;
  uint32_t data_room_bytes = 0;  // with RTE_PKTMBUF_HEADROOM
  uint32_t mbufs = 0;
  std::vector<std::string> ports;
};

struct SocketMemory {
  int socket = 0;
  uint64_t bytes = 0;  // DPDK's: pools and rings, of hugepages where there are
  // FIBs, next hops, NAT's sessions and buckets of policed prefixes, of ordinary memory
  uint64_t table_bytes = 0;
};

struct Placement {
  unsigned control_cpu = 0;
  std::vector<WorkerPlacement> workers;
  std::vector<PortPlacement> ports;
  std::vector<PoolPlacement> pools;
  std::vector<int> sockets;  // that hold workers: one FIB replica each
  // Whether a device may hold packets of the workers.
  bool offload_lookup = false;
  bool offload_ipsec = false;
  uint64_t memory_bytes = 0;          // DPDK's, of all sockets
  std::vector<SocketMemory> memory;   // by socket, ascending
  std::vector<std::string> warnings;  // crossings and shortages, one line each
};

tl::expected<Placement, std::string> place(const Config& config, const Topology& topology,
                                           const std::vector<PortCapability>& capabilities = {});

// The configuration with every `auto` as what the placement made of it: for `hecto show config`,
// and to place the ports of a reload on the workers that run.
Config resolved(const Config& config, const Placement& placement);

// Of one queue's packets, beside the worker that polls it.
inline constexpr size_t kMostTakers = 15;

// Who may take packets of a queue that `head` polls, one of `queues` of its port: workers of its socket
// from its next one on, so that heads with more of them than kMostTakers do not all choose the same.
// With kAuto none where the port has a queue for each of them. `sockets`: of each worker.
std::vector<unsigned> takers_of(SpreadMode mode, size_t queues, unsigned head,
                                const std::vector<int>& sockets);
// Whether the worker may take packets of some queue of the port that another one polls.
bool takes(const WorkerPlacement& worker, const PortPlacement& port, const Placement& placement);
// Of all queues of the port, one for each that takes packets of it.
size_t spread_rings(const PortPlacement& port, const Placement& placement);

// Data room of the mbufs that a port of this MTU receives into, RTE_PKTMBUF_HEADROOM included.
uint32_t data_room_bytes(uint16_t mtu) noexcept;

// What net_bonding takes for buffers of LACPDUs, beside the pools.
uint64_t lacp_bytes(const PortConfig& port, const PortPlacement& placed);

// The text of `hecto plan`.
std::string describe(const Placement& placement, const Config& config, const Topology& topology);

}  // namespace hecto::config
