#include "router/dataplane/stages/bridge.hpp"

#include <gtest/gtest.h>

#include "tests/beds/packets.hpp"

namespace hecto::router::test {
namespace {

using lookup::MacTable;

constexpr MacAddress kAnn{2, 0, 0, 0, 0, 0xa}, kBob{2, 0, 0, 0, 0, 0xb}, kOwn{2, 0, 0, 0, 0, 0xff};
constexpr MacAddress kNobody{2, 0, 0, 0, 0, 0xee}, kAll{255, 255, 255, 255, 255, 255};
constexpr MacAddress kSpanningTree{1, 0x80, 0xc2, 0, 0, 0};

// Ann on port 0, Bob on port 1, both of bridge 2; port 2 is one of it, too.
class BridgeTest : public testing::Test {
 protected:
  BridgeTest() {
    views.stations = std::make_shared<MacTable>(64, 0x9e3779b97f4a7c15, lookup::Memory::system(), 0,
                                                lookup::Reclaimer::none());
    for (unsigned port = 0; port < ports.size(); ++port) {
      ports[port] = std::make_shared<BridgePortView>();
      ports[port]->bridge = 2;
      ports[port]->interface = InterfaceId(10 + port);
      views.ports[port] = ports[port];
    }
    know(kAnn, 0);
    know(kBob, 1);
    know(kOwn, kBridgeOwn);
  }
  ~BridgeTest() override { (void)left(); }

  static uint64_t key(const MacAddress& mac, unsigned vlan = 0) {
    uint64_t word = 0;
    std::memcpy(&word, mac.data(), mac.size());
    return MacTable::key(bridge_domain(2, vlan), word);
  }
  void know(const MacAddress& mac, uint16_t place, unsigned vlan = 0) {
    views.stations->set(key(mac, vlan), place);
  }
  // All ports filter; these VLANs are theirs.
  void filter(uint16_t pvid, std::initializer_list<unsigned> tagged = {}) {
    for (auto& port : ports) {
      port->filters = true;
      port->pvid = pvid;
      port->allowed.reset().set(pvid);
      port->untagged.reset().set(pvid);
      for (const unsigned vlan : tagged) port->allowed.set(vlan);
    }
  }

  struct Outcome {
    int port = -1;  // by which it left
    Reason reason = Reason::kNone;
    bool kept = false;
    Frame frame;
    bool operator==(const Outcome&) const = default;
  };
  static Outcome leaves(int port, Frame frame) { return {port, Reason::kNone, false, frame}; }
  // Of one packet that comes in by a port.
  Outcome receive(PortId port, const Frame& frame, const std::vector<size_t>& cuts = {}) {
    chunk->count = 1;
    chunk->packets[0] = packet(frame, cuts);
    const uint64_t gone = switch_frames(*chunk, *ports[port], port, views, transmitter);
    Outcome outcome;
    if (chunk->count == 1) {
      outcome.kept = true;
      outcome.frame = bytes_of(chunk->packets[0]);
      rte_pktmbuf_free(chunk->packets[0]);
    } else {
      EXPECT_EQ(gone, frame.size());
    }
    if (chunk->refused_count == 1) {
      outcome.reason = chunk->refused[0].reason;
      EXPECT_EQ(chunk->refused[0].interface, 10 + port);
      rte_pktmbuf_free(chunk->refused[0].packet);
    }
    const auto sent = left();
    EXPECT_EQ(chunk->count + chunk->refused_count + sent.size(), 1u);
    if (!sent.empty()) std::tie(outcome.port, outcome.frame) = sent[0];
    return outcome;
  }
  Reason refused(PortId port, const Frame& frame) { return receive(port, frame).reason; }
  std::vector<std::pair<int, Frame>> left() {
    std::vector<std::pair<int, Frame>> all;
    for (unsigned port = 0; port < ports.size(); ++port) {
      for (rte_mbuf* each : transmitter.queued(PortId(port))) {
        all.emplace_back(port, bytes_of(each));
        rte_pktmbuf_free(each);
      }
      transmitter.forget(PortId(port));
    }
    return all;
  }
  static Frame from_to(const MacAddress& from, const MacAddress& to, uint16_t vlan = 0) {
    FrameOptions options;
    options.from = from;
    options.to = to;
    options.vlan = vlan;
    return ipv4_frame(options);
  }

