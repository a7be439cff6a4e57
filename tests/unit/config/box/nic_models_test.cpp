// NICs by their PCI ids, and boxes that use them.
#include "config/box/nic_models.hpp"

#include <gtest/gtest.h>

#include "config/box/box.hpp"
#include "config/box/cpu_families.hpp"
#include "tests/beds/boxes.hpp"

namespace hecto::config {
namespace {

TEST(NicModels, AreFoundByTheirIds) {
  const NicModel* xl710 = find_nic_model(0x8086, 0x1583);
  ASSERT_NE(xl710, nullptr);
  EXPECT_EQ(xl710->ports, 2u);
  EXPECT_EQ(xl710->gbit_s, 40);
  EXPECT_EQ(xl710->mpps, 37);
  EXPECT_EQ(find_nic_model(0x8086, 0x1521)->gbit_s, 1);
  EXPECT_EQ(find_nic_model(0x1d0f, 0xec20)->gbit_s, 0) << "virtual: the id tells no wire";
  EXPECT_EQ(find_nic_model(0x8086, 0xffff), nullptr);
  EXPECT_EQ(find_nic_model(0, 0), nullptr);
}

TEST(NicModels, HaveIdsThatAreTwoHexadecimalNumbers) {
  EXPECT_EQ(parse_pci_id("8086:1592")->device, 0x1592);
  for (const char* wrong :
       {"", ":", "8086", "8086:", ":1592", "8086:15921", "intel:1592", "8086:1592 "})
    EXPECT_FALSE(parse_pci_id(wrong)) << wrong;
}

Topology with_nic(uint16_t vendor, uint16_t device) {
  Topology t = plain_box(4);
  Nic nic;
  nic.pci = "0000:17:00.0";
  nic.socket = 0;
  nic.vendor = vendor;
  nic.device = device;
  nic.pcie_gbit_s = 63;
  t.nics = {nic};
  return t;
}

TEST(BoxOfATopology, TakesWiresFromIds) {
  const Box gigabit = box_of(with_nic(0x8086, 0x1521));
  EXPECT_EQ(gigabit.nics[0].gbit_s, 1) << "not what the slot could carry";
  EXPECT_TRUE(gigabit.nics[0].rate_known);
  const Box fast = box_of(with_nic(0x8086, 0x1583));
  EXPECT_EQ(fast.nics[0].gbit_s, 40);
  EXPECT_EQ(fast.nics[0].mpps, 37);
  EXPECT_EQ(fast.nics[0].rx_descriptor_bytes, 32);
  const Box several = box_of(with_nic(0x15b3, 0x1015));
  EXPECT_EQ(several.nics[0].gbit_s, 25);
  EXPECT_FALSE(several.nics[0].rate_known);
  EXPECT_EQ(
      several.notes.back(),
      "0000:17:00 is a ConnectX-4 Lx, which comes with several rates; taken as 25 Gb/s a port.");
}

TEST(BoxOfATopology, BelievesTheKernelBeforeTheId) {
  Topology t = with_nic(0x8086, 0x1572);
  t.nics[0].gbit_s = 1;  // as negotiated
  EXPECT_EQ(box_of(t).nics[0].gbit_s, 1);
}

TEST(BoxOfATopology, BelievesTheIdBeforeTheName) {
  Topology t = with_nic(0x14e4, 0x16d7);
  t.nics[0].name = "Broadcom Inc. BCM57414 NetXtreme-E 10Gb/25Gb RDMA Ethernet Controller";
  const Box several = box_of(t);
  EXPECT_EQ(several.nics[0].gbit_s, 25);
  EXPECT_FALSE(several.nics[0].rate_known);
  t = with_nic(0x8086, 0x1583);
  t.nics[0].name = "a 10GbE NIC";
  EXPECT_EQ(box_of(t).nics[0].gbit_s, 40);
  EXPECT_TRUE(box_of(t).nics[0].rate_known);
}

TEST(BoxOfATopology, TakesFromANameOnlyTheOneRateThatItSays) {
  auto nic_of = [](const std::string& name) {
    Topology t = with_nic(0x1234, 0x5678);
    t.nics[0].name = name;
    return box_of(t).nics[0];
  };
  EXPECT_EQ(nic_of("a 2.5GbE NIC").gbit_s, 2.5);
  EXPECT_EQ(nic_of("25Gb, dual 25Gb").gbit_s, 25);
  EXPECT_TRUE(nic_of("25Gb, dual 25Gb").rate_known);
  for (const char* name : {"10Gb/25Gb/40Gb/50Gb/100Gb/200Gb", "10/25GbE", "Gb", ".Gb", "0Gb"})
    EXPECT_FALSE(nic_of(name).rate_known) << name;
}

TEST(BoxOfATopology, KnowsThatACardPassesLessThanItsWires) {
  Topology t = with_nic(0x8086, 0x1592);
  EXPECT_EQ(box_of(t).notes.back().find("passes"), std::string::npos) << "one port";
  t.nics.push_back(t.nics[0]);
  t.nics[1].pci = "0000:17:00.1";
  const Box two = box_of(t);
  EXPECT_EQ(two.nics[0].most_gbit_s, 100);
  EXPECT_EQ(two.notes.back(),
            "0000:17:00 has 2 ports of 100 Gb/s, and its card passes 100 in all.");
}

TEST(BoxOfATopology, KnowsACloudByItsNic) {
  EXPECT_EQ(box_of(with_nic(0x1d0f, 0xec20)).cloud, "0000:17:00.0");
  EXPECT_EQ(box_of(with_nic(0x8086, 0x1572)).cloud, "");
}

TEST(DefaultConfig, LeavesOutManagementAndWhatIsNoEthernet) {
  const Box made = box_of(box("nodes_of_packages.xml"));
  const Config config = default_config(made);
  ASSERT_EQ(config.ports.size(), 1u);
  EXPECT_EQ(config.ports[0].device, "0000:41:00.0");
  EXPECT_EQ(left_out(made), "eno1 (1 Gb/s, for management), ib0 (no Ethernet)");
  const Box alone = box_of(with_nic(0x8086, 0x1521));
  EXPECT_EQ(default_config(alone).ports.size(), 1u) << "nothing faster beside it";
  EXPECT_EQ(left_out(alone), "");
}

constexpr std::string_view kOneSlot =
    "cores: 8\nghz: 3\nslots: {a: {socket: 0, gen: 4, lanes: 16}}\n";

tl::expected<Box, Problems> parsed_with(const std::string& more) {
  return parse_box(std::string(kOneSlot) + more, "b.yaml");
}

TEST(BoxFile, TakesFromAnIdWhatItDoesNotSay) {
  const auto box = parsed_with("nics: {n: {slot: a, id: \"8086:1583\"}}");
  ASSERT_TRUE(box) << box.error()[0];
  EXPECT_EQ(box->nics[0].pci.size(), 2u);
  EXPECT_EQ(box->nics[0].gbit_s, 40);
  EXPECT_EQ(box->nics[0].mpps, 37);
  EXPECT_EQ(box->nics[0].link, "PCIe 3.0 x8") << "the card's, less than the slot's";
  const auto said = parsed_with("nics: {n: {slot: a, id: \"8086:1583\", ports: 1, mpps: 20}}");
  ASSERT_TRUE(said);
  EXPECT_EQ(said->nics[0].pci.size(), 1u);
  EXPECT_EQ(said->nics[0].mpps, 20);
}

TEST(BoxFile, RefusesIdsThatAreNone) {
  const auto wrong = parsed_with("nics: {n: {slot: a, id: e810, gbit_s: 100}}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error()[0],
            "b.yaml:4: nics.n.id: e810 are no PCI ids; use vendor and device as `lspci -n` has "
            "them, \"8086:1592\"");
  const auto unknown = parsed_with("nics: {n: {slot: a, id: \"1234:5678\", gbit_s: 100}}");
  ASSERT_TRUE(unknown) << unknown.error()[0];
  EXPECT_EQ(unknown->notes[0],
            "n: nothing is known here of a NIC 1234:5678; its ports, gbit_s and mpps count.");
}

TEST(BoxFile, HasSeveralNodesInASocket) {
  const auto box = parse_box(
      "sockets: 2\nnodes: 4\ncores: 32\nl3_cores: 4\nghz: 2.5\n"
      "memory: {channels: 8, mt_s: 3200}\nnics: {n: {socket: 5, gbit_s: 100}}\n",
      "b.yaml");
  ASSERT_TRUE(box) << box.error()[0];
  ASSERT_EQ(box->sockets.size(), 8u);
  EXPECT_EQ(box->sockets[3].package, 0);
  EXPECT_EQ(box->sockets[4].package, 1);
  EXPECT_EQ(box->sockets[0].cores, 8u);
  EXPECT_NEAR(*box->sockets[0].memory_gbyte_s, 204.8 / 4, 1e-9);
  const Topology t = topology_of(*box);
  EXPECT_EQ(package_of(t, 7), 1);
  EXPECT_EQ(t.cores[4].l3, 1);
  const auto uneven = parse_box("nodes: 4\ncores: 10\nghz: 2\n", "b.yaml");
  ASSERT_FALSE(uneven);
  EXPECT_EQ(uneven.error()[0], "b.yaml:1: nodes: 4 does not divide 10 cores; use one that does");
}

TEST(CpuFamily, IsFoundByTheModelsName) {
  const struct {
    const char *model, *family;
  } rows[] = {
      {"AMD EPYC 7763 64-Core Processor", "Zen 3"},
      {"AMD EPYC 9654 96-Core Processor", "Zen 4"},
      {"AMD EPYC 9555P 64-Core Processor", "Zen 5"},
      {"AMD EPYC 7551 32-Core Processor", "Zen 1"},
      {"AMD EPYC-Rome Processor", "Zen 2"},
      {"Intel(R) Xeon(R) Gold 6430", "Sapphire Rapids"},
      {"Intel(R) Xeon(R) Platinum 8480+", "Sapphire Rapids"},
      {"Intel(R) Xeon(R) Platinum 8592+", "Emerald Rapids"},
      {"Intel(R) Xeon(R) 6780P", "Granite Rapids"},
      {"Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz", "Ice Lake"},
      {"Intel(R) Xeon(R) Gold 6248R CPU @ 3.00GHz", "Cascade Lake"},
      {"Intel(R) Xeon(R) Platinum 8180 CPU @ 2.50GHz", "Skylake"},
      {"Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz", "Broadwell"},
      {"Intel(R) Xeon(R) CPU E5-2699 v3 @ 2.30GHz", "Haswell"},
      {"Intel(R) Xeon(R) CPU E5-2650 v2 @ 2.60GHz", "Ivy Bridge"},
      {"Intel(R) Xeon(R) CPU E5-2680 0 @ 2.70GHz", "Sandy Bridge"},
      {"Intel(R) Xeon(R) CPU E5-2687W 0 @ 3.10GHz", "Sandy Bridge"},
      {"Intel(R) Xeon(R) CPU E5-2687W v4 @ 3.00GHz", "Broadwell"},
      {"Intel(R) Xeon(R) CPU E5-2697A v4 @ 2.60GHz", "Broadwell"},
      {"Intel(R) Xeon(R) CPU E5-2687W v3 @ 3.10GHz", "Haswell"},
      {"Intel(R) Xeon(R) CPU E5-2687W v2 @ 3.40GHz", "Ivy Bridge"},
      {"Intel(R) Xeon(R) CPU E3-1240 v5 @ 3.50GHz", "Skylake"},
      {"Intel(R) Xeon(R) CPU E3-1505M v6 @ 3.00GHz", "Skylake"},
      {"Intel(R) Xeon(R) CPU X5550  @ 2.67GHz", "Nehalem"},
      {"Intel(R) Core(TM) i7 CPU         870  @ 2.93GHz", "Nehalem"},
      {"Intel(R) Atom(TM) CPU C3758 @ 2.20GHz", "Goldmont"},
      {"ARM part 0xd0c", "Neoverse N1"},
      {"Neoverse-V2", "Neoverse V2"},
      {"Intel(R) Xeon(R) Processor @ 2.60GHz (CPUID model 143)", "Sapphire Rapids"},
  };
  for (const auto& row : rows) EXPECT_EQ(cpu_family(row.model).name, row.family) << row.model;
  EXPECT_FALSE(cpu_family("").known);
  EXPECT_FALSE(cpu_family("VIA Nano").known);
  EXPECT_TRUE(cpu_family("Intel(R) Xeon(R) Gold 6430").reference);
}

}  // namespace
}  // namespace hecto::config
