// Hugepages that a plan takes on each socket, held against those that are there.
#pragma once

#include "config/machine/machine_files.hpp"
#include "config/placement/placement.hpp"

namespace hecto::config {

struct HugepageNeed {
  int socket = 0;
  uint64_t wanted_bytes = 0;
  uint64_t free_bytes = 0;      // of every size
  uint64_t reserved_bytes = 0;  // likewise, free or not
  uint64_t page_bytes = 0;      // of the size to reserve more of; 0: the kernel has none
  std::string file;             // its nr_hugepages
  uint64_t reserved = 0;        // what that says now
  uint64_t memory_bytes = 0;    // of the node; 0: not known

  // Else the kernel would take all the memory there is for them, and not have enough.
  bool fits() const { return memory_bytes == 0 || wanted_bytes <= memory_bytes / 8 * 7; }

  uint64_t there_bytes(bool router_runs) const { return router_runs ? reserved_bytes : free_bytes; }
  // What to write into the file for `wanted_bytes`.
  uint64_t target(bool router_runs) const;
};

// By socket, of those on which DPDK's memory lies.
std::vector<HugepageNeed> hugepage_needs(const Config& config, const Placement& placement,
                                         const MachineFiles& files);

}  // namespace hecto::config