  std::array<std::shared_ptr<BridgePortView>, 3> ports;
  BridgeViews views;
  std::array<PortCounters, kMaxPorts> counters;
  ReasonCounters reasons;
  Transmitter transmitter{counters, reasons};
  std::unique_ptr<Chunk> chunk = std::make_unique<Chunk>();
};

TEST_F(BridgeTest, AFrameBetweenKnownStationsLeavesAsItIs) {
  const Frame frame = from_to(kAnn, kBob);
  EXPECT_EQ(receive(0, frame), leaves(1, frame));
  const Frame back = from_to(kBob, kAnn);
  EXPECT_EQ(receive(1, back), leaves(0, back));
  EXPECT_TRUE(views.stations->take_mark(key(kAnn)));
}

TEST_F(BridgeTest, WhatIsForTheBridgeItselfStays) {
  EXPECT_TRUE(receive(0, from_to(kAnn, kOwn)).kept);
}

TEST_F(BridgeTest, WhatIsNotKnownIsLinuxs) {
  EXPECT_EQ(refused(0, from_to(kAnn, kNobody)), Reason::kBridgeFlood);
  EXPECT_EQ(refused(0, from_to(kNobody, kBob)), Reason::kBridgeLearn);
  EXPECT_EQ(refused(0, from_to(kBob, kAnn)), Reason::kBridgeLearn) << "Bob has moved";
  EXPECT_EQ(refused(0, from_to(kNobody, kOwn)), Reason::kBridgeLearn);
}

TEST_F(BridgeTest, GroupsAreFloodedByLinux) {
  EXPECT_EQ(refused(0, from_to(kAnn, kAll)), Reason::kBridgeFlood);
  ports[0]->routed.set(0);
  EXPECT_TRUE(receive(0, from_to(kAnn, kAll)).kept) << "classify tells ARP from DHCP";
  EXPECT_EQ(refused(0, from_to(kAnn, kAll, 5)), Reason::kBridgeFlood);
}

TEST_F(BridgeTest, BpdusAreLinuxsOnAPortOfAnyState) {
  ports[0]->forwards = ports[0]->learns = false;
  EXPECT_EQ(refused(0, from_to(kNobody, kSpanningTree)), Reason::kOtherProtocol);
}

TEST_F(BridgeTest, SourcesThatCannotBeAreDropped) {
  EXPECT_EQ(refused(0, from_to(kAll, kBob)), Reason::kMartianSource);
  EXPECT_EQ(refused(0, from_to({}, kBob)), Reason::kMartianSource);
  EXPECT_EQ(refused(0, from_to(kOwn, kBob)), Reason::kLooped);
}

TEST_F(BridgeTest, StatesOfPortsHold) {
  ports[1]->forwards = false;
  EXPECT_EQ(refused(0, from_to(kAnn, kBob)), Reason::kBridgeBlocked);
  EXPECT_EQ(refused(1, from_to(kBob, kAnn)), Reason::kBridgeBlocked);
  EXPECT_EQ(refused(1, from_to(kNobody, kAnn)), Reason::kBridgeLearn) << "of a port that learns";
  ports[1]->learns = false;
  EXPECT_EQ(refused(1, from_to(kNobody, kAnn)), Reason::kBridgeBlocked);
  EXPECT_EQ(refused(1, from_to(kBob, kOwn)), Reason::kBridgeBlocked);
}

TEST_F(BridgeTest, APortThatLearnsNothingForwards) {
  ports[0]->learns = false;
  const Frame frame = from_to(kNobody, kBob);
  EXPECT_EQ(receive(0, frame), leaves(1, frame));
}

TEST_F(BridgeTest, AtTheLimitStationsThatAreKnownGoOn) {
  ports[0]->full = true;
  const Frame known = from_to(kAnn, kBob), fresh = from_to(kNobody, kBob);
  EXPECT_EQ(receive(0, known), leaves(1, known));
  EXPECT_EQ(receive(0, fresh), leaves(1, fresh));
  EXPECT_EQ(refused(0, from_to(kNobody, kAll)), Reason::kBridgeFull);
  EXPECT_EQ(refused(0, from_to(kNobody, {2, 0, 0, 0, 0, 0xed})), Reason::kBridgeFull);
  EXPECT_EQ(refused(0, from_to(kBob, kAll)), Reason::kBridgeLearn) << "who moves is not one more";
}

TEST_F(BridgeTest, BackByTheSamePortOnlyWithHairpin) {
  know(kNobody, 0);
  EXPECT_EQ(refused(0, from_to(kAnn, kNobody)), Reason::kBridgeSamePort);
  ports[0]->hairpin = true;
  const Frame frame = from_to(kAnn, kNobody);
  EXPECT_EQ(receive(0, frame), leaves(0, frame));
}

TEST_F(BridgeTest, IsolatedPortsDoNotTalkToEachOther) {
  ports[0]->isolated = true;
  EXPECT_EQ(receive(0, from_to(kAnn, kBob)).port, 1);
  ports[1]->isolated = true;
  EXPECT_EQ(refused(0, from_to(kAnn, kBob)), Reason::kBridgeBlocked);
}

TEST_F(BridgeTest, NothingLeavesByAPortOfAnotherBridge) {
  ports[1]->bridge = 3;
  EXPECT_EQ(refused(0, from_to(kAnn, kBob)), Reason::kBridgeBlocked);
  views.ports[1].reset();
  EXPECT_EQ(refused(0, from_to(kAnn, kBob)), Reason::kBridgeBlocked) << "or of none";
}

TEST_F(BridgeTest, WhatIsTooLongIsDropped) {
  FrameOptions options{kBob, kAnn};
  options.payload_bytes = 100;  // 120 bytes of IPv4
  ports[1]->mtu = 119;
  EXPECT_EQ(refused(0, ipv4_frame(options)), Reason::kBridgeTooLong);
  ports[1]->mtu = 120;
  EXPECT_EQ(receive(0, ipv4_frame(options)).port, 1);
  options.vlan = 5;  // a tag is no part of it
  EXPECT_EQ(receive(0, ipv4_frame(options)).port, 1);
}

TEST_F(BridgeTest, WithoutFilteringATagIsCarried) {
  const Frame frame = from_to(kAnn, kBob, 5);
  EXPECT_EQ(receive(0, frame), leaves(1, frame));
}

TEST_F(BridgeTest, FilteringPutsTagsOnAndTakesThemOff) {
  filter(1, {7});
  know(kAnn, 0, 1), know(kBob, 1, 1), know(kAnn, 0, 7), know(kBob, 1, 7);
  const Frame plain = from_to(kAnn, kBob), seven = from_to(kAnn, kBob, 7);
  EXPECT_EQ(receive(0, plain), leaves(1, plain));
  EXPECT_EQ(receive(0, seven), leaves(1, seven));
  ports[1]->untagged.set(7);
  EXPECT_EQ(receive(0, seven), leaves(1, plain));
  ports[0]->pvid = 7;  // an access port of VLAN 7, to a trunk
  ports[1]->untagged.reset(7);
  EXPECT_EQ(receive(0, plain), leaves(1, seven));
  Frame priority = from_to(kAnn, kBob, 1);
  priority[15] = 0;  // VLAN 0
  EXPECT_EQ(receive(0, priority), leaves(1, seven));
  EXPECT_EQ(receive(0, seven, {20}), leaves(1, seven)) << "of several segments";
  ports[1]->untagged.set(7);
  EXPECT_EQ(receive(0, seven, {18}), leaves(1, plain));
}

TEST_F(BridgeTest, VlansKeepApart) {
  filter(1, {7});
  know(kAnn, 0, 1), know(kBob, 1, 1);
  EXPECT_EQ(refused(0, from_to(kAnn, kBob, 8)), Reason::kBridgeVlan);
  EXPECT_EQ(refused(0, from_to(kAnn, kBob, 7)), Reason::kBridgeLearn) << "known in VLAN 1 only";
  ports[1]->allowed.reset(1);
  EXPECT_EQ(refused(0, from_to(kAnn, kBob)), Reason::kBridgeVlan);
  ports[0]->pvid = 0;
  EXPECT_EQ(refused(0, from_to(kAnn, kBob)), Reason::kBridgeVlan);
}

TEST_F(BridgeTest, VlansOfThePortsOwnInterfacesAreNotTheBridges) {
  ports[0]->beside.set(9);
  EXPECT_TRUE(receive(0, from_to(kNobody, kBob, 9)).kept);
  EXPECT_EQ(receive(0, from_to(kAnn, kBob, 8)).port, 1);
}

TEST_F(BridgeTest, AFrameThatIsCutIsClassifysToName) {
  const Frame frame = from_to(kAnn, kBob);
  EXPECT_TRUE(receive(0, Frame(frame.begin(), frame.begin() + 13)).kept);
  EXPECT_TRUE(receive(0, frame, {6}).kept) << "its header is split";
}

TEST_F(BridgeTest, ABurstGoesItsWaysInOrder) {
  constexpr unsigned kBurst = 150;
  for (unsigned i = 0; i < kBurst; ++i) {
    Frame frame = from_to(kAnn, i % 3 == 0 ? kBob : i % 3 == 1 ? kOwn : kNobody);
    frame.back() = static_cast<uint8_t>(i);
    chunk->packets[i] = packet(frame);
  }
  chunk->count = kBurst;
  const uint64_t gone = switch_frames(*chunk, *ports[0], 0, views, transmitter);
  EXPECT_EQ(gone, kBurst / 3 * 2 * from_to(kAnn, kBob).size());
  ASSERT_EQ(chunk->count, kBurst / 3);
  ASSERT_EQ(chunk->refused_count, kBurst / 3);
  for (unsigned i = 0; i < kBurst / 3; ++i) {
    EXPECT_EQ(bytes_of(chunk->packets[i]).back(), 3 * i + 1);
    EXPECT_EQ(bytes_of(chunk->refused[i].packet).back(), 3 * i + 2);
    rte_pktmbuf_free(chunk->packets[i]);
    rte_pktmbuf_free(chunk->refused[i].packet);
  }
  const auto sent = left();
  ASSERT_EQ(sent.size(), kBurst / 3);
  for (unsigned i = 0; i < kBurst / 3; ++i) EXPECT_EQ(sent[i].second.back(), 3 * i);
}

}  // namespace
}  // namespace hecto::router::test
