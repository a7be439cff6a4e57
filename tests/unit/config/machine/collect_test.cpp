// What a machine tells of itself: its files lie in a folder here.
#include "config/machine/collect.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/beds/machine_tree.hpp"

namespace hecto::config::test {
namespace {

class Told : public Ethtool {
 public:
  InterfaceFacts facts(const std::string&) const override {
    InterfaceFacts out;
    out.firmware = "4.20 0x8001";
    out.receive_queues = 64;
    return out;
  }
};

class Collect : public MachineTree, public MachineFiles, public ::testing::Test {
 protected:
  Collect() : MachineFiles(root()) {}
  Collection out;
};

TEST_F(Collect, ReadsLinksAndWiresAsNegotiated) {
  const std::string device = "/sys/bus/pci/devices/0000:17:00.0";
  file(device + "/current_link_speed", "8.0 GT/s PCIe");
  file(device + "/current_link_width", "8");
  file(device + "/max_link_speed", "16.0 GT/s PCIe");
  file(device + "/max_link_width", "16");
  file("/sys/class/net/eth2/speed", "25000");
  Topology t;
  t.nics.resize(3);
  t.nics[0].pci = "0000:17:00.0";
  t.nics[0].interface = "eth2";
  t.nics[1].pci = "0000:18:00.0";
  t.nics[1].interface = "eth3";
  t.nics[2].pci = "0000:19:00.0";
  collect_nics(*this, Told(), t, out);
  const NicFacts& nic = out.facts.nics["0000:17:00.0"];
  EXPECT_EQ(nic.gt_s, 8);
  EXPECT_EQ(nic.lanes, 8);
  EXPECT_EQ(nic.most_lanes, 16);
  EXPECT_EQ(nic.gbit_s, 25);
  EXPECT_EQ(nic.firmware, "4.20 0x8001");
  EXPECT_EQ(nic.queues, 64);
  ASSERT_EQ(out.notes.size(), 2u);
  EXPECT_EQ(out.notes[0], "eth3 tells no rate: it is down, or virtual.");
  EXPECT_EQ(out.notes[1].rfind("0000:19:00.0 is not the kernel's (no driver)", 0), 0u);
}

// An SMBIOS structure of type 17 with its locator; from 32 GiB - 1 MiB on the size has another field.
std::string module(unsigned size, unsigned speed, unsigned configured, const std::string& locator) {
  std::string out(0x22, '\0');
  auto word = [&](size_t at, unsigned value) {
    out[at] = static_cast<char>(value & 0xff);
    out[at + 1] = static_cast<char>(value >> 8);
  };
  out[0] = 17;
  out[1] = 0x22;
  word(0x0c, std::min(size, 0x7fffu));
  word(0x1c, size);
  out[0x10] = 1;
  word(0x15, speed);
  word(0x20, configured);
  return out + locator + std::string(2, '\0');
}

TEST_F(Collect, ReadsFilledMemoryModules) {
  const std::string other = std::string("\x01\x04\x00\x00", 4) + std::string(2, '\0');
  file("/sys/firmware/dmi/tables/DMI",
       other + module(32768, 5600, 4800, "DIMM_A1") + module(0, 0, 0, "DIMM_A2") +
           module(16384, 3200, 0, "DIMM_B1") + std::string("\x7f\x04\x00\x00", 4));
  collect_modules(*this, out);
  ASSERT_EQ(out.facts.modules.size(), 2u);
  EXPECT_EQ(out.facts.modules[0].name, "DIMM_A1");
  EXPECT_EQ(out.facts.modules[0].gbyte, 32);
  EXPECT_EQ(out.facts.modules[0].mt_s, 4800) << "as it runs";
  EXPECT_EQ(out.facts.modules[1].mt_s, 3200);
  EXPECT_TRUE(out.notes.empty());
}

TEST_F(Collect, TakesNoSpeedFromAMachineThatTellsNone) {
  file("/sys/firmware/dmi/tables/DMI", module(1024, 0, 0, "DIMM 0") +
                                           module(1024, 0xffff, 0xffff, "DIMM 1") +
                                           module(1024, 3200, 0xffff, "DIMM 2"));
  collect_modules(*this, out);
  ASSERT_EQ(out.facts.modules.size(), 3u);
  EXPECT_EQ(out.facts.modules[0].mt_s, 0);
  EXPECT_EQ(out.facts.modules[1].mt_s, 0);
  EXPECT_EQ(out.facts.modules[2].mt_s, 3200);
  EXPECT_EQ(to_yaml(out.facts).find("mt_s: 0"), std::string::npos);
}

TEST_F(Collect, SurvivesATableThatIsCutAnywhere) {
  const std::string table = module(32768, 5600, 4800, "DIMM_A1") + module(1, 2, 3, "B");
  for (size_t length = 0; length <= table.size(); ++length) {
    file("/sys/firmware/dmi/tables/DMI", table.substr(0, length));
    Collection each;
    collect_modules(*this, each);
    EXPECT_LE(each.facts.modules.size(), 2u);
  }
}

TEST_F(Collect, SaysWhatItCouldNotRead) {
  collect_modules(*this, out);
  ASSERT_EQ(out.notes.size(), 1u);
  EXPECT_NE(out.notes[0].find("/sys/firmware/dmi/tables/DMI: is not there"), std::string::npos);
}

TEST_F(Collect, ReadsTheClock) {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cpufreq";
  file(folder + "/base_frequency", "2100000");
  file(folder + "/cpuinfo_max_freq", "3400000");
  file(folder + "/scaling_governor", "performance");
  Topology t;
  t.cpu_model = "a CPU";
  t.ghz = 9;
  collect_clock(*this, t, out);
  EXPECT_EQ(out.facts.ghz, 2.1);
  EXPECT_EQ(out.facts.most_ghz, 3.4);
  EXPECT_EQ(out.facts.governor, "performance");
  EXPECT_EQ(out.facts.model, "a CPU");
}

// The whole of it here, and back.
TEST(CollectHere, MakesAFileThatIsRead) {
  const MachineFiles files;
  const auto here = collect(files, Told());
  ASSERT_TRUE(here) << here.error();
  const auto read = parse_collected(to_yaml(here->facts), "c.yaml");
  ASSERT_TRUE(read) << read.error()[0];
  EXPECT_FALSE(read->cores.empty());
}

}  // namespace
}  // namespace hecto::config::test
