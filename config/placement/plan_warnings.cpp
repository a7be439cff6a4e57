// What `hecto plan` puts behind a "!": crossings and shortages, each with what to do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "config/box/pcie.hpp"
#include "config/file/words.hpp"
#include "config/placement/hugepage_margin.hpp"
#include "config/placement/placement_parts.hpp"

namespace hecto::config {
namespace {

constexpr uint64_t kPage_bytes = 2ull << 20;
// Of a link over its wire: below it, descriptors and headers of short packets fill the link first.
constexpr double kPcieHeadroom = 2;

using Lines = std::vector<std::string>;

void warn_workers(const Config& config, const Topology& topology, const Placement& placement,
                  Lines& lines) {
  for (const auto& [socket, cpus] : config.workers)
    for (unsigned cpu : cpus)
      if (int real = core_of(topology, cpu)->socket; real != socket)
        lines.push_back(fmt::format("workers: core {} is on socket {}, not on {} as the file says.",
                                    cpu, real, socket));
  std::map<const Core*, unsigned> first_thread;
  for (const WorkerPlacement& worker : placement.workers) {
    const Core* core = core_of(topology, worker.cpu);
    auto [other, fresh] = first_thread.emplace(core, worker.cpu);
    if (!fresh)
      lines.push_back(fmt::format("Workers {} and {} are two threads of one core and share it.",
                                  other->second, worker.cpu));
    if (!core->allowed)
      lines.push_back(fmt::format("Core {} is outside this process's affinity mask.", worker.cpu));
    if (worker.cpu == placement.control_cpu)
      lines.push_back(
          fmt::format("Core {} is control's and a worker's: packets wait while routes "
                      "change.",
                      worker.cpu));
    const bool takes_flows =
        std::any_of(placement.ports.begin(), placement.ports.end(),
                    [&](const PortPlacement& port) { return takes(worker, port, placement); });
    if (worker.queues.empty() && !placement.ports.empty() && !takes_flows)
      lines.push_back(fmt::format("Core {} has no queue to poll.", worker.cpu));
  }
}

void warn_place(const Located& located, const PortPlacement& placed, const Topology& topology,
                const Placement& placement, Lines& lines) {
  const std::string& name = located.port->name;
  const bool bond = !located.members.empty();
  if (located.hardware && located.nic == nullptr && !bond)
    lines.push_back(fmt::format("{}: {} has no network device {}.", name, topology.source,
                                located.port->device));
  if (located.socket < 0) {
    if (located.hardware)
      lines.push_back(fmt::format("{}: the socket of {} is not known; taken as {}.", name,
                                  device_words(*located.port), placed.socket));
    return;
  }
  std::set<int> pollers;
  const int package = package_of(topology, located.socket);
  for (const WorkerPlacement& worker : placement.workers)
    for (const QueuePlacement& queue : worker.queues)
      if (queue.port == name && package_of(topology, worker.socket) != package)
        pollers.insert(worker.socket);
  if (!pollers.empty())
    lines.push_back(
        fmt::format("{} is on socket {}, which has no worker: its queues are polled "
                    "across sockets, from {}.",
                    name, located.socket, fmt::join(pollers, " and ")));
}

// A bond has its buffers and workers on one socket, and members of one speed.
void warn_members(const Located& located, const Topology& topology, Lines& lines) {
  const std::string& name = located.port->name;
  std::set<int> sockets;
  std::map<double, std::string> speeds;
  for (size_t i = 0; i < located.members.size(); ++i) {
    const std::string& device = located.port->bond->members[i].device;
    const Nic* const nic = located.members[i];
    if (nic == nullptr && located.port->bond->members[i].kind == DeviceKind::kPci)
      lines.push_back(
          fmt::format("{}: {} has no network device {}.", name, topology.source, device));
    if (nic == nullptr) continue;
    if (nic->socket >= 0) sockets.insert(nic->socket);
    if (nic->gbit_s) speeds.emplace(*nic->gbit_s, device);
  }
  if (sockets.size() > 1)
    lines.push_back(fmt::format(
        "{}: its members are on sockets {}: packets of some cross sockets. Take members of one.",
        name, fmt::join(sockets, " and ")));
  if (speeds.size() > 1)
    lines.push_back(fmt::format(
        "{}: {} has {:.0f} Gb/s, {} {:.0f}: members of one bond have one speed{}.", name,
        speeds.begin()->second, speeds.begin()->first, speeds.rbegin()->second,
        speeds.rbegin()->first,
        located.port->bond->mode == BondMode::kLacp ? ", and LACP uses those of one" : ""));
}

void warn_queues(const Located& located, const PortPlacement& placed, const Placement& placement,
                 Lines& lines) {
  const PortConfig& port = *located.port;
  if (port.rx_queues && *port.rx_queues > placed.rx_queues)
    lines.push_back(fmt::format("{}: {} queues asked, the device has {}: using {}.", port.name,
                                *port.rx_queues, placed.rx_queues, placed.rx_queues));
  std::set<unsigned> workers;
  for (const WorkerPlacement& worker : placement.workers)
    for (const QueuePlacement& queue : worker.queues)
      if (queue.port == port.name) workers.insert(worker.id);
  if (placed.rx_queues > workers.size())
    lines.push_back(fmt::format("{}: {} queues for {} {}: some poll several.", port.name,
                                placed.rx_queues, workers.size(),
                                workers.size() == 1 ? "worker" : "workers"));
}

void warn_spread_ipsec(const Config& config, const Placement& placement, Lines& lines) {
  if (config.ipsec.sas.empty() && config.ipsec.policies.empty()) return;
  std::vector<std::string> names;
  for (const PortPlacement& port : placement.ports)
    if (spread_rings(port, placement) > 0) names.push_back(port.port);
  if (!names.empty())
    lines.push_back(fmt::format(
        "{}: spread with ipsec: workers number packets of one SA side by side, and ESP may leave "
        "out of order; the other end needs a replay window of some hundred packets.",
        fmt::join(names, ", ")));
}

void warn_pcie(const Located& located, Lines& lines) {
  if (located.nic == nullptr) return;
  const Nic& nic = *located.nic;
  const std::string& name = located.port->name;
  bool known = nic.pcie_gt_s && nic.pcie_lanes;
  std::optional<double> have = nic.pcie_gbit_s;
  if (known) have = link_gbit_s(*nic.pcie_gt_s, *nic.pcie_lanes);
  std::string where = known ? link_words(*nic.pcie_gt_s, *nic.pcie_lanes) : "a PCIe link";
  if (have && nic.gbit_s && *have < *nic.gbit_s)
    lines.push_back(
        fmt::format("{} sits on {} of {:.0f} Gb/s, below the port's {:.0f} Gb/s. Move "
                    "it to a faster slot.",
                    name, where, *have, *nic.gbit_s));
  else if (known && nic.pcie_max_gt_s && nic.pcie_max_lanes && nic.gbit_s &&
           *have < kPcieHeadroom * *nic.gbit_s &&
           *have < 0.99 * link_gbit_s(*nic.pcie_max_gt_s, *nic.pcie_max_lanes))
    lines.push_back(fmt::format(
        "{} sits on {} of {:.0f} Gb/s, little above the port's {:.0f} Gb/s, and could use {}. Move "
        "it to such a slot.",
        name, where, *have, *nic.gbit_s, link_words(*nic.pcie_max_gt_s, *nic.pcie_max_lanes)));
}

void warn_crossing(const std::vector<Located>& located, const Topology& topology, Lines& lines) {
  std::map<int, std::vector<std::string>> by_package;
  std::set<int> packages;
  for (int socket : topology.sockets) packages.insert(package_of(topology, socket));
  const char* what = packages.size() == topology.sockets.size() ? "socket" : "package";
  for (const Located& l : located)
    if (l.socket >= 0) {
      const int package = package_of(topology, l.socket);
      by_package[what[0] == 's' ? l.socket : package].push_back(l.port->name);
    }
  if (by_package.size() < 2) return;
  std::vector<std::string> parts;
  for (const auto& [number, names] : by_package)
    parts.push_back(fmt::format("{} ({} {})", fmt::join(names, " "), what, number));
  lines.push_back(fmt::format("Traffic between {} crosses {}s.", fmt::join(parts, " and "), what));
}

std::string reserve_command(const Topology& topology, size_t index, uint64_t pages) {
  if (topology.sockets.size() == 1)
    return fmt::format("sysctl -w vm.nr_hugepages={}", topology.hugepages_2m[index] + pages);
  return fmt::format(
      "echo {} > /sys/devices/system/node/node{}/hugepages/hugepages-2048kB/nr_hugepages",
      topology.hugepages_2m[index] + pages, topology.sockets[index]);
}

void warn_memory(const Config& config, const Topology& topology, const Placement& placement,
                 Lines& lines) {
  auto mib = [](uint64_t bytes) { return (bytes + (1u << 20) - 1) >> 20; };
  if (config.memory_bytes && *config.memory_bytes < placement.memory_bytes)
    lines.push_back(fmt::format("memory: {} MiB is less than the {} MiB of this plan; use auto.",
                                mib(*config.memory_bytes), mib(placement.memory_bytes)));
  for (const SocketMemory& need : placement.memory) {
    auto found = std::find(topology.sockets.begin(), topology.sockets.end(), need.socket);
    auto index = static_cast<size_t>(found - topology.sockets.begin());
    if (found == topology.sockets.end()) continue;
    uint64_t sum = need.bytes + need.table_bytes;
    if (index < topology.memory_bytes.size() && topology.memory_bytes[index] > 0 &&
        sum > topology.memory_bytes[index])
      lines.push_back(fmt::format("Socket {} has {} MiB of memory, {} MiB are needed.", need.socket,
                                  mib(topology.memory_bytes[index]), mib(sum)));
    if (index >= topology.hugepage_bytes.size() || index >= topology.hugepages_2m.size()) continue;
    uint64_t have = topology.hugepage_bytes[index];
    const uint64_t wanted = config.memory_bytes ? need.bytes : with_hugepage_margin(need.bytes);
    if (have >= wanted) continue;
    uint64_t pages = (wanted - have + kPage_bytes - 1) / kPage_bytes;
    lines.push_back(
        fmt::format("Hugepages on socket {}: {} MiB free, {} MiB needed. Reserve them: "
                    "{}",
                    need.socket, have >> 20, mib(wanted), reserve_command(topology, index, pages)));
  }
}

}  // namespace

void add_warnings(const Config& config, const Topology& topology,
                  const std::vector<Located>& located, Placement& placement) {
  Lines& lines = placement.warnings;
  warn_workers(config, topology, placement, lines);
  for (size_t i = 0; i < located.size(); ++i) {
    warn_place(located[i], placement.ports[i], topology, placement, lines);
    warn_members(located[i], topology, lines);
    warn_queues(located[i], placement.ports[i], placement, lines);
    warn_pcie(located[i], lines);
  }
  warn_spread_ipsec(config, placement, lines);
  warn_crossing(located, topology, lines);
  warn_memory(config, topology, placement, lines);
}

}  // namespace hecto::config
