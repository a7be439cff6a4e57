// What a placement comes to: pools, memory, warnings, and the plan that tells of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "config/file/to_yaml.hpp"
#include "config/placement/hugepage_margin.hpp"
#include "config/placement/placement.hpp"
#include "config/placement/placement_parts.hpp"
#include "tests/beds/boxes.hpp"

namespace hecto::config {
namespace {

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
  constexpr unsigned kOfTheKernel = 256, kMostOfAfXdp = 3400;
  for (unsigned mtu = 576; mtu <= kMostOfAfXdp; ++mtu)
    ASSERT_GE(data_room_bytes(static_cast<uint16_t>(mtu)),
              mtu + kEthernetQinQAndCrc + kHeadroom + kOfTheKernel)
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

// Each of the three workers may hold some, and what waits for two of them.
TEST(Pools, HoldWhatASpreadQueueHasUnderWay) {
  Config config = read("workers: {0: [1-3]}\nburst: 256\n" + kTwoSoftware);
  config.ports[0].spread = SpreadMode::kAuto;
  Placement p = placed(config, plain_box(4));
  EXPECT_EQ(spread_rings(p.ports[0], p), 2u);
  EXPECT_EQ(spread_rings(p.ports[1], p), 0u);
  ASSERT_EQ(p.pools.size(), 1u);
  EXPECT_GE(p.pools[0].mbufs, 2 * 1024 + 2 * kSpreadRing + 4 * (2 * 1024 + 2 * 256 + 512) + 4096);
}

// `auto` with a queue for each worker, and one worker: nothing is ever spread.
TEST(Pools, HoldNothingForWhatIsNeverSpread) {
  for (const char* workers : {"{0: [1-3]}", "{0: [1]}"}) {
    Config config = read(fmt::format(
        "workers: {}\nports: {{a: {{device: e0, queues: 3}}, b: {{device: e1}}}}", workers));
    const Placement never = placed(config, plain_box(4));
    config.ports[0].spread = SpreadMode::kAuto;
    const Placement p = placed(config, plain_box(4));
    EXPECT_EQ(spread_rings(p.ports[0], p), 0u) << workers;
    EXPECT_EQ(p.pools[0].mbufs, never.pools[0].mbufs) << workers;
    for (const WorkerPlacement& worker : p.workers) EXPECT_FALSE(takes(worker, p.ports[0], p));
  }
  Config config = read("workers: {0: [1-3]}\nports: {a: {device: e0, queues: 3}}");
  config.ports[0].spread = SpreadMode::kAlways;
  const Placement p = placed(config, plain_box(4));
  EXPECT_EQ(spread_rings(p.ports[0], p), 3u * 2);
}

TEST(Pools, HoldNoMoreThanFifteenRingsOfAQueue) {
  Config config = read("workers: {0: [1-39]}\nports: {a: {device: e0}}");
  config.ports[0].spread = SpreadMode::kAlways;
  const Placement p = placed(config, plain_box(40));
  EXPECT_EQ(spread_rings(p.ports[0], p), 15u);
  EXPECT_EQ(std::count_if(p.workers.begin(), p.workers.end(),
                          [&](const WorkerPlacement& w) { return takes(w, p.ports[0], p); }),
            15);
  EXPECT_LT(p.pools[0].mbufs, 2 * (15 * kSpreadRing + 16 * (1024 + 2 * 64 + 768 + 1280) + 8192));
}

// wan0 lies on socket 0, which has no worker: the head is one of socket 1, and so are its takers.
TEST(Pools, AreForTheTakersOfTheQueuesOwnWorker) {
  Config config =
      read("workers: {1: [8-10]}\nports: {wan0: {device: \"0000:17:00.0\", queues: 1}}");
  const Placement never = placed(config, box("two_socket_smt.xml"));
  config.ports[0].spread = SpreadMode::kAlways;
  const Placement p = placed(config, box("two_socket_smt.xml"));
  ASSERT_EQ(p.ports[0].socket, 0);
  EXPECT_EQ(spread_rings(p.ports[0], p), 2u);
  EXPECT_GE(p.pools[0].mbufs, 1024 + 2 * kSpreadRing + 4 * (1024 + 2 * 64 + 512) + 4096);
  EXPECT_TRUE(warns(never, "has no queue to poll."));
  EXPECT_FALSE(warns(p, "has no queue to poll."));
}

TEST(Spread, WarnsOfOneSaOverSeveralWorkers) {
  Config config = read("workers: {0: [1-2]}\n" + kTwoSoftware);
  config.ports[0].spread = SpreadMode::kAlways;
  const char kWarning[] = "spread with ipsec: workers number packets of one SA side by side";
  EXPECT_FALSE(warns(placed(config, plain_box(4)), kWarning));
  config.ipsec.policies.emplace_back();
  EXPECT_TRUE(warns(placed(config, plain_box(4)), kWarning));
  config.ports[0].spread = SpreadMode::kNever;
  EXPECT_FALSE(warns(placed(config, plain_box(4)), kWarning));
}

TEST(Bonds, HaveQueuesOnTheFirstMembersSocketAndBuffersForAllMembers) {
  const std::string one = "ports: {up: {bond: {members: [\"0000:17:00.0\"]}}}";
  const std::string both = "ports: {up: {bond: {members: [\"0000:17:00.0\", \"0000:98:00.0\"]}}}";
  const auto read = [](const std::string& yaml) {
    Config config = hecto::config::read(yaml);
    config.ports[0].rx_descriptors = 32768;
    return config;
  };
  const Placement alone = placed(read(one), box("two_socket_smt.xml"));
  const Placement p = placed(read(both), box("two_socket_smt.xml"));
  ASSERT_EQ(p.ports.size(), 1u);
  EXPECT_EQ(p.ports[0].socket, alone.ports[0].socket);
  EXPECT_EQ(p.ports[0].rx_queues, alone.ports[0].rx_queues);
  EXPECT_GT(p.pools[0].mbufs, alone.pools[0].mbufs);
  EXPECT_TRUE(warns(p, "its members are on sockets 0 and 1"));
  EXPECT_FALSE(warns(alone, "its members are on sockets"));
  EXPECT_GT(lacp_bytes(read(both).ports[0], p.ports[0]), 0u);
  EXPECT_EQ(lacp_bytes(read("ports: {a: {device: e}}").ports[0], p.ports[0]), 0u);
}

TEST(Bonds, MembersThatTheBoxLacksAreNamed) {
  const Placement p =
      placed(read("ports: {up: {bond: {members: [\"0000:17:00.0\", \"0000:77:00.0\"]}}}"),
             box("two_socket_smt.xml"));
  EXPECT_TRUE(warns(p, "up: the box has no network device 0000:77:00.0."));
  EXPECT_FALSE(warns(p, "no network device 0000:17:00.0"));
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
  for (const SocketMemory& m : p.memory) EXPECT_GT(m.table_bytes, 2 * kDirectFib_bytes);
  Config compact = read("tables: {ipv4_engine: compact}\n" + kTwoNics);
  Placement smaller = placed(compact, box("two_socket_smt.xml"));
  EXPECT_LT(smaller.memory[0].table_bytes, p.memory[0].table_bytes / 2);
  EXPECT_EQ(smaller.memory_bytes, p.memory_bytes);
  Config config = read("memory: 64MiB\n" + kTwoNics);
  EXPECT_TRUE(warns(placed(config, box("two_socket_smt.xml")), "memory: 64 MiB is less than"));
}

TEST(Memory, HoldsABucketForEachPolicedPrefix) {
  const auto with_each = [](const char* each) {
    return read(
        "sets: {homes: [10.0.0.0/8, 10.1.0.0/16]}\npolicers: {p: {rate: 1Mbps, burst: 64kB, "
        "each: " +
        std::string(each) + "}}\nfilters: {f: {in: [wan0], rules: [{from: homes, police: p}]}}\n" +
        kTwoNics);
  };
  const Topology two = box("two_socket_smt.xml");
  Config config = with_each("source");
  config.filters.sets[0].of_file =
      std::make_shared<const std::vector<lookup::IpPrefix>>(kMostSetPrefixes - 2);
  const Config none = with_each("none");
  const Placement with = placed(config, two), without = placed(none, two);
  EXPECT_EQ(with.memory[0].table_bytes - without.memory[0].table_bytes,
            kMostSetPrefixes * kPolicedPrefix4_bytes)
      << "one bucket for all sockets";
  EXPECT_EQ(with.memory_bytes, without.memory_bytes) << "not DPDK's";
  EXPECT_NE(describe(with, config, two).find("; 184 MiB of it policers'"), std::string::npos)
      << describe(with, config, two);
  EXPECT_EQ(describe(without, none, two).find("policers"), std::string::npos);
}

TEST(Memory, HoldsNatsSessionsOfEachWorker) {
  const std::string nat =
      "nat: {pools: {main: {addresses: [203.0.113.1], sessions: 1000000}}, rules: [{inside: "
      "10.0.0.0/8, pool: main, out: wan0}]}\n";
  const Config config = read(nat + kTwoNics);
  const Topology two = box("two_socket_smt.xml");
  const Placement with = placed(config, two), without = placed(read(kTwoNics), two);
  uint64_t sum = 0;
  for (size_t i = 0; i < with.memory.size(); ++i)
    sum += with.memory[i].table_bytes - without.memory[i].table_bytes;
  EXPECT_EQ(sum, with.workers.size() * nat_bytes(config.nat, with.workers.size()));
  EXPECT_GT(sum, 1'000'000u * 64);
  EXPECT_EQ(with.memory_bytes, without.memory_bytes) << "not DPDK's";
  EXPECT_NE(describe(with, config, two).find(" of it NAT's"), std::string::npos);
  EXPECT_EQ(describe(without, read(kTwoNics), two).find("NAT"), std::string::npos);
}

TEST(Memory, TellsHowToReserveHugepages) {
  Topology t = plain_box(4);
  t.hugepage_bytes = {100ull << 20};
  t.hugepages_2m = {60};
  Placement p = placed(read(kTwoSoftware), t);
  const uint64_t wanted = with_hugepage_margin(p.memory_bytes);
  uint64_t need = (wanted - (100ull << 20) + (2u << 20) - 1) / (2u << 20);
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
                "lan0 sits on PCIe 3.0 x8 of 63 Gb/s, little above the port's 40 Gb/s, and could "
                "use PCIe 4.0 x16. Move it to such a slot."});
  nic.gbit_s = 10;
  EXPECT_TRUE(placed(config, t).warnings.empty()) << "such a link does not bind";
  nic.gbit_s.reset();
  EXPECT_TRUE(placed(config, t).warnings.empty()) << "nor does one whose wire is not known";
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
            "memory   140 MiB on socket 0, 76 MiB on socket 1\n"
            "tables   111 MiB on socket 0, 111 MiB on socket 1, not of hugepages\n"
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

}  // namespace
}  // namespace hecto::config
