#include "config/machine/hugepages.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>

#include "config/placement/hugepage_margin.hpp"

namespace hecto::config {
namespace {

// "Node 0 MemTotal:  16384 kB", or without the node where there is no NUMA.
uint64_t memory_of(const MachineFiles& files, int socket) {
  auto text = files.text(fmt::format("/sys/devices/system/node/node{}/meminfo", socket));
  if (!text && socket == 0) text = files.text("/proc/meminfo");
  const size_t at = text ? text->find("MemTotal:") : std::string::npos;
  uint64_t kilobytes = 0;
  if (at != std::string::npos) std::sscanf(text->c_str() + at, "MemTotal: %lu", &kilobytes);
  return kilobytes * 1024;
}

void read_sizes(const MachineFiles& files, HugepageNeed& need) {
  need.memory_bytes = memory_of(files, need.socket);
  std::string folder = fmt::format("/sys/devices/system/node/node{}/hugepages", need.socket);
  // A kernel without NUMA has one count for the whole machine.
  if (!files.exists(folder) && need.socket == 0) folder = "/sys/kernel/mm/hugepages";
  for (const std::string& name : files.names(folder)) {
    uint64_t kilobytes = 0;
    if (std::sscanf(name.c_str(), "hugepages-%lukB", &kilobytes) != 1) continue;
    const uint64_t bytes = kilobytes * 1024;
    const std::string file = fmt::format("{}/{}/nr_hugepages", folder, name);
    const uint64_t reserved = files.number(file).value_or(0);
    need.reserved_bytes += reserved * bytes;
    need.free_bytes +=
        files.number(fmt::format("{}/{}/free_hugepages", folder, name)).value_or(0) * bytes;
    // The smallest: large ones are seldom to be had once the machine has run.
    if (need.page_bytes != 0 && need.page_bytes < bytes) continue;
    need.page_bytes = bytes;
    need.file = file;
    need.reserved = reserved;
  }
}

}  // namespace

uint64_t HugepageNeed::target(bool router_runs) const {
  const uint64_t there = there_bytes(router_runs);
  if (there >= wanted_bytes || page_bytes == 0) return reserved;
  return reserved + (wanted_bytes - there + page_bytes - 1) / page_bytes;
}

std::vector<HugepageNeed> hugepage_needs(const Config& config, const Placement& placement,
                                         const MachineFiles& files) {
  std::vector<HugepageNeed> needs;
  // `memory:` is of all sockets: each has the share that the plan gives it.
  const auto wanted = [&](uint64_t bytes) {
    if (!config.memory_bytes || placement.memory_bytes == 0) return with_hugepage_margin(bytes);
    const double scale =
        static_cast<double>(*config.memory_bytes) / static_cast<double>(placement.memory_bytes);
    return static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) * scale));
  };
  for (const SocketMemory& memory : placement.memory) {
    if (memory.bytes == 0) continue;
    HugepageNeed need;
    need.socket = memory.socket;
    need.wanted_bytes = wanted(memory.bytes);
    read_sizes(files, need);
    needs.push_back(std::move(need));
  }
  return needs;
}

}  // namespace hecto::config
