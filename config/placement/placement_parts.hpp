// The parts of placement.cpp: where each port lies, and what its pools cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/placement/placement.hpp"

namespace hecto::config {

// A port as the box sees it.
struct Located {
  const PortConfig* port = nullptr;
  const Nic* nic = nullptr;  // null when the box has none of this name; of a bond its first one
  // Of a bond, by member; null where the box has none of this name.
  std::vector<const Nic*> members{};
  int socket = -1;          // of the NIC; -1: none, or not known
  uint16_t max_queues = 0;  // 0: not known
  bool hardware = false;    // a NIC bound to DPDK: its queues follow the workers
};

std::vector<Located> locate(const Config& config, const Topology& topology,
                            const std::vector<PortCapability>& capabilities);

// The core that holds the hardware thread; null when the box has no such thread.
const Core* core_of(const Topology& topology, unsigned cpu);

// Of NAT's pools, one worker of so many: sessions, their indexes, blocks of ports; all of it taken when
// the pools come (router/dataplane/nat).
uint64_t nat_bytes(const NatConfig& nat, size_t workers);

// Fills pools, sockets, memory and memory_bytes from workers and ports.
void size_memory(const Config& config, Placement& placement);

// Appends what crosses sockets and what runs short.
void add_warnings(const Config& config, const Topology& topology,
                  const std::vector<Located>& located, Placement& placement);

}  // namespace hecto::config
