// Boxes: what a file says, what it must not say, and what a topology becomes.
#include "config/box/box.hpp"

#include <gtest/gtest.h>

#include "tests/beds/planned.hpp"

namespace hecto::config {
namespace {

// A box that is right; tests add what is wrong.
constexpr std::string_view kTwoSockets = R"(sockets: 2
cores: 8
ghz: 3
pcie_lanes: 32
intersocket: {gbyte_s: 48, links: 2}
slots:
  a: {socket: 0, gen: 4, lanes: 16}
  b: {socket: 1, gen: 3, lanes: 8}
)";

std::string problem(const std::string& more) {
  const auto read = parse_box(std::string(kTwoSockets) + more, "b.yaml");
  EXPECT_FALSE(read) << more;
  return read ? "" : read.error().front();
}

TEST(BoxFile, SaysPlacesAndLimits) {
  const Box box = parsed(std::string(kTwoSockets) +
                         "memory: {channels: 8, mt_s: 4800}\nddio: false\n"
                         "nics: {n: {slot: a, ports: 2, gbit_s: 100, mpps: 200}}\n"
                         "gpus: {g: {slot: b}}\nconstants: {nic_rx_cycles: 30}\n");
  ASSERT_EQ(box.sockets.size(), 2u);
  EXPECT_EQ(box.sockets[1].cores, 8u);
  EXPECT_DOUBLE_EQ(*box.sockets[0].memory_gbyte_s, 307.2);
  EXPECT_EQ(box.intersocket_gbyte_s, 96);
  EXPECT_EQ(box.slots[1].socket, 1u);
  EXPECT_EQ(box.slots[1].link, "PCIe 3.0 x8");
  EXPECT_EQ(box.nics[0].pci.size(), 2u);
  EXPECT_NEAR(box.nics[0].link_gbit_s, 252, 1);
  EXPECT_EQ(box.gpus[0].slot, 1u);
  EXPECT_FALSE(box.ddio);
  EXPECT_EQ(box.constants[Constant::kNicRxCycles], 30);
  EXPECT_TRUE(box.notes.empty());
}

TEST(BoxFile, PutsHubsBetweenSlotsAndSockets) {
  const Box box = parsed(
      "sockets: 2\ncores: 4\nghz: 2.66\nhubs: {h0: {socket: 0}, h1: {socket: 1}}\n"
      "slots: {a: {hub: h1, gen: 2, lanes: 8}}\nnics: {n: {slot: a, gbit_s: 10}}\n");
  EXPECT_EQ(box.slots[0].hub, 1u);
  EXPECT_EQ(box.nics[0].socket, 1u);
}

TEST(BoxFile, TellsOfANicThatIsWiderThanItsSlot) {
  const Box box =
      parsed(std::string(kTwoSockets) + "nics: {n: {slot: b, gbit_s: 100, gen: 4, lanes: 16}}\n");
  ASSERT_EQ(box.notes.size(), 1u);
  EXPECT_EQ(box.notes[0], "n could use PCIe 4.0 x16 and sits in slot b, PCIe 3.0 x8.");
  EXPECT_NEAR(box.nics[0].link_gbit_s, 63, 0.1);
  // The other way round the card decides.
  EXPECT_NEAR(
      parsed(std::string(kTwoSockets) + "nics: {n: {slot: a, gbit_s: 25, gen: 3, lanes: 8}}")
          .nics[0]
          .link_gbit_s,
      63, 0.1);
}

TEST(BoxFile, RefusesContradictionsWithWhatWouldBeRight) {
  EXPECT_EQ(problem("nics: {n: {slot: c, gbit_s: 10}}"),
            "b.yaml:9: nics.n.slot: c is no slot of this box; use a, b");
  EXPECT_EQ(problem("  c: {hub: ioh0, gen: 4, lanes: 16}"),
            "b.yaml:9: slots.c.hub: ioh0 is no hub of this box; add it under hubs");
  EXPECT_EQ(
      problem("  c: {socket: 0, gen: 4, lanes: 16}\n  d: {socket: 0, gen: 4, lanes: 8}"),
      "b.yaml:10: slots.d.lanes: 40 lanes in use with this slot, socket 0 has 32; use fewer or "
      "narrower slots, or raise pcie_lanes");
  EXPECT_EQ(problem("  c: {socket: 2, gen: 4, lanes: 16}"),
            "b.yaml:9: slots.c.socket: 2 is no socket of this box; use 0 to 1");
  EXPECT_EQ(problem("nics: {n: {slot: a, gbit_s: 10}, m: {slot: a, gbit_s: 10}}"),
            "b.yaml:9: nics.m.slot: slot a holds n already; use a free one");
  EXPECT_EQ(problem("  c: {socket: 0, hub: x, gen: 4, lanes: 8}"),
            "b.yaml:9: slots.c: hangs on one of the two; write socket: 0, or hub: NAME");
  EXPECT_EQ(problem("  c: {socket: 0, gen: 4, lanes: 12}"),
            "b.yaml:9: slots.c.lanes: 12 is no width of a slot; use 1, 2, 4, 8 or 16");
  EXPECT_EQ(
      problem("nics: {n: {gbit_s: 10}}"),
      "b.yaml:9: nics.n: is in one place; write slot: NAME, or socket: 0 where no slot shows");
  EXPECT_EQ(problem("nics: {n: {slot: a, ports: 2, gbit_s: 10, pci: [\"0000:17:00.0\"]}}"),
            "b.yaml:9: nics.n.pci: 1 addresses for 2 ports; name each port's");
  const auto one = parse_box("cores: 4\nghz: 3\nintersocket: {gbyte_s: 12}\n", "b.yaml");
  ASSERT_FALSE(one);
  EXPECT_EQ(one.error().front(),
            "b.yaml:3: intersocket: a box of one socket has no such link; remove it, or say "
            "sockets: 2");
}

TEST(BoxFile, RefusesUnknownKeysAndBadValues) {
  EXPECT_EQ(problem("core: 4"), "b.yaml:9: core: unknown key; did you mean cores?");
  for (const char* more :
       {"nics: {n: {slot: a, gbit_s: -1}}", "nics: {n: {slot: a, gbit_s: .nan}}", "nics: [a]",
        "memory: {channels: 0, mt_s: 3200}", "constants: {nic_rx_cycles: 0}",
        "gpus: {g: {slot: [a]}}", "nics: {n: {slot: a, gbit_s: 10, ports: 100}}",
        "  c: {socket: 0, gen: 9, lanes: 8}", "ddio: perhaps"})
    EXPECT_NE(problem(more).find("use "), std::string::npos) << more << problem(more);
  EXPECT_EQ(problem("constants: {nic_rx_cycle: 3}"),
            "b.yaml:9: constants.nic_rx_cycle: no such constant; did you mean nic_rx_cycles?");
  EXPECT_EQ(problem("nics: {n: {slot: a}}"),
            "b.yaml:9: nics.n: has no gbit_s; add the wire's rate of a port, as gbit_s: 100");
  EXPECT_FALSE(parse_box("", "b.yaml"));
  EXPECT_FALSE(parse_box("cores: 4", "b.yaml")) << "no ghz";
  EXPECT_FALSE(parse_box("[1, 2]", "b.yaml"));
  EXPECT_FALSE(read_box("/no/such/box.yaml"));
}

TEST(BoxFile, BecomesATopologyThatPlacementTakes) {
  const Box read = parsed(std::string(kTwoSockets) +
                          "threads: 2\nnics: {n: {slot: a, ports: 2, gbit_s: 100}, "
                          "m: {slot: b, gbit_s: 25}}");
  const Topology topology = topology_of(read);
  ASSERT_EQ(topology.cores.size(), 16u);
  EXPECT_EQ(topology.cores[8].socket, 1);
  EXPECT_EQ(topology.cores[8].siblings, std::vector<unsigned>{24});
  const Config config = default_config(read);
  ASSERT_EQ(config.ports.size(), 3u);
  EXPECT_EQ(config.ports[1].name, "np1");
  EXPECT_EQ(config.ports[2].name, "m");
  const Placement placement = placed(config, topology);
  EXPECT_EQ(placement.ports[0].socket, 0);
  EXPECT_EQ(placement.ports[2].socket, 1);
  EXPECT_EQ(placement.workers.size(), 15u) << "all but control's";
}

TEST(BoxOfATopology, JoinsTheFunctionsOfACard) {
  const Box made = box_of(box("two_socket_smt.xml"));
  ASSERT_EQ(made.nics.size(), 3u);
  EXPECT_EQ(made.nics[0].name, "ens1f0");
  EXPECT_EQ(made.nics[0].pci, (std::vector<std::string>{"0000:17:00.0", "0000:17:00.1"}));
  EXPECT_EQ(made.nics[0].gbit_s, 200) << "the most that a ConnectX-6 comes with";
  EXPECT_FALSE(made.nics[0].rate_known);
  EXPECT_NEAR(made.nics[0].link_gbit_s, 252, 1);
  EXPECT_EQ(made.sockets[1].cores, 8u);
  EXPECT_EQ(made.sockets[1].threads, 2u);
}

TEST(BoxOfATopology, TellsWhatItHadToAssume) {
  const Box made = box_of(box("virtual_machine.xml"));
  EXPECT_FALSE(made.nics.front().slot) << "no link that anyone can see";
  ASSERT_FALSE(made.notes.empty());
  EXPECT_EQ(made.notes.back(), "The wire of eth1 is not known, taken as 10 Gb/s a port.");
}

TEST(BoxOfATopology, ReadsRatesFromNames) {
  Topology topology = plain_box(4);
  Nic nic;
  nic.pci = "0000:81:00.0";
  nic.name = "Intel Corporation Ethernet Controller XL710 for 40GbE QSFP+";
  nic.socket = 0;
  nic.pcie_gbit_s = 63;
  topology.nics = {nic};
  const Box made = box_of(topology);
  EXPECT_EQ(made.nics[0].gbit_s, 40);
  EXPECT_TRUE(made.nics[0].rate_known);
}

}  // namespace
}  // namespace hecto::config
