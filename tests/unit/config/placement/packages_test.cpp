// Packages of several NUMA nodes, and last-level caches that a few cores share.
#include <gtest/gtest.h>

#include <set>

#include "config/capacity/capacity.hpp"
#include "tests/beds/boxes.hpp"

namespace hecto::config {
namespace {

// Packages of `nodes` nodes of `cores` cores, `in_cache` of them on each last-level cache.
Topology packages(unsigned count, unsigned nodes, unsigned cores, unsigned in_cache) {
  Topology t;
  t.source = "the box";
  for (unsigned node = 0; node < count * nodes; ++node) {
    t.sockets.push_back(static_cast<int>(node));
    for (unsigned c = 0; c < cores; ++c) {
      Core core{node * cores + c, {}, static_cast<int>(node), true};
      core.package = static_cast<int>(node / nodes);
      core.l3 = static_cast<int>(core.cpu / in_cache);
      t.cores.push_back(core);
    }
  }
  return t;
}

void add_nic(Topology& t, const std::string& pci, int socket) {
  Nic nic;
  nic.pci = pci;
  nic.socket = socket;
  t.nics.push_back(nic);
}

std::map<int, size_t> workers_by_socket(const Placement& p) {
  std::map<int, size_t> out;
  for (const WorkerPlacement& worker : p.workers) ++out[worker.socket];
  return out;
}

Config one_port() {
  return read("ports: {wan: {device: \"0000:17:00.0\"}}");
}

TEST(Packages, LendTheirNodesWithoutPortsToANic) {
  Topology t = packages(2, 4, 6, 6);
  add_nic(t, "0000:17:00.0", 0);
  const Placement p = placed(one_port(), t);
  EXPECT_EQ(workers_by_socket(p), (std::map<int, size_t>{{0, 5}, {1, 6}, {2, 6}, {3, 6}}))
      << "all of the package, and none of the other";
  EXPECT_EQ(p.ports[0].rx_queues, 23);
  EXPECT_EQ(p.ports[0].socket, 0) << "its pool stays with the NIC";
  EXPECT_TRUE(p.warnings.empty()) << p.warnings[0];
  for (const WorkerPlacement& worker : p.workers) EXPECT_EQ(worker.queues.size(), 1u);
}

TEST(Packages, DoNotLendANodeThatHasAPort) {
  Topology t = packages(1, 2, 6, 6);
  add_nic(t, "0000:17:00.0", 0);
  add_nic(t, "0000:98:00.0", 1);
  const Placement p = placed(read(kTwoNics), t);
  for (const WorkerPlacement& worker : p.workers) {
    ASSERT_EQ(worker.queues.size(), 1u);
    EXPECT_EQ(worker.queues[0].port, worker.socket == 0 ? "wan0" : "lan0");
  }
  EXPECT_FALSE(warns(p, "crosses")) << "within a package there is no link to cross";
}

TEST(Packages, LendNoMoreThanQueuesNeed) {
  Topology t = packages(1, 4, 6, 6);
  add_nic(t, "0000:17:00.0", 0);
  const Placement p = placed(read("ports: {wan: {device: \"0000:17:00.0\", queues: 8}}"), t);
  EXPECT_EQ(workers_by_socket(p), (std::map<int, size_t>{{0, 5}, {1, 3}}));
  for (const WorkerPlacement& worker : p.workers) EXPECT_EQ(worker.queues.size(), 1u);
}

TEST(Packages, ServeAPortWhoseOwnNodeHasNoCore) {
  Topology t = packages(2, 2, 4, 4);
  add_nic(t, "0000:17:00.0", 2);
  for (Core& core : t.cores)
    if (core.socket == 2) core.allowed = false;
  const Placement p = placed(one_port(), t);
  EXPECT_EQ(workers_by_socket(p), (std::map<int, size_t>{{3, 4}}));
  EXPECT_TRUE(p.warnings.empty());
  for (Core& core : t.cores)
    if (core.socket == 3) core.allowed = false;
  EXPECT_TRUE(warns(placed(one_port(), t), "polled across sockets")) << "no core of the package";
}

TEST(Packages, KeepTheirPlacementWhenItIsWrittenAndReadAgain) {
  Topology t = packages(2, 4, 6, 6);
  add_nic(t, "0000:17:00.0", 5);
  const Config config = one_port();
  const Placement first = placed(config, t);
  const Placement again = placed(resolved(config, first), t);
  EXPECT_EQ(queues(again), queues(first));
  EXPECT_TRUE(again.warnings.empty());
}

TEST(Packages, AreNamedInThePlan) {
  Topology t = packages(2, 2, 4, 4);
  add_nic(t, "0000:17:00.0", 0);
  const Config config = one_port();
  EXPECT_NE(describe(placed(config, t), config, t)
                .find("sockets  package 0: 0-1, package 1: 2-3; wan polled from 1, too\n"),
            std::string::npos);
}

std::set<int> caches_of(const Placement& p, const Topology& t, const std::string& port) {
  std::set<int> out;
  for (const WorkerPlacement& worker : p.workers)
    for (const QueuePlacement& queue : worker.queues)
      if (queue.port == port)
        for (const Core& core : t.cores)
          if (core.cpu == worker.cpu) out.insert(core.l3);
  return out;
}

TEST(LastLevelCaches, HoldTheWorkersOfOnePort) {
  Topology t = packages(1, 1, 16, 4);
  add_nic(t, "0000:17:00.0", 0);
  add_nic(t, "0000:98:00.0", 0);
  const Placement p = placed(read("ports: {wan: {device: \"0000:17:00.0\", queues: 4}, "
                                  "lan: {device: \"0000:98:00.0\", queues: 3}}"),
                             t);
  EXPECT_EQ(p.workers.size(), 7u);
  EXPECT_EQ(caches_of(p, t, "wan").size(), 1u);
  EXPECT_EQ(caches_of(p, t, "lan").size(), 1u);
  EXPECT_NE(caches_of(p, t, "wan"), caches_of(p, t, "lan"));
  for (const WorkerPlacement& worker : p.workers) EXPECT_EQ(worker.queues.size(), 1u);
}

TEST(LastLevelCaches, AreLeftWhereAPortNeedsMore) {
  Topology t = packages(1, 1, 16, 4);
  add_nic(t, "0000:17:00.0", 0);
  const Placement p = placed(read("ports: {wan: {device: \"0000:17:00.0\", queues: 9}}"), t);
  EXPECT_EQ(p.workers.size(), 9u);
  for (const WorkerPlacement& worker : p.workers) EXPECT_EQ(worker.queues.size(), 1u);
}

// 64 cores of which a node has 8: all of them carry the port, and a node's own no more than its
// share.
TEST(Capacity, CountsAllNodesOfAPackage) {
  const auto box = parse_box(
      "nodes: 4\ncores: 32\nghz: 2\nmemory: {channels: 8, mt_s: 6400}\n"
      "nics: {n: {socket: 0, gbit_s: 400}}\n",
      "b.yaml");
  const auto whole = parse_box(
      "cores: 32\nghz: 2\nmemory: {channels: 8, mt_s: 6400}\nnics: {n: {socket: 0, gbit_s: 400}}\n",
      "b.yaml");
  ASSERT_TRUE(box && whole);
  auto mpps = [](const Box& each) {
    const Topology topology = topology_of(each);
    const Config config = default_config(each);
    const auto setup = setup_of(each, config, topology, placed(config, topology));
    return capacity_of(each, setup).find(Experiment::kForwardLocal, Traffic::kIpv4, 0)->mpps;
  };
  EXPECT_GT(mpps(*box), 0.75 * mpps(*whole)) << "a packet of another node costs a little more";
  EXPECT_LT(mpps(*box), mpps(*whole));
}

}  // namespace
}  // namespace hecto::config
