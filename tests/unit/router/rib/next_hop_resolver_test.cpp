// Where a next hop leads, by what is known of its interface, its neighbor and its object.
#include "router/rib/next_hop_resolver.hpp"

#include "tests/unit/router/rib/rib_bed.hpp"

namespace hecto::router::test {
namespace {

using lookup::RecordKind;

class NextHopResolverTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(interfaces.add(Bed::state(0, "10.0.0.254/24"))); }
  NextHopResolution resolve(const NextHop& hop) const {
    return resolver.resolve({Family::kIpv4, RouteType::kUnicast, 0, {&hop, 1}});
  }
  static std::string words(const NextHopResolution& resolution) {
    const auto reason = reason_word(resolution.record.reason);
    switch (resolution.record.kind) {
      case RecordKind::kForward:
        return "forward";
      case RecordKind::kPunt:
        return "punt " + reason;
      default:
        return "drop " + reason;
    }
  }
  Interfaces interfaces;
  Neighbors neighbors;
  NextHopObjects objects;
  NextHopResolver resolver{interfaces, neighbors, objects};
};

TEST_F(NextHopResolverTest, NeighborMakesTheDifferenceBetweenGleanAndForward) {
  EXPECT_EQ(words(resolve(hop(11, "10.0.0.1"))), "punt glean");
  neighbors.set({ip("10.0.0.1"), 11, kNoInterface, mac(1), 2, true}, 1);
  NextHopResolution resolution = resolve(hop(11, "10.0.0.1"));
  EXPECT_EQ(words(resolution), "forward");
  EXPECT_EQ(resolution.interface, 0);
  EXPECT_TRUE(resolution.reachable_by.test(0));
  neighbors.set({ip("10.0.0.1"), 11, kNoInterface, mac(1), 2, false}, 1);
  EXPECT_EQ(words(resolve(hop(11, "10.0.0.1"))), "punt glean");
}

TEST_F(NextHopResolverTest, HeaderIsWholeWithItsTag) {
  InterfaceState tagged = Bed::state(1);
  tagged.tags.vlan = 0x123;
  ASSERT_TRUE(interfaces.add(tagged));
  neighbors.set({ip("10.1.0.1"), 12, kNoInterface, mac(5), 2, true}, 1);
  const lookup::NextHopRecord record = resolve(hop(12, "10.1.0.1")).record;
  const std::vector<uint8_t> header(record.header, record.header + record.header_length);
  EXPECT_EQ(header, (std::vector<uint8_t>{0x02, 0, 0, 0, 0, 5, 0x02, 0, 0, 0, 0, 0xa1,  //
                                          0x81, 0, 0x01, 0x23, 0x08, 0}));
}

TEST_F(NextHopResolverTest, HeaderHasBothTags) {
  const auto tags_by = [this](uint16_t number, const VlanTags& tags) {
    InterfaceState tagged = Bed::state(InterfaceId(number));
    tagged.tags = tags;
    EXPECT_TRUE(interfaces.add(tagged));
    const auto address = ip("10." + std::to_string(number) + ".0.1");
    neighbors.set({address, 11 + number, kNoInterface, mac(5), 2, true}, 1);
    const lookup::NextHopRecord record = resolve({address, 11 + number}).record;
    return std::vector<uint8_t>(record.header + 12, record.header + record.header_length);
  };
  EXPECT_EQ(tags_by(1, {0x123, 0, true}), (std::vector<uint8_t>{0x88, 0xa8, 0x01, 0x23, 0x08, 0}));
  EXPECT_EQ(tags_by(2, {10, 0x123, true}),
            (std::vector<uint8_t>{0x88, 0xa8, 0x01, 0x23, 0x81, 0, 0, 10, 0x08, 0}));
  EXPECT_EQ(tags_by(3, {10, 0x123, false}),
            (std::vector<uint8_t>{0x81, 0, 0x01, 0x23, 0x81, 0, 0, 10, 0x08, 0}));
}

TEST_F(NextHopResolverTest, GatewayAloneIsFoundByItsSubnet) {
  EXPECT_EQ(resolve(hop(0, "10.0.0.1")).interface, 0);
  NextHopResolution nowhere = resolve(hop(0, "192.0.2.1"));
  EXPECT_EQ(words(nowhere), "punt no_route");
  EXPECT_FALSE(nowhere.alive);
}

TEST_F(NextHopResolverTest, DeviceOfLinuxAloneIsLinuxs) {
  NextHopResolution resolution = resolve(hop(99, "192.0.2.1"));
  EXPECT_EQ(words(resolution), "punt local");
  EXPECT_TRUE(resolution.alive);
  EXPECT_TRUE(resolution.reachable_by.test(kUrpfAnyBit));
}

TEST_F(NextHopResolverTest, InterfaceThatIsDownDrops) {
  InterfaceState down = Bed::state(0);
  down.up = false;
  ASSERT_TRUE(interfaces.update(down));
  NextHopResolution resolution = resolve(hop(11, "10.0.0.1"));
  EXPECT_EQ(words(resolution), "drop interface_down");
  EXPECT_FALSE(resolution.alive);
}

TEST_F(NextHopResolverTest, ObjectStandsForItsNextHop) {
  const NextHopContent content{Family::kIpv4, RouteType::kUnicast, 7, {}};
  EXPECT_EQ(words(resolver.resolve(content)), "punt no_route");  // unknown yet
  NextHopObject object;
  object.id = 7;
  object.next_hop = hop(11, "10.0.0.1");
  EXPECT_TRUE(objects.set(object, 1));
  EXPECT_FALSE(objects.set(object, 2));
  EXPECT_EQ(words(resolver.resolve(content)), "punt glean");
  object.next_hop.reset();
  object.blackhole = true;
  EXPECT_TRUE(objects.set(object, 2));
  EXPECT_EQ(words(resolver.resolve(content)), "drop blackhole");
  EXPECT_TRUE(objects.stale(2).empty());
  EXPECT_EQ(objects.stale(3), std::vector<uint32_t>{7});
  EXPECT_TRUE(objects.remove(7));
  EXPECT_FALSE(objects.remove(7));
}

}  // namespace
}  // namespace hecto::router::test
