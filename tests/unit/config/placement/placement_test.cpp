#include "config/placement/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/beds/boxes.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::config {
namespace {

TEST(Placement, SharesTheOnlyCpu) {
  Placement p = placed(read(kTwoSoftware), plain_box(1));
  EXPECT_EQ(p.control_cpu, 0u);
  EXPECT_EQ(queues(p), "0:a.0+b.0");
  EXPECT_TRUE(warns(p, "Core 0 is control's and a worker's"));
}

TEST(Placement, GivesTheSecondOfTwoCpusToOneWorker) {
  Placement p = placed(read(kTwoSoftware), plain_box(2));
  EXPECT_EQ(p.control_cpu, 0u);
  EXPECT_EQ(queues(p), "1:a.0+b.0");
  EXPECT_TRUE(p.warnings.empty());
}

TEST(Placement, UsesBothThreadsOnlyWhereCoresAreFew) {
  Placement few = placed(read(kTwoSoftware), plain_box(1, 2));
  EXPECT_EQ(few.control_cpu, 0u);
  EXPECT_EQ(cpus(few), std::vector<unsigned>{1});
  EXPECT_EQ(cpus(placed(read(kTwoSoftware), plain_box(2, 2))), (std::vector<unsigned>{1, 2}));

  Config many = read("ports: {wan0: {device: \"0000:17:00.0\"}}");
  EXPECT_EQ(cpus(placed(many, plain_box(4, 2))), (std::vector<unsigned>{1, 2, 3}));
}

TEST(Placement, TakesAsManyWorkersAsSoftwarePortsNeed) {
  Placement p = placed(read(kTwoSoftware), plain_box(8));
  EXPECT_EQ(queues(p), "1:a.0 2:b.0");
  EXPECT_EQ(p.ports[0].rx_queues, 1);
  EXPECT_EQ(p.ports[0].tx_queues, 3) << "one per worker and one for control";
  EXPECT_FALSE(p.ports[0].socket_known);
}

TEST(Placement, GivesASoftwarePortTheQueuesAskedFor) {
  Placement p = placed(read("ports: {a: {device: veth0, queues: 3}}"), plain_box(8));
  EXPECT_EQ(queues(p), "1:a.0 2:a.1 3:a.2");
}

TEST(Placement, PollsEveryNicOnItsSocket) {
  Placement p = placed(read(kTwoNics), box("two_socket_smt.xml"));
  EXPECT_EQ(p.control_cpu, 0u);
  EXPECT_EQ(cpus(p), (std::vector<unsigned>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}));
  for (const WorkerPlacement& w : p.workers) {
    ASSERT_EQ(w.queues.size(), 1u);
    EXPECT_EQ(w.queues[0].port, w.socket == 0 ? "wan0" : "lan0");
  }
  EXPECT_EQ(p.ports[0].rx_queues, 7);
  EXPECT_EQ(p.ports[1].rx_queues, 8);
  EXPECT_EQ(p.ports[1].socket, 1);
  EXPECT_TRUE(p.ports[1].socket_known);
  EXPECT_EQ(p.sockets, (std::vector{0, 1}));
  EXPECT_EQ(p.warnings,
            std::vector<std::string>{
                "Traffic between wan0 (socket 0) and lan0 (socket 1) crosses sockets."});
}

TEST(Placement, LeavesASocketWithoutNicsAlone) {
  Placement p =
      placed(read("ports: {lan0: {device: \"0000:98:00.0\"}}"), box("two_socket_smt.xml"));
  EXPECT_EQ(p.control_cpu, 0u);
  EXPECT_EQ(p.workers.size(), 8u);
  for (const WorkerPlacement& w : p.workers) EXPECT_EQ(w.socket, 1);
  EXPECT_EQ(p.sockets, std::vector{1});
  EXPECT_TRUE(p.warnings.empty());
}

TEST(Placement, FollowsNumbersThatAlternateBetweenSockets) {
  Placement p =
      placed(read("ports: {p: {device: \"0000:81:00.0\"}}"), box("interleaved_numbers.xml"));
  EXPECT_EQ(p.control_cpu, 0u);
  EXPECT_EQ(cpus(p), (std::vector<unsigned>{1, 3, 5, 7, 9, 11}));
}

