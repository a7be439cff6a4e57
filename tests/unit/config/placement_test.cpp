#include "config/placement.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <sstream>

#include "config/load.hpp"

namespace hecto::config {
namespace {

Topology box(const std::string& name) {
  auto topology = read_topology(HECTO_SOURCE_ROOT "/tests/unit/config/data/" + name);
  EXPECT_TRUE(topology) << topology.error();
  Topology t = topology ? *topology : Topology{};
  t.source = "the box";
  return t;
}

// One socket, `cores` cores of `threads` threads numbered as Linux does: first threads first.
Topology plain_box(unsigned cores, unsigned threads = 1) {
  Topology t;
  t.source = "the box";
  t.sockets = {0};
  for (unsigned c = 0; c < cores; ++c) {
    Core core{c, {}, 0, true};
    for (unsigned s = 1; s < threads; ++s) core.siblings.push_back(c + s * cores);
    t.cores.push_back(core);
  }
  return t;
}

Config read(const std::string& yaml) {
  auto config = parse(yaml, "t.yaml");
  EXPECT_TRUE(config) << (config ? "" : config.error()[0]);
  return config ? *config : Config{};
}

Placement placed(const Config& config, const Topology& topology,
                 const std::vector<PortCapability>& capabilities = {}) {
  auto placement = place(config, topology, capabilities);
  EXPECT_TRUE(placement) << (placement ? "" : placement.error());
  return placement ? *placement : Placement{};
}

std::vector<unsigned> cpus(const Placement& p) {
  std::vector<unsigned> out;
  for (const WorkerPlacement& w : p.workers) out.push_back(w.cpu);
  return out;
}

// "2:wan0.0+lan0.0 3:wan0.1": worker cpus and what they poll.
std::string queues(const Placement& p) {
  std::string out;
  for (const WorkerPlacement& w : p.workers) {
    out += fmt::format("{}{}:", out.empty() ? "" : " ", w.cpu);
    for (size_t i = 0; i < w.queues.size(); ++i)
      out += fmt::format("{}{}.{}", i ? "+" : "", w.queues[i].port, w.queues[i].queue);
  }
  return out;
}

bool warns(const Placement& p, const std::string& text) {
  return std::any_of(p.warnings.begin(), p.warnings.end(),
                     [&](const std::string& line) { return line.find(text) != std::string::npos; });
}

const std::string kTwoSoftware = "ports: {a: {device: veth0}, b: {device: veth1}}\n";
const std::string kTwoNics =
    "ports: {wan0: {device: \"0000:17:00.0\"}, lan0: {device: \"0000:98:00.0\"}}\n";

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

TEST(Pools, AreSharedByPortsOfOneSocketAndDataRoom) {
  Placement p = placed(
      read("ports: {a: {device: e0}, b: {device: e1}, c: {device: e2, mtu: 9000}, d: {device: e3, "
           "mtu: 3000}}"),
      plain_box(2));
  ASSERT_EQ(p.pools.size(), 3u);
  EXPECT_EQ(p.pools[0].ports, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(p.pools[0].data_room_bytes, 2176u);
  EXPECT_EQ(p.pools[1].data_room_bytes, 3840u);
  EXPECT_EQ(p.pools[2].data_room_bytes, 10496u);
}

TEST(Pools, HoldAPacketOfEveryMtuInOneSegment) {
  constexpr unsigned kHeadroom = 128, kEthernetQinQAndCrc = 14 + 8 + 4;
  for (unsigned mtu = 576; mtu <= 9000; ++mtu)
    ASSERT_GE(data_room_bytes(static_cast<uint16_t>(mtu)), mtu + kEthernetQinQAndCrc + kHeadroom)
        << mtu;
}

TEST(Pools, FillEveryRingAndCacheAtOnce) {
  Config config = read("burst: 256\n" + kTwoSoftware);
  config.ports[0].rx_descriptors = 4096;
  config.ports[1].tx_descriptors = 2048;
  Placement p = placed(config, plain_box(4));
  ASSERT_EQ(p.pools.size(), 1u);
  // Two receive rings; two workers and control, each with a transmit queue on both ports, a burst
  // under way twice and a full cache; the punt queues.
  uint32_t least = 4096 + 1024 + 3 * (1024 + 2048 + 2 * 256 + 512) + 4096;
  EXPECT_GE(p.pools[0].mbufs, least);
  EXPECT_LT(p.pools[0].mbufs, 2 * least + 4096);
  EXPECT_EQ(p.pools[0].mbufs & (p.pools[0].mbufs + 1), 0u) << "2^n - 1";
}

TEST(Pools, KeepSpareMbufsOncePerSocket) {
  Config config = read("ports: {a: {device: e0}, c: {device: e2, mtu: 9000}}");
  Placement before = placed(config, plain_box(2));
  config.spare_mbufs = 100000;
  Placement after = placed(config, plain_box(2));
  EXPECT_GE(after.pools[0].mbufs, before.pools[0].mbufs + 100000 / 2);
  EXPECT_GE(after.pools[0].mbufs, 100000u);
  EXPECT_EQ(after.pools[1].mbufs, before.pools[1].mbufs);
}

TEST(Memory, IsTheSumOfSocketsAndHoldsTheReplicas) {
  Placement p = placed(read(kTwoNics), box("two_socket_smt.xml"));
  ASSERT_EQ(p.memory.size(), 2u);
  EXPECT_EQ(p.memory_bytes, p.memory[0].bytes + p.memory[1].bytes);
  for (const SocketMemory& m : p.memory) EXPECT_GT(m.bytes, 98ull << 20);
  Config config = read("memory: 64MiB\n" + kTwoNics);
  EXPECT_TRUE(warns(placed(config, box("two_socket_smt.xml")), "memory: 64 MiB is less than"));
}

TEST(Memory, TellsHowToReserveHugepages) {
  Topology t = plain_box(4);
  t.hugepage_bytes = {100ull << 20};
  t.hugepages_2m = {60};
  Placement p = placed(read(kTwoSoftware), t);
  uint64_t need = (p.memory_bytes - (100ull << 20) + (2u << 20) - 1) / (2u << 20);
  EXPECT_TRUE(warns(p, "Hugepages on socket 0: 100 MiB free, "));
  EXPECT_TRUE(warns(p, "sysctl -w vm.nr_hugepages=" + std::to_string(60 + need)));

  t = box("two_socket_smt.xml");
  t.hugepage_bytes[1] = 0;
  p = placed(read(kTwoNics), t);
  EXPECT_FALSE(warns(p, "on socket 0: "));
  EXPECT_TRUE(warns(p, "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"));
}

TEST(Pcie, WarnsOfASlotSlowerThanThePortOrTheCard) {
  Topology t = box("two_socket_smt.xml");
  Config config = read("ports: {lan0: {device: \"0000:98:00.0\"}}");
  EXPECT_TRUE(placed(config, t).warnings.empty());
  Nic& nic = t.nics[2];
  nic.pcie_gt_s = 8;
  nic.pcie_lanes = 8;
  nic.pcie_max_gt_s = 8;
  nic.pcie_max_lanes = 8;
  EXPECT_TRUE(placed(config, t).warnings.empty());
  nic.gbit_s = 100;
  EXPECT_EQ(placed(config, t).warnings,
            std::vector<std::string>{"lan0 sits on PCIe 3.0 x8 of 63 Gb/s, below the port's 100 "
                                     "Gb/s. Move it to a faster slot."});
  nic.gbit_s = 40;
  nic.pcie_max_gt_s = 16;
  nic.pcie_max_lanes = 16;
  EXPECT_EQ(placed(config, t).warnings,
            std::vector<std::string>{
                "lan0 sits on PCIe 3.0 x8 and could use PCIe 4.0 x16. Move it to such a slot."});
}

TEST(Resolved, WritesWhatAutoBecameAndPlacesTheSameAgain) {
  Topology t = box("two_socket_smt.xml");
  Config config = read(kTwoNics);
  Placement first = placed(config, t);
  Config known = resolved(config, first);
  EXPECT_EQ(known.workers.at(1), (std::vector<unsigned>{8, 9, 10, 11, 12, 13, 14, 15}));
  EXPECT_EQ(known.control_core, 0u);
  EXPECT_EQ(known.ports[0].rx_queues, 7);
  EXPECT_EQ(known.memory_bytes, first.memory_bytes);
  Placement again = placed(known, t);
  EXPECT_EQ(queues(again), queues(first));
  EXPECT_EQ(again.control_cpu, first.control_cpu);
  auto reread = parse(to_yaml(known), known.file);
  ASSERT_TRUE(reread) << reread.error()[0];
  EXPECT_EQ(*reread, known);
}

size_t columns(const std::string& line) {
  return static_cast<size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

TEST(Plan, ReadsAsInTheManual) {
  Topology t = box("two_socket_smt.xml");
  t.nics[0].pcie_gt_s = 16;
  t.nics[0].pcie_lanes = 16;
  Config config = read("workers: {0: [2-5], 1: [8-11]}\n" + kTwoNics);
  std::string text = describe(placed(config, t), config, t);
  EXPECT_EQ(text,
            "wan0  0000:17:00.0  socket 0  PCIe 4.0 x16  queues 0-3 → cores 2-5\n"
            "lan0  0000:98:00.0  socket 1  PCIe 63 Gb/s  queues 0-3 → cores 8-11\n"
            "control  core 0\n"
            "workers  2-5 on socket 0, 8-11 on socket 1\n"
            "pool     socket 0: 32767 mbufs of 2176 bytes for wan0\n"
            "pool     socket 1: 32767 mbufs of 2176 bytes for lan0\n"
            "memory   370 MiB on socket 0, 306 MiB on socket 1; tables on socket 0, 1\n"
            "! Traffic between wan0 (socket 0) and lan0 (socket 1) crosses sockets.\n");
}

TEST(Plan, FitsAHundredColumns) {
  Topology t = box("two_socket_smt.xml");
  t.hugepage_bytes = {0, 0};
  std::string yaml = "workers: {0: [1, 3, 5, 7, 17, 19, 21, 23], 1: [8, 10, 12, 14]}\nports:\n";
  for (int i = 0; i < 20; ++i)
    yaml += "  port_number_" + std::to_string(10 + i) + ": {device: \"net_memif" +
            std::to_string(i) +
            ",role=server,socket=/run/hecto/a_rather_long_name.sock\", queues: " +
            std::to_string(1 + i) + "}\n";
  yaml += "  wan0: {device: \"0000:17:00.0\"}\n  odd0: {device: \"0000:b1:00.0\"}\n";
  Config config = read(yaml);
  std::istringstream lines(describe(placed(config, t), config, t));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 100u) << line;
}

// Whatever box and file: every queue is polled once, on the NIC's socket where that has workers,
// and no thread has two workers.
TEST(Placement, KeepsItsPromisesOnRandomBoxes) {
  uint32_t seed = std::random_device()();
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
