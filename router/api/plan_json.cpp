#include "router/api/plan_json.hpp"

#include <nlohmann/json.hpp>

namespace hecto::router {

using nlohmann::json;

namespace {

json socket_json(const config::Topology& topology, size_t position) {
  const int socket = topology.sockets[position];
  json cores = json::array();
  for (const config::Core& core : topology.cores)
    if (core.socket == socket) cores.push_back({{"cpu", core.cpu}, {"siblings", core.siblings}});
  const auto& memory = topology.memory_bytes;
  return {{"id", socket},
          {"memory_bytes", position < memory.size() ? json(memory[position]) : json()},
          {"cores", std::move(cores)}};
}

template <typename Number>
json or_null(const std::optional<Number>& number) {
  return number ? json(*number) : json();
}

}  // namespace

json topology_json(const config::Topology& topology) {
  json sockets = json::array(), nics = json::array(), gpus = json::array();
  for (size_t i = 0; i < topology.sockets.size(); ++i) sockets.push_back(socket_json(topology, i));
  for (const config::Nic& nic : topology.nics)
    nics.push_back({{"pci", nic.pci},
                    {"interface", nic.interface},
                    {"name", nic.name},
                    {"socket", nic.socket < 0 ? json() : json(nic.socket)},
                    {"pcie_gt_s", or_null(nic.pcie_gt_s)},
                    {"pcie_lanes", or_null(nic.pcie_lanes)}});
  for (const config::Gpu& gpu : topology.gpus)
    gpus.push_back({{"pci", gpu.pci},
                    {"name", gpu.name},
                    {"socket", gpu.socket < 0 ? json() : json(gpu.socket)}});
  return {{"cpu_model", topology.cpu_model},
          {"l3_bytes", topology.l3_bytes},
          {"sockets", std::move(sockets)},
          {"nics", std::move(nics)},
          {"gpus", std::move(gpus)}};
}

json plan_json(const config::Placement& placement, const std::string& text) {
  json workers = json::array(), ports = json::array(), pools = json::array();
  uint64_t table_bytes = 0;
  for (const auto& memory : placement.memory) table_bytes += memory.table_bytes;
  for (const auto& worker : placement.workers) {
    json queues = json::array();
    for (const auto& queue : worker.queues) {
      queues.push_back({{"port", queue.port}, {"queue", queue.queue}});
    }
    workers.push_back({{"id", worker.id},
                       {"cpu", worker.cpu},
                       {"socket", worker.socket},
                       {"queues", std::move(queues)}});
  }
  for (const auto& port : placement.ports) {
    ports.push_back({{"name", port.port},
                     {"socket", port.socket},
                     {"socket_known", port.socket_known},
                     {"rx_queues", port.rx_queues},
                     {"tx_queues", port.tx_queues}});
  }
  for (const auto& pool : placement.pools) {
    pools.push_back({{"socket", pool.socket},
                     {"data_room_bytes", pool.data_room_bytes},
                     {"mbufs", pool.mbufs},
                     {"ports", pool.ports}});
  }
  return {{"text", text},
          {"warnings", placement.warnings},
          {"placement",
           {{"control_cpu", placement.control_cpu},
            {"memory_bytes", placement.memory_bytes},
            {"table_bytes", table_bytes},
            {"sockets", placement.sockets},
            {"workers", std::move(workers)},
            {"ports", std::move(ports)},
            {"pools", std::move(pools)}}}};
}

}  // namespace hecto::router
