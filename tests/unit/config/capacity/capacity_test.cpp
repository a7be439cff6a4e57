// The capacity model: links against published figures, boxes against what was found on them.
#include "config/capacity/capacity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "config/box/pcie.hpp"
#include "config/box/what_if.hpp"
#include "tests/beds/planned.hpp"

namespace hecto::config {
namespace {

// Packets in and out at once, Mpps, on a link.
double both_ways(unsigned gen, unsigned lanes, double frame_bytes) {
  const Constants c;
  Directions bytes = link_bytes_received(c, frame_bytes);
  bytes += link_bytes_transmitted(c, frame_bytes);
  return link_gbit_s(gt_s_of_generation(gen), lanes) * c[Constant::kPcieLinkEfficiency] * 1000 / 8 /
         std::max(bytes.to_memory, bytes.from_memory);
}

TEST(Pcie, CarriesWhatNeugebauersModelSays) {
  struct {
    unsigned gen, lanes;
    double mpps60, gbit1514;
  } const rows[] = {{2, 8, 21.3, 24.3},
                    {3, 8, 43.0, 49.0},
                    {3, 16, 84.5, 96.2},
                    {4, 16, 169, 192},
                    {5, 16, 338, 385}};
  for (const auto& row : rows) {
    EXPECT_NEAR(both_ways(row.gen, row.lanes, 64) / row.mpps60, 1, 0.02)
        << row.gen << " x" << row.lanes;
    EXPECT_NEAR(both_ways(row.gen, row.lanes, 1518) * 1514 * 8 / 1000 / row.gbit1514, 1, 0.02)
        << row.gen << " x" << row.lanes;
  }
}

TEST(Pcie, NamesLinks) {
  EXPECT_EQ(link_words(2.5, 1), "PCIe 1.0 x1");
  EXPECT_EQ(link_words(16, 16), "PCIe 4.0 x16");
  EXPECT_EQ(link_words(64, 8), "PCIe 6.0 x8");
  EXPECT_DOUBLE_EQ(link_gbit_s(5, 8), 32);
  EXPECT_NEAR(link_gbit_s(8, 8), 63.0, 0.1);
}

TEST(Sizes, CountTheWireAsRfc2544Does) {
  EXPECT_NEAR(100 * 1000 / packet_sizes()[k64].wire_bits(), 148.81, 0.01);
  EXPECT_NEAR(packet_sizes()[kImixSize].mean_bytes(), 361.8, 0.1);
  EXPECT_NEAR(100 * 1000 / packet_sizes()[kImixSize].wire_bits(), 32.74, 0.01);
}

TEST(Capacity, HasEveryCaseAndOneFullResource) {
  const Planned plan = planned(shipped("server-2s-4x100g"));
  EXPECT_EQ(plan.capacity.points.size(), (2 + 2 * 3) * kSizes);
  for (const Point& point : plan.capacity.points) {
    ASSERT_EQ(point.headroom.size(), plan.capacity.resources.size());
    EXPECT_DOUBLE_EQ(point.headroom[point.bottleneck], 1);
    for (double headroom : point.headroom) EXPECT_TRUE(headroom == 0 || headroom >= 1);
    EXPECT_LE(point.gbit_s, 400.001);
    EXPECT_LE(point.mpps, point.line_mpps * 1.00001);
  }
}

TEST(Capacity, AcrossNeedsPortsOnTwoSockets) {
  const Planned plan = planned(shipped("server-1s-2x100g"));
  EXPECT_EQ(plan.capacity.find(Experiment::kForwardAcross, Traffic::kIpv4, k64), nullptr);
  EXPECT_NE(plan.capacity.find(Experiment::kForwardLocal, Traffic::kIpsec, k64), nullptr);
}

// The 2010 study: CPU cycles limit small packets, I/O hubs large ones, well before 50 Gb/s of 120.
TEST(Lanman2010, IsStoppedByCoresThenByHubs) {
  const Planned plan = planned(shipped("lanman2010"));
  EXPECT_EQ(plan.bound(plan.local(k64)), ResourceKind::kCores);
  EXPECT_EQ(plan.bound(plan.local(k1518)), ResourceKind::kHub);
  EXPECT_LT(plan.local(k1518).gbit_s, 50);
  EXPECT_GT(plan.local(k1518).gbit_s, 35);
  EXPECT_LT(plan.local(k64).gbit_s, 10) << "about 10 Gb/s was what software routers did";
  EXPECT_NE(plan.advised().find("The I/O hubs stop forwarding"), std::string::npos);
}

TEST(Lanman2010, DoesNotReceiveMoreWithTheSecondHub) {
  Box one = shipped("lanman2010");
  std::erase_if(one.nics, [](const BoxNic& nic) { return nic.socket == 1; });
  const Planned half = planned(one), whole = planned(shipped("lanman2010"));
  const auto receive = [](const Planned& plan) {
    return plan.at(Experiment::kReceive, {}, k1518).gbit_s;
  };
  EXPECT_NEAR(receive(whole), receive(half), 0.05 * receive(half));
  EXPECT_EQ(whole.bound(whole.at(Experiment::kReceive, {}, k1518)), ResourceKind::kHub);
  const auto transmit = [](const Planned& plan) {
    return plan.at(Experiment::kTransmit, {}, k1518).gbit_s;
  };
  EXPECT_NEAR(transmit(whole), 2 * transmit(half), 0.05 * transmit(whole));
}

TEST(Lanman2010, WithoutHubsIsStoppedByItsWires) {
  Box direct = shipped("lanman2010");
  for (BoxSlot& slot : direct.slots) slot.hub.reset();
  direct.hubs.clear();
  direct.constants = Constants();
  direct.ddio = true;
  const Planned plan = planned(direct);
  EXPECT_EQ(plan.bound(plan.local(k1518)), ResourceKind::kWire);
  EXPECT_NEAR(plan.local(k1518).gbit_s, 120, 0.01);
}

// The paper counts 88 bytes of wire for these packets, hecto 84.
TEST(PacketShader, ForwardsWhatThePaperMeasured) {
  const Planned plan = planned(shipped("packetshader2010"));
  const double paper = 88.0 * 8 / 1000;
  EXPECT_TRUE(plan.local(k64).gpu);
  EXPECT_NEAR(plan.local(k64).mpps * paper, 39, 2);
  EXPECT_NEAR(plan.local(k64, Traffic::kIpv6).mpps * paper, 38, 3);
  EXPECT_NEAR(plan.local(k64, Traffic::kIpsec).mpps * paper, 10.2, 1.5);
  EXPECT_NEAR(plan.local(k1518, Traffic::kIpsec).gbit_s, 20, 2);
  EXPECT_NEAR(plan.local(k1518).gbit_s, 41, 2);

  Box cpu_only = plan.box;
  cpu_only.gpus.clear();
  const Planned cpu = planned(cpu_only);
  EXPECT_NEAR(cpu.local(k64).mpps * paper, 28, 1.5);
  EXPECT_NEAR(cpu.local(k64, Traffic::kIpv6).mpps * paper, 8, 0.5);
  EXPECT_EQ(cpu.bound(cpu.local(k64)), ResourceKind::kCores);
}

TEST(ShippedBoxes, ArePlannedAndDrawn) {
  unsigned seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HECTO_SOURCE_ROOT "/config/boxes")) {
    ++seen;
    const Planned plan = planned(shipped(entry.path().stem().string()));
    EXPECT_FALSE(plan.box.name.empty()) << entry.path();
    const std::string text = describe(plan.box, plan.setup, plan.capacity, k64, Traffic::kIpv4);
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1)
      EXPECT_LE(text.find('\n', begin) - begin, 100u) << text.substr(begin, 120);
    const std::string svg = draw(plan.box, plan.setup, plan.capacity, plan.local(k64));
    EXPECT_EQ(svg.rfind("<svg ", 0), 0u);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
    for (const BoxNic& nic : plan.box.nics)
      EXPECT_NE(svg.find(">" + nic.name + "<"), std::string::npos) << nic.name;
  }
  EXPECT_EQ(seen, 7u);
}

