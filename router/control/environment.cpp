#include "router/control/environment.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/placement/hugepage_margin.hpp"
#include "router/dataplane/core/dpdk.hpp"
#include "router/dataplane/ports/mempool.hpp"

namespace hecto::router {
namespace {

bool uses_memif(const config::Config& config) {
  return std::any_of(config.ports.begin(), config.ports.end(),
                     [](const auto& port) { return port.device.starts_with("net_memif"); });
}

constexpr uint64_t kOwn_bytes = 64u << 20;  // rings, queues, DPDK's own

// Buffers and what DPDK itself needs; the tables have memory of their own.
uint64_t pool_bytes(const config::Config& config, const config::Placement& placement,
                    bool hugepages) {
  uint64_t bytes = kOwn_bytes;
  for (const config::PortPlacement& placed : placement.ports)
    for (const config::PortConfig& port : config.ports)
      if (port.name == placed.port) bytes += config::lacp_bytes(port, placed);
  for (const config::PoolPlacement& pool : placement.pools)
    bytes += hugepages ? uint64_t{pool.mbufs} * (pool.data_room_bytes + sizeof(rte_mbuf) + 128)
                       : Mempool::ordinary_page_bytes(pool.mbufs, pool.data_room_bytes);
  return bytes + bytes / 16;
}

}  // namespace

EalOptions eal_options(const config::Config& config, const config::Placement& placement) {
  EalOptions options;
  options.control_cpu = placement.control_cpu;
  for (const config::WorkerPlacement& worker : placement.workers)
    options.worker_cpus.push_back(worker.cpu);
  options.memory_bytes = config.memory_bytes.value_or(pool_bytes(config, placement, true));
  options.ordinary_bytes = config.memory_bytes.value_or(pool_bytes(config, placement, false));
  options.memory_key = config.memory_line.number == 0
                           ? fmt::format("{}: memory: auto", config.file)
                           : fmt::format("{}:{}: memory", config.file, config.memory_line.number);
  options.shared_memory = uses_memif(config);
  for (const config::PortConfig& port : config.ports) {
    if (port.kind == config::DeviceKind::kPci) options.pci.push_back(port.device);
    if (!port.bond) continue;
    for (const config::BondMember& member : port.bond->members)
      if (member.kind == config::DeviceKind::kPci) options.pci.push_back(member.device);
  }
  return options;
}

std::map<int, uint64_t> spare_hugepages(const config::Config& config,
                                        const config::Placement& placement, bool dpdk_has_them,
                                        uint64_t (*free_bytes)(int)) {
  std::map<int, uint64_t> spare;
  for (const int socket : placement.sockets) spare[socket] = free_bytes(socket);
  if (!dpdk_has_them) return spare;
  for (const config::SocketMemory& memory : placement.memory) {
    const auto found = spare.find(memory.socket);
    if (found == spare.end()) continue;
    const uint64_t wanted =
        config.memory_bytes.value_or(config::with_hugepage_margin(memory.bytes) + kOwn_bytes);
    found->second -= std::min(found->second, wanted);
  }
  return spare;
}

std::string small_pages_line(uint64_t bytes) {
  const uint64_t megabytes = bytes >> 20;
  return fmt::format(
      "look-up tables: {} MiB lie in pages of 4 KiB, and look-ups miss the TLB: transparent "
      "hugepages are off, and {} hugepages of 2 MiB beyond DPDK's are not free; echo madvise > "
      "/sys/kernel/mm/transparent_hugepage/enabled, or reserve them, and restart",
      megabytes, megabytes / 2);
}

}  // namespace hecto::router