TEST(Placement, FindsTheSocketOfAKernelInterface) {
  Placement p = placed(read("ports: {p: {device: p4p1}}"), box("interleaved_numbers.xml"));
  EXPECT_EQ(queues(p), "1:p.0");
  EXPECT_TRUE(p.ports[0].socket_known);
}

TEST(Placement, PutsSoftwarePortsWhereWorkersAre) {
  Placement p = placed(read("ports: {lan0: {device: \"0000:98:00.0\"}, gen0: {device: net_null0}}"),
                       box("two_socket_smt.xml"));
  EXPECT_EQ(p.ports[1].socket, 1);
  for (const WorkerPlacement& w : p.workers) EXPECT_EQ(w.socket, 1);
}

TEST(Placement, KeepsToTheQueuesThatADeviceHas) {
  Config config = read("ports: {wan0: {device: \"0000:17:00.0\", queues: 4}}");
  Placement p = placed(config, box("two_socket_smt.xml"), {{2, 0}});
  EXPECT_EQ(queues(p), "1:wan0.0 2:wan0.1");
  EXPECT_TRUE(warns(p, "wan0: 4 queues asked, the device has 2: using 2."));

  config.ports[0].rx_queues.reset();
  p = placed(config, box("two_socket_smt.xml"), {{3, 0}});
  EXPECT_EQ(p.workers.size(), 3u) << "more would have nothing to poll";
  EXPECT_TRUE(p.warnings.empty());
}

TEST(Placement, TakesTheDriversWordForAnUnknownSocket) {
  Config config = read("ports: {odd0: {device: \"0000:b1:00.0\"}}");
  Topology t = box("two_socket_smt.xml");
  Placement p = placed(config, t);
  EXPECT_FALSE(p.ports[0].socket_known);
  EXPECT_TRUE(warns(p, "odd0: the socket of 0000:b1:00.0 is not known; taken as 0."));
  p = placed(config, t, {{16, 1}});
  EXPECT_EQ(p.ports[0].socket, 1);
  EXPECT_TRUE(p.warnings.empty());
}

TEST(Placement, HonoursExplicitWorkers) {
  Config config = read("workers: {0: [2-3], 1: [9]}\n" + kTwoNics);
  Placement p = placed(config, box("two_socket_smt.xml"));
  EXPECT_EQ(queues(p), "2:wan0.0 3:wan0.1 9:lan0.0");
  EXPECT_EQ(p.control_cpu, 0u);
}

TEST(Placement, WarnsOfExplicitWorkersThatCostSpeed) {
  Topology t = box("two_socket_smt.xml");
  Placement p = placed(read("workers: {0: [2, 18, 9]}\n" + kTwoNics), t);
  EXPECT_EQ(queues(p), "2:wan0.0 18:wan0.1 9:lan0.0");
  EXPECT_TRUE(warns(p, "workers: core 9 is on socket 1, not on 0 as the file says."));
  EXPECT_TRUE(warns(p, "Workers 2 and 18 are two threads of one core and share it."));

  p = placed(read("workers: {0: [2]}\n" + kTwoNics), t);
  EXPECT_TRUE(warns(p,
                    "lan0 is on socket 1, which has no worker: its queues are polled across "
                    "sockets, from 0."));
  EXPECT_EQ(p.ports[1].socket, 1) << "its pool stays with the NIC";

  p = placed(read("workers: {0: [0, 1]}\ncontrol_core: 1\n" + kTwoSoftware), plain_box(2));
  EXPECT_TRUE(warns(p, "Core 1 is control's and a worker's"));

  p = placed(read("workers: {0: [1-3]}\n" + kTwoSoftware), plain_box(8));
  EXPECT_TRUE(warns(p, "Core 3 has no queue to poll."));
  Config spreads = read("workers: {0: [1-3]}\n" + kTwoSoftware);
  spreads.ports[0].spread = SpreadMode::kAlways;
  EXPECT_FALSE(warns(placed(spreads, plain_box(8)), "Core 3 has no queue to poll."));

  p = placed(read("workers: {0: [1]}\nports: {a: {device: veth0, queues: 4}}"), plain_box(8));
  EXPECT_TRUE(warns(p, "a: 4 queues for 1 worker: some poll several."));
}

