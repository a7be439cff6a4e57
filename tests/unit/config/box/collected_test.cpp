// What one machine collects and another plans from.
#include "config/box/collected.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "config/box/box.hpp"
#include "config/box/topology_xml.hpp"

namespace hecto::config {
namespace {

Collected two_sockets() {
  std::ifstream file(HECTO_SOURCE_ROOT "/tests/unit/config/box/data/two_socket_smt.xml");
  Collected out;
  out.machine = "host \"7\"";
  out.model = "Intel(R) Xeon(R) Gold 6430";
  out.ghz = 2.1;
  out.most_ghz = 3.4;
  out.hwloc = {std::istreambuf_iterator<char>(file), {}};
  NicFacts& nic = out.nics["0000:17:00.0"];
  nic.gt_s = 16;
  nic.lanes = 8;
  nic.most_gt_s = 16;
  nic.most_lanes = 16;
  nic.gbit_s = 100;
  nic.interface = "ens1f0";
  nic.driver = "mlx5_core";
  for (const char* name : {"P1-DIMMA1", "P1-DIMMA2", "P1-DIMMB1", "P2-DIMMA1"})
    out.modules.push_back({name, 32, 4800});
  return out;
}

TEST(Collected, IsReadAsItWasWritten) {
  const std::string yaml = to_yaml(two_sockets());
  EXPECT_TRUE(looks_collected(yaml));
  const auto t = parse_collected(yaml, "c.yaml");
  ASSERT_TRUE(t) << t.error()[0];
  EXPECT_EQ(t->cpu_model, "Intel(R) Xeon(R) Gold 6430");
  EXPECT_EQ(t->ghz, 2.1);
  EXPECT_EQ(t->cores.size(), 16u);
  EXPECT_EQ(t->nics[0].pcie_lanes, 8u);
  EXPECT_EQ(t->nics[0].gbit_s, 100);
  EXPECT_FALSE(t->nics[2].gbit_s) << "nothing was collected of it";
  // Three channels of 38.4 GB/s on two sockets.
  ASSERT_EQ(t->memory_gbyte_s.size(), 2u);
  EXPECT_NEAR(t->memory_gbyte_s[0], 3 * 38.4 / 2, 1e-9);
  const Box box = box_of(*t);
  EXPECT_EQ(box.nics[0].gbit_s, 100);
  EXPECT_EQ(box.nics[0].link, "PCIe 4.0 x8");
  EXPECT_EQ(box.sockets[0].memory_gbyte_s, t->memory_gbyte_s[0]);
}

TEST(Collected, HoldsThisMachinesExport) {
  const auto xml = export_topology();
  ASSERT_TRUE(xml) << xml.error();
  Collected here;
  here.hwloc = *xml;
  const auto t = parse_collected(to_yaml(here), "c.yaml");
  ASSERT_TRUE(t) << t.error()[0];
  EXPECT_FALSE(t->cores.empty());
}

TEST(Collected, RefusesEachBadFileWithItsRemedy) {
  const std::string yaml = to_yaml(two_sockets());
  auto refusal = [](const std::string& text) {
    const auto read = parse_collected(text, "c.yaml");
    EXPECT_FALSE(read);
    return read ? "" : read.error()[0];
  };
  const std::string cut =
      "c.yaml: is cut: its hwloc part does not end; copy it again, or write it again with `hecto "
      "plan --collect`";
  EXPECT_EQ(refusal(yaml.substr(0, yaml.size() - 100)), cut);
  EXPECT_EQ(refusal(yaml.substr(0, yaml.find("hwloc: |"))), cut);
  std::string newer = yaml;
  newer.replace(newer.find("collected: 1"), 12, "collected: 9");
  EXPECT_NE(refusal(newer).find("9 is a newer format; 1 can be read here"), std::string::npos);
  EXPECT_NE(refusal("collected: 1\nspeed: 3\n").find("c.yaml:2: speed: unknown key"),
            std::string::npos);
  EXPECT_NE(refusal("").find("c.yaml"), std::string::npos);
}

// Cut anywhere: read or refused, with the file's name.
TEST(Collected, SurvivesACutAnywhere) {
  const std::string yaml = to_yaml(two_sockets());
  for (size_t length = 0; length < yaml.size(); length += 61) {
    const auto read = parse_collected(yaml.substr(0, length), "c.yaml");
    EXPECT_TRUE(read || read.error()[0].rfind("c.yaml", 0) == 0) << length;
  }
}

// What it wrote of unknown speeds, 0, it refused to read.
TEST(Collected, WritesOnlyNumbersThatAreRead) {
  Collected c = two_sockets();
  c.modules = {{"DIMM 0", 1, 0}, {"DIMM 1", 1, 2e6}};
  c.nics["0000:17:00.0"].queues = 0;
  const auto read = read_collected(to_yaml(c), "c.yaml");
  ASSERT_TRUE(read) << read.error()[0];
  ASSERT_EQ(read->modules.size(), 2u);
  EXPECT_EQ(read->modules[0].name, "DIMM 0");
  EXPECT_EQ(read->modules[0].gbyte, 1);
  EXPECT_EQ(read->modules[0].mt_s, 0);
  EXPECT_EQ(read->modules[1].mt_s, 0);
  EXPECT_FALSE(read->nics.at("0000:17:00.0").queues);
  EXPECT_EQ(read->nics.at("0000:17:00.0").gbit_s, 100);
}

TEST(Collected, TellsChannelsByTheLetterBeforeTheModulesNumber) {
  for (const char* name : {"DIMM_A", "DIMM A", "CPU0_DIMMA"}) {
    const std::string channel = name;
    EXPECT_NEAR(*bandwidth_of({{channel + "1", 32, 3200}, {channel + "2", 32, 3200}}), 25.6, 1e-9);
  }
  EXPECT_NEAR(*bandwidth_of({{"DIMM_A1", 32, 3200}, {"DIMM_B1", 32, 3200}}), 51.2, 1e-9);
  EXPECT_FALSE(bandwidth_of({}));
  EXPECT_FALSE(bandwidth_of({{"DIMM_A1", 32, 0}}));
  EXPECT_FALSE(bandwidth_of({{"DIMM_A1", 32, 3200}, {"DIMM_B1", 32, 0}}));
}

TEST(Collected, TellsNoBandwidthWhereNamesTellNoChannels) {
  auto none = [](const std::string& first, const std::string& second) {
    EXPECT_FALSE(bandwidth_of({{first, 32, 3200}, {second, 32, 3200}})) << first << second;
  };
  none("A1", "A2");                        // Dell: two channels of the first socket
  none("PROC 1 DIMM 1", "PROC 1 DIMM 2");  // HPE: may be one channel
  none("DIMM_A1", "DIMM_A4");
  none("DIMM_A1", "DIMM_A1");  // of two sockets
  none("DIMM 0", "DIMM 1");
  none("", "1");
  Collected c = two_sockets();
  c.modules = {{"A1", 32, 4800}, {"A2", 32, 4800}};
  const auto t = parse_collected(to_yaml(c), "c.yaml");
  ASSERT_TRUE(t) << t.error()[0];
  EXPECT_TRUE(t->memory_gbyte_s.empty());
  EXPECT_NE(box_of(*t).notes[0].find("does not tell its memory's bandwidth"), std::string::npos);
}

}  // namespace
}  // namespace hecto::config