constexpr std::string_view kServer = "cores: 8\nghz: 3\nmemory: {channels: 8, mt_s: 4800}\n";

TEST(Bottleneck, IsANarrowSlotAndAdviceNamesTheFreeOne) {
  const Planned plan = planned(
      parsed(std::string(kServer) +
             "slots: {s1: {socket: 0, gen: 3, lanes: 8}, s2: {socket: 0, gen: 5, lanes: 16}}\n"
             "nics: {n: {slot: s1, gbit_s: 100}}\n"));
  EXPECT_EQ(plan.bound(plan.local(k1518)), ResourceKind::kPcie);
  EXPECT_NEAR(plan.local(k1518).gbit_s, 49, 1);
  EXPECT_NE(plan.advised().find("Move it to slot s2 (PCIe 5.0 x16, socket 0)."), std::string::npos)
      << plan.advised();
  const Planned stuck =
      planned(parsed(std::string(kServer) + "slots: {s1: {socket: 0, gen: 3, lanes: 8}}\n"
                                            "nics: {n: {slot: s1, gbit_s: 100}}\n"));
  EXPECT_NE(stuck.advised().find("this link cannot"), std::string::npos) << stuck.advised();
}

TEST(Bottleneck, IsTheNicsPacketRate) {
  const Planned plan =
      planned(parsed(std::string(kServer) + "nics: {n: {socket: 0, gbit_s: 100, mpps: 30}}\n"));
  EXPECT_EQ(plan.bound(plan.local(k64)), ResourceKind::kNicPackets);
  EXPECT_NEAR(plan.local(k64).mpps, 30, 1e-6);
  EXPECT_NE(plan.advised().find("n takes no more than 30 Mpps"), std::string::npos);
}

