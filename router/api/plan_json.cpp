#include "router/api/plan_json.hpp"

#include <nlohmann/json.hpp>

namespace hecto::router {

using nlohmann::json;

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
