// Tunnels in VRFs: whose address an end is, and where the outer packet goes.
#include <gtest/gtest.h>

#include "router/dataplane/stages/vrf_tables.hpp"
#include "tests/unit/router/dataplane/stages/policy_routing_bed.hpp"

namespace hecto::router::test {
namespace {

class IpsecVrfTest : public PolicyRoutingTest {
 protected:
  static constexpr uint32_t kRed = 100;

  // Both ports of the left gateway in one VRF, of which all routes go by port 0 to its host.
  void both_in_red() {
    vrf_members_ = {{InterfaceId(0), "red", kRed}, {InterfaceId(1), "red", kRed}};
    rules({of_members()});
  }
  // What right's host sends to left's, as ESP.
  rte_mbuf* esp_from_right() {
    right_.run({packet(ipv4_frame(from_right()))}, 0);
    const auto out = right_.sent(1);
    EXPECT_EQ(out.size(), 1u);
    Frame frame = bytes_of(out.at(0));
    rte_pktmbuf_free(out.at(0));
    const MacAddress to = own_mac(1), from = {0x02, 0, 0, 0, 9, 9};
    std::memcpy(frame.data(), to.data(), to.size());
    std::memcpy(frame.data() + 6, from.data(), from.size());
    return packet(frame);
  }
  static FrameOptions from_right() {
    FrameOptions options = from_host("10.2.0.1", "10.1.0.1");
    options.to = own_mac(0);
    return options;
  }
};

TEST_F(IpsecVrfTest, TheOuterPacketGoesByTheVrfsTable) {
  left_.tunnel();
  both_in_red();
  route(kRed, "10.2.0.0/24");
  EXPECT_EQ(sent(from_left()), 0u) << "main has a route to the tunnel's end, the VRF has none";
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kTunnelUnreachable});
  route(kRed, "192.0.2.2/32");
  EXPECT_EQ(sent(from_left()), 0u);
  const auto out = left_.sent(0);
  ASSERT_EQ(out.size(), 1u);
  const Frame outer = bytes_of(out[0]);
  rte_pktmbuf_free(out[0]);
  EXPECT_EQ(outer[kEthernetBytes + 9], 50) << "ESP";
  EXPECT_EQ(load32_be(outer.data() + kEthernetBytes + 16), 0xc0000202u);
}

// A route that leaves the VRF: the tunnel's end is looked up where the packet would have gone.
TEST_F(IpsecVrfTest, APacketThatLeavesTheVrfTakesItsTunnelAlong) {
  left_.tunnel();
  vrf_members_ = {{InterfaceId(0), "red", kRed}};
  rules({of_members()});
  EXPECT_EQ(sent(from_left()), 1u) << "by main's route, and port 1 is in no VRF";
  EXPECT_TRUE(left_.refused().empty());
}

TEST_F(IpsecVrfTest, AnEndIsOwnInItsVrfAlone) {
  left_.tunnel();
  right_.tunnel();
  both_in_red();
  route(kRed, "10.1.0.0/24");
  left_.run({esp_from_right()}, 1);
  EXPECT_EQ(taken(0), 0u);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kEspUnknownSpi})
      << "the rules go on to main, and its address is not the VRF's";
  route(kRed, "192.0.2.1/32", RouteType::kLocal);
  left_.run({esp_from_right()}, 1);
  EXPECT_EQ(taken(0), 1u);
  EXPECT_TRUE(left_.refused().empty());
}

// A VRF whose table found no room has not main's addresses and ways instead.
TEST_F(IpsecVrfTest, WithoutRoomForItsTableAVrfHasNoTunnels) {
  left_.tunnel();
  right_.tunnel();
  vrf_members_ = {{InterfaceId(0), "red", 0},
                  {InterfaceId(1), "red", 0}};  // no table has this number
  rules({of_members()});
  left_.run({esp_from_right()}, 1);
  EXPECT_EQ(taken(0), 0u);
  EXPECT_EQ(left_.refused().size(), 1u);
  EXPECT_EQ(sent(from_left()), 0u);
  EXPECT_EQ(left_.refused().size(), 1u);
  const TableViews all = left_.tables();
  const VrfTables tables(all, left_.snapshot().rules.get());
  const uint8_t own[] = {192, 0, 2, 1};
  EXPECT_FALSE(tables.is_own(InterfaceId(1), Family::kIpv4, own));
  EXPECT_TRUE(tables.is_own(kNoInterface, Family::kIpv4, own));
}

// Options: Linux is to look at the packet, and it is for one of the VRF's addresses: the policies for
// what comes in hold, not those for what is forwarded.
TEST_F(IpsecVrfTest, WhatGoesToLinuxIsJudgedByTheVrfsAddresses) {
  left_.policy(PolicyDirection::kForward, PolicyAction::kDiscard, "10.1.0.0/24", "10.9.0.0/24");
  both_in_red();
  FrameOptions options = from_host("10.1.0.1", "10.9.0.1");
  const auto with_options = [&] {
    Frame frame = ipv4_frame(options);
    frame.insert(frame.begin() + kEthernetBytes + kIpv4Bytes, {1, 1, 1, 1});  // no-operation
    frame[kEthernetBytes] = 0x46;
    store16_be(&frame[kEthernetBytes + 2], static_cast<uint16_t>(frame.size() - kEthernetBytes));
    fix_checksum(frame);
    return packet(frame);
  };
  left_.run({with_options()}, 0);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kPolicyDiscard});
  route(kRed, "10.9.0.1/32", RouteType::kLocal);
  left_.run({with_options()}, 0);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kOptions});
}

// An IPsec interface of Linux in a VRF, the tunnel's ends in none.
TEST_F(IpsecVrfTest, WhatComesOutOfAnInterfaceInAVrfIsTheVrfs) {
  Algorithm by_interface;
  by_interface.if_id = 5;
  left_.tunnel(Family::kIpv4, Family::kIpv4, IpsecMode::kTunnel, by_interface);
  right_.tunnel();
  vrf_members_ = {{InterfaceId(0), "red", kRed}};
  rules({of_members()});
  const auto in_red = [&](InterfaceId member) {
    rules({of_members()});
    auto made = std::const_pointer_cast<RuleTables>(left_.snapshot().rules);
    made->ipsec_in_vrfs = {{5, member}};
  };
  route(kRed, "10.1.0.1/32", RouteType::kBlackhole);
  left_.run({esp_from_right()}, 1);
  EXPECT_EQ(taken(0), 1u) << "in none: main's";
  in_red(0);
  left_.run({esp_from_right()}, 1);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kBlackhole});
  in_red(kNoInterface);
  left_.run({esp_from_right()}, 1);
  EXPECT_EQ(left_.refused(), std::vector<Reason>{Reason::kInterfaceDown});
  EXPECT_EQ(taken(0), 0u);
}

}  // namespace
}  // namespace hecto::router::test
