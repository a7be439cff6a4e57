// Advice: of what binds, never of a default. And boxes beside each other.
#include <gtest/gtest.h>

#include "config/box/what_if.hpp"
#include "config/capacity/capacity.hpp"
#include "tests/beds/planned.hpp"

namespace hecto::config {
namespace {

std::string two_nics_on_one_socket(unsigned cores, double gbit_s) {
  return fmt::format(
      "sockets: 2\ncores: {}\nghz: 3\nmemory: {{channels: 8, mt_s: 4800}}\n"
      "slots: {{a: {{socket: 0, gen: 5, lanes: 16}}, b: {{socket: 0, gen: 5, lanes: 16}}, "
      "c: {{socket: 1, gen: 5, lanes: 16}}}}\n"
      "nics: {{n: {{slot: a, gbit_s: {}}}, m: {{slot: b, gbit_s: {}}}}}\n",
      cores, gbit_s, gbit_s);
}

TEST(Advice, MovesNoNicWhereItsSocketDoesNotBind) {
  const Planned idle = planned(parsed(two_nics_on_one_socket(32, 10)));
  EXPECT_EQ(idle.bound(k64), ResourceKind::kWire);
  EXPECT_FALSE(idle.advises("move ")) << idle.advised();
  const Planned busy = planned(parsed(two_nics_on_one_socket(4, 100)));
  EXPECT_EQ(busy.bound(k64), ResourceKind::kCores);
  EXPECT_TRUE(
      busy.advises("Socket 1 has 4 cores and no NIC, and socket 0 is what stops IPv4; move "
                   "m there, to slot c (PCIe 5.0 x16)."))
      << busy.advised();
}

TEST(Advice, MovesNoNicIntoASlotThatIsNotThere) {
  Box box = parsed(two_nics_on_one_socket(4, 100));
  box.slots.pop_back();
  EXPECT_FALSE(planned(box).advises("move m there"));
}

TEST(Advice, MovesNoNicBetweenNodesOfAPackage) {
  const Planned plan =
      planned(parsed("nodes: 2\ncores: 8\nghz: 2\nmemory: {channels: 8, mt_s: 4800}\n"
                     "nics: {n: {socket: 0, gbit_s: 100}, m: {socket: 0, gbit_s: 100}}\n"));
  EXPECT_EQ(plan.bound(k64), ResourceKind::kCores);
  EXPECT_FALSE(plan.advises("move ")) << plan.advised();
}

Topology with_nic(double link_gbit_s) {
  Topology t = plain_box(3);
  t.ghz = 2;
  Nic nic;
  nic.pci = "0000:17:00.0";
  nic.socket = 0;
  nic.pcie_gbit_s = link_gbit_s;
  t.nics = {nic};
  return t;
}

// Of a card that nothing is known of the wire is taken from the slot: no cores are missing for it.
TEST(Advice, CountsNoCoresForAWireThatIsAGuess) {
  Topology t = with_nic(126);
  EXPECT_FALSE(planned(box_of(t), t).advises("Cores stop")) << planned(box_of(t), t).advised();
  t.nics[0].gbit_s = 100;
  EXPECT_TRUE(planned(box_of(t), t).advises("Cores stop IPv4; add "));
}

TEST(Advice, MovesNoCardForAWireThatIsAGuess) {
  Topology t = with_nic(8);
  for (unsigned c = 3; c < 12; ++c) t.cores.push_back({c, {}, 0, true});
  EXPECT_FALSE(planned(box_of(t), t).advises("faster slot"));
  t.nics[0].gbit_s = 10;
  EXPECT_TRUE(planned(box_of(t), t).advises("Move it to a faster slot")) << "known: it binds";
}

TEST(Advice, IsSilentOfALinkThatDoesNotBind) {
  const Planned plan =
      planned(parsed("cores: 2\nghz: 1\nmemory: {channels: 8, mt_s: 4800}\n"
                     "slots: {s1: {socket: 0, gen: 3, lanes: 8}}\n"
                     "nics: {n: {slot: s1, gbit_s: 40}}\n"));
  EXPECT_EQ(plan.bound(k64), ResourceKind::kCores);
  EXPECT_FALSE(plan.advises("sits on")) << plan.advised();
}

TEST(Advice, AsksToMeasureAMemoryThatIsADefault) {
  const std::string rest = "ddio: false\nnics: {n: {socket: 0, gbit_s: 400}}\n";
  const Planned guessed = planned(parsed("cores: 64\nghz: 4\n" + rest));
  ASSERT_EQ(guessed.bound(k1518), ResourceKind::kMemory);
  EXPECT_TRUE(guessed.advises("whose bandwidth is not known")) << guessed.advised();
  EXPECT_FALSE(guessed.advises("fill more channels"));
  const Planned known =
      planned(parsed("cores: 64\nghz: 4\nmemory: {channels: 2, mt_s: 3200}\n" + rest));
  EXPECT_TRUE(known.advises("fill more channels"));
}

TEST(Advice, NamesCoresThatPollNothing) {
  const Box box = parsed(
      "cores: 16\nghz: 2\nmemory: {channels: 8, mt_s: 4800}\nnics: {n: {socket: 0, gbit_s: "
      "100}}\n");
  Config config = default_config(box);
  config.workers = {{0, {1, 2}}};
  const Topology topology = topology_of(box);
  const auto setup = setup_of(box, config, topology, placed(config, topology));
  std::string lines;
  for (const std::string& line : advice(box, setup, capacity_of(box, setup))) lines += line;
  EXPECT_NE(lines.find("13 of this box poll nothing: name them in `workers`"), std::string::npos)
      << lines;
}

TEST(Budget, CountsInAndOutTogether) {
  const std::string yaml =
      "cores: 32\nghz: 3\nmemory: {channels: 8, mt_s: 4800}\n"
      "nics: {a: {socket: 0, gbit_s: 50}, b: {socket: 0, gbit_s: 50}}\n";
  const Planned packets = planned(parsed(yaml + "budget: {mpps: 5}\n"));
  EXPECT_EQ(packets.bound(k64), ResourceKind::kBudget);
  EXPECT_NEAR(packets.local(k64).mpps, 2.5, 1e-9) << "each comes in and goes out";
  EXPECT_NEAR(packets.capacity.find(Experiment::kReceive, {}, k64)->mpps, 5, 1e-9);
  EXPECT_TRUE(packets.advises("The cloud's budget of packets stops IPv4 at 2.5 Mpps"));
  const Planned bits = planned(parsed(yaml + "budget: {gbit_s: 30, in_gbit_s: 20}\n"));
  EXPECT_NEAR(bits.local(k1518).mpps * 1518 * 8 / 1000, 15, 1e-9);
  EXPECT_NEAR(bits.capacity.find(Experiment::kReceive, {}, k1518)->mpps * 1518 * 8 / 1000, 20,
              1e-9);
}

TEST(Budget, IsAskedForInACloudThatTellsNone) {
  Topology t = with_nic(126);
  t.nics[0].vendor = 0x1d0f;
  Box box = box_of(t);
  EXPECT_TRUE(planned(box, t).advises("--what-if budget.mpps=N"));
  box.budget.mpps = 4;
  EXPECT_FALSE(planned(box, t).advises("--what-if budget.mpps=N"));
}

TEST(Budget, RefusesWhatItIsNot) {
  const auto wrong = parse_box("cores: 4\nghz: 3\nbudget: {pps: 4}\n", "b.yaml");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error()[0].rfind("b.yaml:3: budget.pps: unknown key", 0), 0u) << wrong.error()[0];
}

std::string cpu(const std::string& model) {
  return "cpu: \"" + model +
         "\"\ncores: 2\nghz: 2\nmemory: {channels: 8, mt_s: 3200}\n"
         "nics: {n: {socket: 0, gbit_s: 100}}\n";
}

TEST(CpuRange, FollowsTheFamily) {
  const Planned reference = planned(parsed(cpu("Intel(R) Xeon(R) Gold 6430")));
  const Planned zen3 = planned(parsed(cpu("AMD EPYC 7763 64-Core Processor")));
  EXPECT_NEAR(zen3.local(k64).mpps, reference.local(k64).mpps / 1.3, 1e-6);
  EXPECT_NEAR(zen3.local(k64).mpps_low, reference.local(k64).mpps / 1.6, 1e-6);
  EXPECT_NEAR(zen3.local(k64).mpps_high, reference.local(k64).mpps, 1e-6);
  const std::string text = describe(zen3.box, zen3.setup, zen3.capacity, k64, Traffic::kIpv4);
  EXPECT_NE(text.find("The CPU is Zen 3, not the reference"), std::string::npos);
  EXPECT_NE(text.find("Mpps, low-high"), std::string::npos);
  const std::string same =
      describe(reference.box, reference.setup, reference.capacity, k64, Traffic::kIpv4);
  EXPECT_EQ(same.find("not the reference"), std::string::npos);
}

TEST(CpuRange, IsNoneWhereTheCyclesWereMeasured) {
  Box box = parsed(cpu("AMD EPYC 7763 64-Core Processor"));
  for (const ConstantInfo& row : constants_table()) box.constants.set(row.id, row.value, "a test");
  const Planned plan = planned(box);
  EXPECT_DOUBLE_EQ(plan.local(k64).mpps_low, plan.local(k64).mpps_high);
  const std::string text = describe(plan.box, plan.setup, plan.capacity, k64, Traffic::kIpv4);
  EXPECT_EQ(text.find("Mpps, low-high"), std::string::npos);
  EXPECT_EQ(text.find("not the reference"), std::string::npos);
}

TEST(WhatIf, ChangesTheBox) {
  const std::string yaml = two_nics_on_one_socket(4, 100);
  auto with = [&](const std::string& change) {
    Box box = parsed(yaml);
    const auto done = apply_what_if(change, box);
    EXPECT_TRUE(done) << done.error();
    return box;
  };
  EXPECT_EQ(with("cores=16").sockets[1].cores, 16u);
  EXPECT_EQ(with("ghz=2.5").sockets[0].ghz, 2.5);
  EXPECT_EQ(with("cpu=Zen 5").cpu, "Zen 5");
  EXPECT_EQ(with("memory_gbyte_s=100").sockets[0].memory_gbyte_s, 100);
  EXPECT_EQ(with("intersocket_gbyte_s=12").intersocket_gbyte_s, 12);
  EXPECT_FALSE(with("ddio=false").ddio);
  EXPECT_EQ(with("m.gbit_s=200").nics[1].gbit_s, 200);
  EXPECT_EQ(with("m.mpps=20").nics[1].mpps, 20);
  EXPECT_EQ(with("m.ports=2").nics[1].pci.size(), 2u);
  EXPECT_EQ(with("m.pcie=3x8").nics[1].link, "PCIe 3.0 x8");
  EXPECT_EQ(with("m.socket=1").nics[1].socket, 1u);
  EXPECT_EQ(with("budget.mpps=4").budget.mpps, 4);
  EXPECT_EQ(with("lookup_ipv4_cycles=50").constants[Constant::kLookupIpv4Cycles], 50);
  EXPECT_GT(planned(with("cores=16")).local(k64).mpps, 2 * planned(parsed(yaml)).local(k64).mpps);
}

TEST(WhatIf, SpreadsWhatASocketHasOverItsNodes) {
  const std::string yaml =
      "sockets: 2\nnodes: 4\ncores: 32\nghz: 2.5\nmemory: {channels: 8, mt_s: 3200}\n"
      "nics: {n: {socket: 5, gbit_s: 100}}\n";
  auto cores_with = [&](const std::string& change) {
    Box box = parsed(yaml);
    const auto done = apply_what_if(change, box);
    EXPECT_TRUE(done) << done.error();
    std::vector<unsigned> out;
    for (const BoxSocket& node : box.sockets) out.push_back(node.cores);
    return out;
  };
  EXPECT_EQ(cores_with("cores=16"), std::vector<unsigned>(8, 4));
  EXPECT_EQ(cores_with("cores=18"), (std::vector<unsigned>{5, 5, 4, 4, 5, 5, 4, 4}));
  EXPECT_EQ(cores_with("cores=2"), std::vector<unsigned>(8, 1)) << "no node without";
  Box box = parsed(yaml);
  ASSERT_TRUE(apply_what_if("memory_gbyte_s=200", box));
  EXPECT_EQ(box.sockets[7].memory_gbyte_s, 50);
}

TEST(WhatIf, RefusesWhatCannotBe) {
  const Box before = parsed(two_nics_on_one_socket(4, 100));
  const struct {
    const char *change, *why;
  } rows[] = {
      {"cores", "--what-if cores: write KEY=VALUE, as cores=16"},
      {"cores=", "--what-if cores=: write KEY=VALUE, as cores=16"},
      {"cores=0", "--what-if cores=0: 0 cannot be; use 1 to 512"},
      {"cores=2.5", "--what-if cores=2.5: 2.5 cannot be; use 1 to 512"},
      {"cores=nan", "--what-if cores=nan: nan cannot be; use 1 to 512"},
      {"ghz=fast", "--what-if ghz=fast: fast cannot be; use 0.1 to 10"},
      {"wan.gbit_s=10", "--what-if wan.gbit_s=10: no NIC is called wan; use n, m"},
      {"m.pcie=4", "--what-if m.pcie=4: 4 is no link; use generation and lanes, 4x16"},
      {"m.socket=7", "--what-if m.socket=7: 7 is no socket of this box"},
      {"ddio=maybe", "--what-if ddio=maybe: maybe is neither true nor false"},
  };
  for (const auto& row : rows) {
    Box box = before;
    const auto done = apply_what_if(row.change, box);
    ASSERT_FALSE(done) << row.change;
    EXPECT_EQ(done.error(), row.why);
    EXPECT_EQ(box.sockets[0].cores, before.sockets[0].cores);
  }
  Box box = before;
  EXPECT_NE(apply_what_if("colour=red", box).error().find("no such key; use cores, "),
            std::string::npos);
}

TEST(Comparison, PutsTwoBoxesBesideEachOther) {
  const Planned small = planned(parsed(two_nics_on_one_socket(4, 100)));
  const Planned large = planned(parsed(two_nics_on_one_socket(8, 100)));
  const std::string text =
      describe_both({"small.yaml", &small.capacity}, {"large.yaml", &large.capacity});
  EXPECT_NE(text.find("small.yaml"), std::string::npos);
  EXPECT_NE(text.find("IPv4 forwarding 64 B"), std::string::npos);
  EXPECT_NE(text.find("cores of socket 0"), std::string::npos);
  EXPECT_NE(text.find("2.33\n"), std::string::npos) << text;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    EXPECT_LE(text.find('\n', at) - at, 100u);
}

}  // namespace
}  // namespace hecto::config
