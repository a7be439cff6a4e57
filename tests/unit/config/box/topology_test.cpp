#include "config/box/topology.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hecto::config {
namespace {

namespace fs = std::filesystem;

Topology box(const std::string& name) {
  auto topology = read_topology(HECTO_SOURCE_ROOT "/tests/unit/config/box/data/" + name);
  EXPECT_TRUE(topology) << topology.error();
  return topology ? *topology : Topology{};
}

TEST(Topology, ReadsTwoSocketsWithSmt) {
  Topology t = box("two_socket_smt.xml");
  EXPECT_EQ(t.sockets, (std::vector{0, 1}));
  ASSERT_EQ(t.cores.size(), 16u);
  EXPECT_EQ(t.cores[3].cpu, 3u);
  EXPECT_EQ(t.cores[3].siblings, std::vector<unsigned>{19});
  EXPECT_EQ(t.cores[3].socket, 0);
  EXPECT_EQ(t.cores[8].socket, 1);
  EXPECT_TRUE(t.cores[8].allowed);
  EXPECT_EQ(t.l3_bytes, 22u << 20);
  EXPECT_EQ(t.memory_bytes, (std::vector<uint64_t>{64ull << 30, 64ull << 30}));
  EXPECT_EQ(t.hugepage_bytes, (std::vector<uint64_t>{2ull << 30, 1ull << 30}));
  EXPECT_EQ(t.hugepages_2m, (std::vector<uint64_t>{1024, 512}));
}

TEST(Topology, ReadsWhereNicsSit) {
  Topology t = box("two_socket_smt.xml");
  ASSERT_EQ(t.nics.size(), 4u);
  EXPECT_EQ(t.nics[0].pci, "0000:17:00.0");
  EXPECT_EQ(t.nics[0].interface, "ens1f0");
  EXPECT_EQ(t.nics[0].name, "Mellanox Technologies MT28908 Family [ConnectX-6]");
  EXPECT_EQ(t.nics[0].socket, 0);
  ASSERT_TRUE(t.nics[0].pcie_gbit_s);
  EXPECT_NEAR(*t.nics[0].pcie_gbit_s, 252, 1);
  EXPECT_EQ(t.nics[2].pci, "0000:98:00.0");
  EXPECT_EQ(t.nics[2].socket, 1);
  EXPECT_EQ(t.nics[3].pci, "0000:b1:00.0");
  EXPECT_EQ(t.nics[3].socket, -1) << "hangs off the machine, near to both sockets";
}

TEST(Topology, ReadsNumbersThatAlternateBetweenSockets) {
  Topology t = box("interleaved_numbers.xml");
  ASSERT_EQ(t.cores.size(), 12u);
  for (const Core& core : t.cores) EXPECT_EQ(core.socket, static_cast<int>(core.cpu % 2));
  for (const Nic& nic : t.nics) EXPECT_EQ(nic.socket, 1);
}

TEST(Topology, ReadsAVirtualMachineWithoutNuma) {
  Topology t = box("virtual_machine.xml");
  EXPECT_EQ(t.sockets, std::vector{0});
  EXPECT_EQ(t.cores.size(), 4u);
  ASSERT_EQ(t.nics.size(), 2u);
  EXPECT_EQ(t.nics[0].socket, 0) << "there is only one socket to be near to";
  EXPECT_FALSE(t.nics[0].pcie_gbit_s);
}

TEST(Topology, ReadsThisMachine) {
  auto t = read_topology();
  ASSERT_TRUE(t) << t.error();
  EXPECT_EQ(t->source, "this machine");
  ASSERT_FALSE(t->cores.empty());
  ASSERT_FALSE(t->sockets.empty());
  EXPECT_EQ(t->hugepage_bytes.size(), t->sockets.size());
  EXPECT_EQ(t->memory_bytes.size(), t->sockets.size());
  bool any_allowed = false;
  for (const Core& core : t->cores) any_allowed |= core.allowed;
  EXPECT_TRUE(any_allowed);
}

TEST(Topology, RefusesWhatIsNoExport) {
  auto missing = read_topology("/nonexistent.xml");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().find("/nonexistent.xml: "), 0u);
  EXPECT_FALSE(read_topology(HECTO_SOURCE_ROOT "/config/examples/lab.yaml"));
}

class Hugepages : public testing::Test {
 protected:
  Hugepages() : sys_(fs::temp_directory_path() / ("hecto_sys_" + std::to_string(getpid()))) {}
  ~Hugepages() override { fs::remove_all(sys_); }

  void pages(const std::string& folder, unsigned kilobytes, unsigned reserved, unsigned free) {
    fs::path path = sys_ / folder / ("hugepages-" + std::to_string(kilobytes) + "kB");
    fs::create_directories(path);
    std::ofstream(path / "nr_hugepages") << reserved << "\n";
    std::ofstream(path / "free_hugepages") << free << "\n";
  }

  fs::path sys_;
};

TEST_F(Hugepages, AreReadPerNode) {
  pages("devices/system/node/node0/hugepages", 2048, 100, 40);
  pages("devices/system/node/node1/hugepages", 2048, 7, 7);
  pages("devices/system/node/node1/hugepages", 1048576, 2, 1);
  Topology t;
  t.sockets = {0, 1};
  read_hugepages(t, sys_.string());
  EXPECT_EQ(t.hugepage_bytes, (std::vector<uint64_t>{80ull << 20, (14ull << 20) + (1ull << 30)}));
  EXPECT_EQ(t.hugepages_2m, (std::vector<uint64_t>{100, 7}));
}

TEST_F(Hugepages, AreReadOfTheMachineWithoutNuma) {
  pages("kernel/mm/hugepages", 2048, 100, 40);
  Topology t;
  t.sockets = {0};
  read_hugepages(t, sys_.string());
  EXPECT_EQ(t.hugepage_bytes, std::vector<uint64_t>{80ull << 20});
}

TEST_F(Hugepages, AreNoneWhereTheKernelHasNone) {
  Topology t;
  t.sockets = {0};
  read_hugepages(t, sys_.string());
  EXPECT_EQ(t.hugepage_bytes, std::vector<uint64_t>{0});
}

}  // namespace
}  // namespace hecto::config