TEST(Placement, KeepsControlOffTheThreadsOfWorkers) {
  EXPECT_EQ(placed(read("workers: {0: [0-2]}\n" + kTwoSoftware), plain_box(4, 2)).control_cpu, 3u);
  EXPECT_EQ(placed(read("workers: {0: [0-3]}\n" + kTwoSoftware), plain_box(4, 2)).control_cpu, 4u)
      << "every core has a worker: the first free thread";
  Placement p = placed(read("control_core: 2\n" + kTwoSoftware), plain_box(4));
  EXPECT_EQ(p.control_cpu, 2u);
  EXPECT_EQ(cpus(p), (std::vector<unsigned>{0, 1}));
}

TEST(Placement, KeepsToTheAffinityMask) {
  Topology t = plain_box(8);
  for (Core& core : t.cores) core.allowed = core.cpu >= 4 && core.cpu <= 6;
  Placement p = placed(read("ports: {w: {device: \"17:00.0\"}}"), t);
  EXPECT_EQ(p.control_cpu, 4u);
  EXPECT_EQ(cpus(p), (std::vector<unsigned>{5, 6}));
  for (Core& core : t.cores) core.allowed = false;
  auto none = place(read(kTwoSoftware), t);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "the box has no core that this process may use; widen its affinity mask");
}

TEST(Placement, RefusesCoresThatAreNotThere) {
  auto p = place(read("workers: {0: [7-8]}\n" + kTwoSoftware), plain_box(8));
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error(), "workers: there is no core 8; the box has cores [0-7]");
  p = place(read("control_core: 9\n" + kTwoSoftware), plain_box(8));
  ASSERT_FALSE(p);
  EXPECT_EQ(p.error(), "control_core: there is no core 9; the box has cores [0-7]");
}

// Whatever box and file: every queue is polled once, on the NIC's socket where that has workers,
// and no thread has two workers.
TEST(Placement, KeepsItsPromisesOnRandomBoxes) {
  auto seed = static_cast<uint32_t>(test_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 2000; ++round) {
    Topology t;
    t.source = "the box";
    unsigned sockets = 1 + below(4), cores = 1 + below(12), threads = 1 + below(2), cpu = 0;
    for (unsigned s = 0; s < sockets; ++s) {
      t.sockets.push_back(static_cast<int>(s));
      for (unsigned c = 0; c < cores; ++c, ++cpu) {
        Core core{cpu, {}, static_cast<int>(s), below(8) != 0};
        if (threads == 2) core.siblings = {cpu + sockets * cores};
        t.cores.push_back(core);
      }
    }
    if (std::none_of(t.cores.begin(), t.cores.end(), [](const Core& c) { return c.allowed; }))
      t.cores[0].allowed = true;
    Config config;
    for (unsigned i = 0, n = 1 + below(8); i < n; ++i) {
      PortConfig port;
      port.name = "p" + std::to_string(i);
      if (below(2) == 0) {
        port.kind = DeviceKind::kPci;
        port.device = "0000:1" + std::to_string(i) + ":00.0";
        int socket = below(4) == 0 ? -1 : static_cast<int>(below(sockets));
        t.nics.push_back({port.device, "", "", socket, {}, {}, {}, {}, {}, {}});
      } else {
        port.device = "veth" + std::to_string(i);
      }
      if (below(3) == 0) port.rx_queues = static_cast<uint16_t>(1 + below(16));
      config.ports.push_back(port);
    }
    Placement p = placed(config, t);
    std::set<unsigned> used;
    std::set<int> worker_sockets;
    for (const WorkerPlacement& w : p.workers) {
      EXPECT_TRUE(used.insert(w.cpu).second);
      worker_sockets.insert(w.socket);
    }
    if (sockets * cores > 1) {
      EXPECT_FALSE(used.contains(p.control_cpu) && used.size() > 1);
    }
    std::set<std::pair<std::string, unsigned>> polled;
    for (const WorkerPlacement& w : p.workers)
      for (const QueuePlacement& q : w.queues) {
        EXPECT_TRUE(polled.emplace(q.port, q.queue).second);
        for (const PortPlacement& port : p.ports)
          if (port.port == q.port && port.socket_known && worker_sockets.contains(port.socket)) {
            EXPECT_EQ(w.socket, port.socket) << q.port;
          }
      }
    size_t total = 0;
    for (const PortPlacement& port : p.ports) total += port.rx_queues;
    EXPECT_EQ(polled.size(), total);
    size_t in_pools = 0;
    for (const PoolPlacement& pool : p.pools) in_pools += pool.ports.size();
    EXPECT_EQ(in_pools, config.ports.size());
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace hecto::config