TEST(Bottleneck, IsMemoryWhereChannelsAreFew) {
  const Planned plan =
      planned(parsed("cores: 32\nghz: 3\nddio: false\nmemory: {channels: 1, mt_s: 3200}\n"
                     "nics: {n: {socket: 0, gbit_s: 200}}\n"));
  const Point& point = plan.local(k1518);
  EXPECT_EQ(plan.bound(point), ResourceKind::kMemory);
  // 4 L + 300 bytes of 80% of 25.6 GB/s.
  EXPECT_NEAR(point.mpps, 25600 * 0.8 / (4 * 1514 + 300), 0.01);
  EXPECT_NE(plan.advised().find("fill more channels"), std::string::npos);
}

TEST(Bottleneck, IsTheLinkBetweenSockets) {
  const Planned plan =
      planned(parsed("sockets: 2\ncores: 32\nghz: 3\nmemory: {channels: 8, mt_s: 4800}\n"
                     "intersocket: {gbyte_s: 12.8}\n"
                     "nics: {n: {socket: 0, gbit_s: 100}, m: {socket: 1, gbit_s: 100}}\n"));
  const Point& across = plan.at(Experiment::kForwardAcross, Traffic::kIpv4, k1518);
  EXPECT_EQ(plan.bound(across), ResourceKind::kIntersocket);
  // Half of the packets each way: share x 1.2 <= 0.75 x 12.8 GB/s.
  EXPECT_NEAR(across.mpps, 12800 * 0.75 / (0.5 * 1.2 * 1514), 0.01);
  EXPECT_EQ(plan.bound(plan.local(k1518)), ResourceKind::kWire);
  EXPECT_NE(plan.advised().find("let packets leave on the socket"), std::string::npos);
}

TEST(Cores, NeededAreThoseThatCarryTheLine) {
  const std::string nic =
      "memory: {channels: 8, mt_s: 4800}\nnics: {n: {socket: 0, gbit_s: 100}}\n";
  const Planned few = planned(parsed("cores: 3\nghz: 2\n" + nic));
  EXPECT_EQ(few.bound(few.local(k64)), ResourceKind::kCores);
  const unsigned needed = few.local(k64).cores_needed;
  ASSERT_GT(needed, 2u);
  // One more is control's.
  const Planned enough = planned(parsed(fmt::format("cores: {}\nghz: 2\n", needed + 1) + nic));
  EXPECT_EQ(enough.bound(enough.local(k64)), ResourceKind::kWire);
  const Planned less = planned(parsed(fmt::format("cores: {}\nghz: 2\n", needed) + nic));
  EXPECT_EQ(less.bound(less.local(k64)), ResourceKind::kCores);
  EXPECT_NE(few.advised().find(fmt::format("add {} more at 64 B", needed - 2)), std::string::npos)
      << few.advised();
}

