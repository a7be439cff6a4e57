// The text of `hecto plan`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "config/box/pcie.hpp"
#include "config/file/words.hpp"
#include "config/placement/columns.hpp"
#include "config/placement/placement_parts.hpp"

namespace hecto::config {
namespace {

constexpr size_t kDeviceColumns = 28;

// "0-3,8", of sorted numbers.
std::string ranges(const std::vector<unsigned>& numbers) {
  std::string list = core_list(numbers);
  list = list.substr(1, list.size() - 2);
  std::string out;
  for (char c : list)
    if (c != ' ') out += c;
  return out;
}

std::string mib(uint64_t bytes) {
  return fmt::format("{} MiB", (bytes + (1u << 20) - 1) >> 20);
}

std::string link_text(const Located& located) {
  if (located.nic == nullptr) return "";
  const Nic& nic = *located.nic;
  if (nic.pcie_gt_s && nic.pcie_lanes) return link_words(*nic.pcie_gt_s, *nic.pcie_lanes);
  return nic.pcie_gbit_s ? fmt::format("PCIe {:.0f} Gb/s", *nic.pcie_gbit_s) : "";
}

std::string queues_text(const std::string& port, const Placement& placement) {
  std::vector<unsigned> queues, cores;
  for (const WorkerPlacement& worker : placement.workers)
    for (const QueuePlacement& queue : worker.queues) {
      if (queue.port != port) continue;
      queues.push_back(queue.queue);
      cores.push_back(worker.cpu);
    }
  std::sort(queues.begin(), queues.end());
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return fmt::format("{} {} → {} {}", queues.size() == 1 ? "queue" : "queues", ranges(queues),
                     cores.size() == 1 ? "core" : "cores", ranges(cores));
}

std::string port_table(const Placement& placement, const Config& config,
                       const std::vector<Located>& located) {
  std::vector<std::vector<std::string>> rows;
  for (size_t i = 0; i < config.ports.size(); ++i) {
    const PortPlacement& placed = placement.ports[i];
    rows.push_back({config.ports[i].name, cut(device_words(config.ports[i]), kDeviceColumns),
                    fmt::format("{}socket {}", placed.socket_known ? "" : "(", placed.socket) +
                        (placed.socket_known ? "" : ")"),
                    link_text(located[i]), queues_text(placed.port, placement)});
  }
  std::vector<size_t> widths(5, 0);
  for (const auto& row : rows)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], width(row[c]));
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t c = 0; c + 1 < row.size(); ++c)
      if (widths[c] > 0) line += pad(row[c], widths[c] + 2);
    out += cut(line + row.back(), kColumns) + "\n";
  }
  return out;
}

// Other sockets whose workers poll the port, "; wan polled from 1-3, too"; empty: none.
std::string helpers_of(const PortPlacement& port, const Placement& placement) {
  std::vector<unsigned> sockets;
  for (const WorkerPlacement& worker : placement.workers)
    for (const QueuePlacement& queue : worker.queues)
      if (queue.port == port.port && worker.socket != port.socket)
        sockets.push_back(static_cast<unsigned>(worker.socket));
  std::sort(sockets.begin(), sockets.end());
  sockets.erase(std::unique(sockets.begin(), sockets.end()), sockets.end());
  return sockets.empty() ? "" : fmt::format("; {} polled from {}, too", port.port, ranges(sockets));
}

// Where a package has several sockets: which, and who helps whom.
std::string packages_text(const Topology& topology, const Placement& placement) {
  std::map<int, std::vector<unsigned>> sockets;
  for (int socket : topology.sockets)
    sockets[package_of(topology, socket)].push_back(static_cast<unsigned>(socket));
  if (sockets.size() == topology.sockets.size()) return "";
  std::vector<std::string> parts;
  for (const auto& [package, nodes] : sockets)
    parts.push_back(fmt::format("package {}: {}", package, ranges(nodes)));
  std::string helpers;
  for (const PortPlacement& port : placement.ports) helpers += helpers_of(port, placement);
  return cut(fmt::format("sockets  {}{}", fmt::join(parts, ", "), helpers), kColumns) + "\n";
}

}  // namespace

std::string describe(const Placement& placement, const Config& config, const Topology& topology) {
  auto located = locate(config, topology, {});
  std::string out = port_table(placement, config, located);

  out += packages_text(topology, placement);
  std::map<int, std::vector<unsigned>> cores;
  for (const WorkerPlacement& worker : placement.workers)
    cores[worker.socket].push_back(worker.cpu);
  std::vector<std::string> parts;
  for (const auto& [socket, cpus] : cores)
    parts.push_back(fmt::format("{} on socket {}", ranges(cpus), socket));
  out += cut(fmt::format("control  core {}", placement.control_cpu), kColumns) + "\n";
  out += cut(fmt::format("workers  {}", fmt::join(parts, ", ")), kColumns) + "\n";

  for (const PoolPlacement& pool : placement.pools)
    out += cut(fmt::format("pool     socket {}: {} mbufs of {} bytes for {}", pool.socket,
                           pool.mbufs, pool.data_room_bytes, fmt::join(pool.ports, " ")),
               kColumns) +
           "\n";
  parts.clear();
  std::vector<std::string> tables;
  for (const SocketMemory& memory : placement.memory) {
    parts.push_back(fmt::format("{} on socket {}", mib(memory.bytes), memory.socket));
    if (memory.table_bytes != 0)
      tables.push_back(fmt::format("{} on socket {}", mib(memory.table_bytes), memory.socket));
  }
  out += cut(fmt::format("memory   {}", fmt::join(parts, ", ")), kColumns) + "\n";
  const size_t workers = placement.workers.size();
  const uint64_t nat = workers == 0 ? 0 : workers * nat_bytes(config.nat, workers);
  const uint64_t policed = policed_bytes(config.filters);
  out += cut(fmt::format("tables   {}, not of hugepages{}{}", fmt::join(tables, ", "),
                         nat == 0 ? "" : fmt::format("; {} of it NAT's", mib(nat)),
                         policed == 0 ? "" : fmt::format("; {} of it policers'", mib(policed))),
             kColumns) +
         "\n";
  for (const std::string& warning : placement.warnings) out += "! " + wrapped(warning) + "\n";
  return out;
}

}  // namespace hecto::config
