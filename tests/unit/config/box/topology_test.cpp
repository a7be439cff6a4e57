#include "config/box/topology.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "tests/beds/boxes.hpp"

namespace hecto::config {
namespace {

namespace fs = std::filesystem;

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

TEST(Topology, TellsPackagesFromNodes) {
  const Topology t = box("nodes_of_packages.xml");
  EXPECT_EQ(t.sockets, (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(package_of(t, 0), package_of(t, 1));
  EXPECT_EQ(package_of(t, 2), package_of(t, 3));
  EXPECT_NE(package_of(t, 0), package_of(t, 2));
  std::set<int> caches;
  for (const Core& core : t.cores) caches.insert(core.l3);
  EXPECT_EQ(caches.size(), 8u);
  ASSERT_EQ(t.nics.size(), 3u);
  EXPECT_EQ(t.nics[0].socket, 0) << "near to a package: its lowest node";
  EXPECT_EQ(package_of(box("two_socket_smt.xml"), 1), 1);
}

TEST(Topology, ReadsIdsAndClassesOfNics) {
  const Topology t = box("nodes_of_packages.xml");
  EXPECT_EQ(t.nics[0].vendor, 0x8086);
  EXPECT_EQ(t.nics[0].device, 0x1592);
  EXPECT_TRUE(t.nics[0].ethernet);
  EXPECT_FALSE(t.nics[2].ethernet);
}

std::string export_text(const std::string& name) {
  std::ifstream file(HECTO_SOURCE_ROOT "/tests/unit/config/box/data/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As hwloc 3 writes it: another version, sets of bits for devices, one more number in pci_type,
// infos and localities behind the root.
std::string as_hwloc3(std::string text) {
  text = replaced(text, "version=\"2.0\"", "version=\"3.0\"");
  text = replaced(text, "hwloc2.dtd", "hwloc.dtd");
  text = replaced(text, "osdev_type=\"2\"", "osdev_type=\"16\"");
  text = replaced(text, "] 00\"", "] 00 00\"");
  return replaced(text, "</topology>",
                  "<info name=\"OSName\" value=\"Linux\"/>\n"
                  "<pci_locality domain=\"0\"/>\n</topology>");
}

TEST(Topology, ReadsAnExportOfHwloc3AsThatOfHwloc2) {
  const std::string text = export_text("two_socket_smt.xml"), newer = as_hwloc3(text);
  ASSERT_NE(newer.find("osdev_type=\"16\""), std::string::npos);
  const auto two = parse_topology(text, "b.xml"), three = parse_topology(newer, "b.xml");
  ASSERT_TRUE(two) << two.error();
  ASSERT_TRUE(three) << three.error();
  EXPECT_EQ(three->cores.size(), two->cores.size());
  EXPECT_EQ(three->sockets, two->sockets);
  ASSERT_EQ(three->nics.size(), two->nics.size());
  for (size_t i = 0; i < two->nics.size(); ++i) {
    EXPECT_EQ(three->nics[i].interface, two->nics[i].interface);
    EXPECT_EQ(three->nics[i].socket, two->nics[i].socket);
    EXPECT_EQ(three->nics[i].pcie_gbit_s, two->nics[i].pcie_gbit_s);
  }
}

TEST(Topology, RefusesEachBadExportWithItsRemedy) {
  const std::string text = export_text("two_socket_smt.xml");
  auto refusal = [](const std::string& xml) {
    const auto read = parse_topology(xml, "b.xml");
    EXPECT_FALSE(read);
    return read ? "" : read.error();
  };
  EXPECT_EQ(refusal(" \n"), "b.xml: is empty; write it again with `lstopo box.xml`");
  EXPECT_EQ(
      refusal(text.substr(0, 2000)),
      "b.xml: ends after 2000 bytes, within the export; copy it again, or write it again with "
      "`lstopo box.xml`");
  EXPECT_EQ(refusal(replaced(text, "version=\"2.0\"", "version=\"4.1\"")),
            "b.xml: is of hwloc 4.1, and 1 to 3 can be read here; write it with `lstopo "
            "--export-xml-flags 2 box.xml`");
  EXPECT_EQ(refusal("<html></html>"),
            "b.xml: not an hwloc XML export; write one with `lstopo box.xml`");
  EXPECT_EQ(refusal("<topology version=\"2.0\"></topology>"),
            "b.xml: hwloc finds something in it that cannot be; write it again with `lstopo "
            "box.xml`");
}

// However it is cut or changed: a topology or a line, never a crash.
TEST(Topology, SurvivesExportsThatAreCutAnywhere) {
  const std::string text = export_text("nodes_of_packages.xml");
  for (size_t length = 0; length < text.size(); length += 97) {
    const auto read = parse_topology(text.substr(0, length) + "</topology>", "b.xml");
    EXPECT_TRUE(read || read.error().find("b.xml: ") == 0) << length;
  }
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
