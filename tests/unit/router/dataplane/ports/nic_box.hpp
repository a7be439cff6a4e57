// A box of NICs that are played (ScriptedEthdev), of which nothing runs.
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "router/dataplane/dataplane.hpp"
#include "tests/beds/packets.hpp"
#include "tests/beds/scripted_ethdev.hpp"

namespace hecto::router::test {

inline constexpr uint64_t kSegments = RTE_ETH_TX_OFFLOAD_MULTI_SEGS;
inline constexpr uint64_t kFast = RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
inline constexpr uint64_t kOthers = RTE_ETH_TX_OFFLOAD_VLAN_INSERT | RTE_ETH_TX_OFFLOAD_IPV4_CKSUM |
                                    RTE_ETH_TX_OFFLOAD_TCP_CKSUM | RTE_ETH_TX_OFFLOAD_TCP_TSO;
inline constexpr uint32_t kRoom = 2048 + RTE_PKTMBUF_HEADROOM, kJumboRoom = 10240 + 256;

inline EthdevScript i40e() {
  return {
      .driver = "net_i40e", .tx_offloads = kOthers | kSegments | kFast, .tx_queue_offloads = kFast};
}
inline EthdevScript mlx5() {
  return {.driver = "mlx5_pci", .tx_offloads = kOthers | kSegments | kFast};
}

// A box of one socket, of which nothing runs. Names of ports are those of their scripts.
class Box {
 public:
  explicit Box(unsigned workers, bool linux_side = false,
               std::chrono::milliseconds longest_settling = std::chrono::milliseconds(5))
      : placement_(workers_of(workers)),
        tables_({}, {0}, workers + 1, {}),
        dataplane_(
            {placement_.workers, linux_side, nullptr, std::nullopt, nullptr, longest_settling},
            tables_) {}

  // A port whose queues these workers poll, in order, and the room of its buffers.
  void place(const std::string& port, const std::vector<unsigned>& workers, uint32_t room = kRoom) {
    placement_.ports.push_back({port, 0, true, static_cast<uint16_t>(workers.size()), 0});
    for (QueueId queue = 0; queue < workers.size(); ++queue)
      placement_.workers[workers[queue]].queues.push_back({port, queue});
    for (config::PoolPlacement& pool : placement_.pools)
      if (pool.data_room_bytes == room) return pool.ports.push_back(port);
    placement_.pools.push_back({0, room, 256, {port}});
  }
  Port& add(const ScriptedEthdev& nic, const std::string& name, uint16_t mtu = 1500,
            bool publishes = true, config::SpreadMode spread = config::SpreadMode::kNever) {
    config::PortConfig config = nic.config(name, mtu);
    config.spread = spread;
    for (config::PortPlacement& placed : placement_.ports)
      if (placed.port == name) placed.spread = spread;
    auto port = Port::probe(config);
    EXPECT_TRUE(port) << port.error().message;
    const auto added = dataplane_.add_port(std::move(*port), placement_);
    EXPECT_TRUE(added) << added.error().message;
    if (publishes) dataplane_.publish();
    return *dataplane_.port(name);
  }
  const TransmitPath& path(unsigned worker, const Port& port) {
    return dataplane_.snapshot().workers[worker].transmit[port.id()];
  }
  Dataplane& dataplane() { return dataplane_; }
  Tables& tables() { return tables_; }

 private:
  static config::Placement workers_of(unsigned count) {
    pool();  // DPDK
    config::Placement placement;
    for (unsigned id = 0; id < count; ++id) placement.workers.push_back({id, 0, 0, {}});
    return placement;
  }
  config::Placement placement_;
  Tables tables_;
  Dataplane dataplane_;
};

}  // namespace hecto::router::test