TEST(Cores, OfASocketWithoutNicsAreNamed) {
  const Planned plan = planned(
      parsed("sockets: 2\ncores: 8\nghz: 3\n"
             "slots: {a: {socket: 0, gen: 4, lanes: 16}, b: {socket: 0, gen: 4, lanes: 16}, "
             "c: {socket: 1, gen: 4, lanes: 16}}\n"
             "nics: {n: {slot: a, gbit_s: 100}, m: {slot: b, gbit_s: 100}}\n"));
  EXPECT_NE(
      plan.advised().find("Socket 1 has 8 cores and no NIC, and socket 0 is what stops IPv4; move "
                          "m there, to slot c"),
      std::string::npos)
      << plan.advised();
}

TEST(Ports, InMemoryHaveNoWireAndCostTheirOwnCycles) {
  const Topology topology = plain_box(2);
  const Config config =
      read("ports: {a: {device: \"net_null0\"}, b: {device: \"net_null1\"}}\nworkers: {0: [1]}\n");
  const Box made = box_of(topology);
  const auto setup = setup_of(made, config, topology, placed(config, topology));
  const Capacity capacity = capacity_of(made, setup);
  const Point* point = capacity.find(Experiment::kForwardLocal, Traffic::kIpv6, k512);
  ASSERT_NE(point, nullptr);
  const Constants c;
  const double cycles =
      cycles_per_packet(c, {.traffic = Traffic::kIpv6, .ports = PortKind::kMemory}).sum;
  EXPECT_NEAR(point->mpps, worker_mpps(c, cycles) * c[Constant::kWorkerEfficiency], 1e-6);
  EXPECT_EQ(point->line_mpps, 0);
  EXPECT_EQ(point->cores_needed, 0u);
  EXPECT_NE(describe(made, setup, capacity, k64, Traffic::kIpv4).find("without a wire: a b"),
            std::string::npos);
}

TEST(Calibration, MovesTheCapacityOfItsStage) {
  Box slow = parsed("cores: 3\nghz: 2\nnics: {n: {socket: 0, gbit_s: 100}}\n");
  const double before = planned(slow).local(k64).mpps;
  slow.constants.set(Constant::kLookupIpv4Cycles, 100, "a test");
  EXPECT_LT(planned(slow).local(k64).mpps, 0.7 * before);
  EXPECT_GT(planned(slow).local(k64, Traffic::kIpv6).mpps, 0.7 * before);
}

// An E810-C has one controller for its two wires of 100 Gb/s.
TEST(Capacity, IsNoMoreThanACardPasses) {
  const std::string yaml =
      "cores: 64\nghz: 3\nmemory: {channels: 8, mt_s: 4800}\n"
      "slots: {a: {socket: 0, gen: 4, lanes: 16}}\nnics: {n: {slot: a, id: \"8086:1592\"}}\n";
  const Planned both = planned(parsed(yaml));
  EXPECT_NEAR(both.local(k1518).gbit_s, 100, 1);
  EXPECT_EQ(both.box.notes[0], "n has 2 ports of 100 Gb/s, and its card passes 100 in all.");
  Box one = parsed(yaml);
  one.nics[0].pci.resize(1);
  EXPECT_NEAR(planned(one).local(k1518).gbit_s, 100, 1) << "a port alone has all of it";
  Box other = parsed(yaml);
  ASSERT_TRUE(apply_what_if("n.gbit_s=100", other));
  EXPECT_GT(planned(other).local(k1518).gbit_s, 150) << "what if it were another card?";
}

}  // namespace
}  // namespace hecto::config
