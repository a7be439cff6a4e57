#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <net/if.h>

#include "router/linux/decode_route.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

TEST(DecodeLink, ReadsNameMacMtuAndFlags) {
  ifinfomsg head{};
  head.ifi_index = 7;
  head.ifi_flags = IFF_UP | 0x10000;
  const MacAddress mac{2, 1, 2, 3, 4, 5};
  MessageBuilder builder(RTM_NEWLINK);
  builder.head(head).text(IFLA_IFNAME, "wan0").put(IFLA_ADDRESS, mac).put(IFLA_MTU, 9000U);
  builder.put(IFLA_LINK, 3);  // a veth has one too: no parent of ours
  const auto bytes = builder.bytes();
  LinkEvent event;
  ASSERT_EQ(decode_link(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.link, (LinuxLink{7, "wan0", mac, 9000, true, true, 0, 0}));
  EXPECT_FALSE(event.removed);
}

TEST(DecodeLink, ReadsVlanIdProtocolAndParent) {
  for (const uint16_t protocol : {0x8100, 0x88a8, 0x9100}) {
    ifinfomsg head{};
    head.ifi_index = 9;
    MessageBuilder builder(RTM_NEWLINK);
    builder.head(head).text(IFLA_IFNAME, "wan0.100").put(IFLA_LINK, 7);
    builder.nest(IFLA_LINKINFO, [&](MessageBuilder& info) {
      info.text(IFLA_INFO_KIND, "vlan").nest(IFLA_INFO_DATA, [&](MessageBuilder& data) {
        data.put(IFLA_VLAN_ID, uint16_t{100}).put(IFLA_VLAN_PROTOCOL, htons(protocol));
      });
    });
    const auto bytes = builder.bytes();
    LinkEvent event;
    ASSERT_EQ(decode_link(message_of(bytes), event), Decoded::kEvent);
    EXPECT_EQ(event.link.parent, 7);
    EXPECT_EQ(event.link.vlan, 100);
    EXPECT_EQ(event.link.service_tag, protocol == 0x88a8);
    EXPECT_EQ(event.link.left_out, protocol == 0x9100 ? "a VLAN of another protocol" : "");
  }
}

TEST(DecodeLink, ReadsTheIfIdOfAnIpsecInterface) {
  for (const uint32_t if_id : {5u, 0xffffffffu}) {
    ifinfomsg head{};
    head.ifi_index = 9;
    MessageBuilder builder(RTM_NEWLINK);
    builder.head(head).text(IFLA_IFNAME, "ipsec0").put(IFLA_LINK, 7);
    builder.nest(IFLA_LINKINFO, [&](MessageBuilder& info) {
      info.text(IFLA_INFO_KIND, "xfrm").nest(IFLA_INFO_DATA, [&](MessageBuilder& data) {
        data.put(IFLA_XFRM_LINK, uint32_t{7}).put(IFLA_XFRM_IF_ID, if_id);
      });
    });
    const auto bytes = builder.bytes();
    LinkEvent event;
    ASSERT_EQ(decode_link(message_of(bytes), event), Decoded::kEvent);
    EXPECT_EQ(event.link.if_id, if_id);
    EXPECT_EQ(event.link.parent, 0) << "it is no VLAN device";
  }
}

TEST(DecodeLink, ReadsTheTableOfAVrfAndWhoIsInIt) {
  ifinfomsg head{};
  head.ifi_index = 9;
  MessageBuilder vrf(RTM_NEWLINK);
  vrf.head(head).text(IFLA_IFNAME, "red");
  vrf.nest(IFLA_LINKINFO, [&](MessageBuilder& info) {
    info.text(IFLA_INFO_KIND, "vrf").nest(IFLA_INFO_DATA, [&](MessageBuilder& data) {
      data.put(IFLA_VRF_TABLE, uint32_t{70000});
    });
  });
  const auto bytes = vrf.bytes();
  LinkEvent event;
  ASSERT_EQ(decode_link(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.link.vrf_table, 70000u);
  EXPECT_EQ(event.link.kind, "vrf");
  MessageBuilder member(RTM_NEWLINK);
  const auto of_member = member.head(head).text(IFLA_IFNAME, "wan0").put(IFLA_MASTER, 9).bytes();
  ASSERT_EQ(decode_link(message_of(of_member), event), Decoded::kEvent);
  EXPECT_EQ(event.link.master, 9);
  EXPECT_EQ(event.link.vrf_table, 0u);
}

// Of a mode in which a macvlan has an address of its own.
TEST(DecodeLink, ReadsTheParentOfAMacvlan) {
  ifinfomsg head{};
  head.ifi_index = 9;
  for (const uint32_t mode : {MACVLAN_MODE_BRIDGE, MACVLAN_MODE_PRIVATE, MACVLAN_MODE_PASSTHRU}) {
    MessageBuilder macvlan(RTM_NEWLINK);
    macvlan.head(head).text(IFLA_IFNAME, "vrrp.51").put(IFLA_LINK, 12);
    macvlan.nest(IFLA_LINKINFO, [&](MessageBuilder& info) {
      info.text(IFLA_INFO_KIND, "macvlan").nest(IFLA_INFO_DATA, [&](MessageBuilder& data) {
        data.put(IFLA_MACVLAN_MODE, mode);
      });
    });
    const auto bytes = macvlan.bytes();
    LinkEvent event;
    ASSERT_EQ(decode_link(message_of(bytes), event), Decoded::kEvent);
    EXPECT_EQ(event.link.parent, 12);
    EXPECT_EQ(event.link.left_out.empty(), mode != MACVLAN_MODE_PASSTHRU);
    EXPECT_EQ(event.link.vlan, 0);
  }
}

TEST(DecodeLink, IgnoresBridgePortMessages) {
  ifinfomsg head{};
  head.ifi_family = AF_BRIDGE;
  head.ifi_index = 7;
  MessageBuilder builder(RTM_DELLINK);
  const auto bytes = builder.head(head).text(IFLA_IFNAME, "wan0").bytes();
  LinkEvent event;
  EXPECT_EQ(decode_link(message_of(bytes), event), Decoded::kIgnored);
}

TEST(DecodeLink, RefusesNameThatIsTooLong) {
  ifinfomsg head{};
  head.ifi_index = 7;
  MessageBuilder builder(RTM_NEWLINK);
  const auto bytes = builder.head(head).text(IFLA_IFNAME, "sixteen-letters-").bytes();
  LinkEvent event;
  EXPECT_EQ(decode_link(message_of(bytes), event), Decoded::kMalformed);
}

TEST(DecodeAddress, TakesLocalNotPeer) {
  ifaddrmsg head{};
  head.ifa_family = AF_INET;
  head.ifa_prefixlen = 32;
  head.ifa_index = 4;
  MessageBuilder builder(RTM_NEWADDR);
  builder.head(head).address(IFA_ADDRESS, "192.0.2.2").address(IFA_LOCAL, "192.0.2.1");
  const auto bytes = builder.bytes();
  AddressEvent event;
  ASSERT_EQ(decode_address(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.address.address.to_string(), "192.0.2.1/32");
  EXPECT_EQ(event.address.ifindex, 4);
}

TEST(DecodeAddress, KeepsHostBitsOfIpv6) {
  ifaddrmsg head{};
  head.ifa_family = AF_INET6;
  head.ifa_prefixlen = 64;
  MessageBuilder builder(RTM_DELADDR);
  const auto bytes = builder.head(head).address(IFA_ADDRESS, "2001:db8::1").bytes();
  AddressEvent event;
  ASSERT_EQ(decode_address(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.address.address.to_string(), "2001:db8::1/64");
  EXPECT_TRUE(event.removed);
}

TEST(DecodeAddress, RefusesPrefixLengthBeyondTheFamily) {
  ifaddrmsg head{};
  head.ifa_family = AF_INET;
  head.ifa_prefixlen = 33;
  MessageBuilder builder(RTM_NEWADDR);
  const auto bytes = builder.head(head).address(IFA_LOCAL, "192.0.2.1").bytes();
  AddressEvent event;
  EXPECT_EQ(decode_address(message_of(bytes), event), Decoded::kMalformed);
}

TEST(DecodeNeighbor, UsableFollowsStateAndMac) {
  const struct {
    uint16_t state;
    bool mac;
    bool usable;
  } kCases[] = {{NUD_REACHABLE, true, true},    {NUD_STALE, true, true},
                {NUD_DELAY, true, true},        {NUD_PROBE, true, true},
                {NUD_PERMANENT, true, true},    {NUD_FAILED, true, false},
                {NUD_INCOMPLETE, false, false}, {NUD_REACHABLE, false, false}};
  for (const auto& test : kCases) {
    ndmsg head{};
    head.ndm_family = AF_INET6;
    head.ndm_ifindex = 3;
    head.ndm_state = test.state;
    MessageBuilder builder(RTM_NEWNEIGH);
    builder.head(head).address(NDA_DST, "fe80::1");
    if (test.mac) builder.put(NDA_LLADDR, MacAddress{2, 0, 0, 0, 0, 9});
    const auto bytes = builder.bytes();
    NeighborEvent event;
    ASSERT_EQ(decode_neighbor(message_of(bytes), event), Decoded::kEvent);
    EXPECT_EQ(event.neighbor.usable, test.usable) << test.state;
    EXPECT_EQ(event.neighbor.address.to_string(), "fe80::1");
  }
}

TEST(DecodeNeighbor, IgnoresProxyAndBridgeEntries) {
  for (const int which : {0, 1}) {
    ndmsg head{};
    head.ndm_family = which == 0 ? AF_BRIDGE : AF_INET;
    head.ndm_flags = which == 1 ? NTF_PROXY : 0;
    head.ndm_state = NUD_REACHABLE;
    MessageBuilder builder(RTM_NEWNEIGH);
    const auto bytes = builder.head(head).address(NDA_DST, "192.0.2.1").bytes();
    NeighborEvent event;
    EXPECT_EQ(decode_neighbor(message_of(bytes), event), Decoded::kIgnored) << which;
  }
}

TEST(DecodeNeighbor, TakesOneWithoutArpWhereItIsAStation) {
  const auto decode = [](const MacAddress& mac) {
    ndmsg head{};
    head.ndm_family = AF_INET;
    head.ndm_state = NUD_NOARP;
    MessageBuilder builder(RTM_NEWNEIGH);
    builder.head(head).address(NDA_DST, "192.0.2.1").put(NDA_LLADDR, mac);
    const auto bytes = builder.bytes();
    NeighborEvent event;
    EXPECT_EQ(decode_neighbor(message_of(bytes), event), Decoded::kEvent);
    return event;
  };
  const NeighborEvent station = decode({2, 0, 0, 0, 0, 9});
  EXPECT_FALSE(station.removed);
  EXPECT_TRUE(station.neighbor.usable);
  EXPECT_EQ(station.neighbor.mac, (MacAddress{2, 0, 0, 0, 0, 9}));
  EXPECT_TRUE(decode({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}).removed) << "a broadcast's";
  EXPECT_TRUE(decode({0x01, 0, 0x5e, 0, 0, 5}).removed) << "a group's";
  EXPECT_TRUE(decode({}).removed) << "of the loopback device";
}

TEST(DecodeNextHop, ReadsSingleGatewayGroupAndBlackhole) {
  nhmsg head{};
  head.nh_family = AF_INET;
  NextHopEvent event;
  MessageBuilder single(RTM_NEWNEXTHOP);
  auto bytes =
      single.head(head).put(NHA_ID, 5U).put(NHA_OIF, 3).address(NHA_GATEWAY, "10.0.0.1").bytes();
  ASSERT_EQ(decode_nexthop(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.object.id, 5U);
  ASSERT_TRUE(event.object.next_hop);
  EXPECT_EQ(event.object.next_hop->gateway, IpAddress::parse("10.0.0.1"));
  EXPECT_EQ(event.object.next_hop->ifindex, 3);

  const nexthop_grp members[2] = {{5, 0, 0, 0}, {6, 9, 1, 0}};
  MessageBuilder group(RTM_NEWNEXTHOP);
  bytes = group.head(head)
              .put(NHA_ID, 7U)
              .put(NHA_GROUP_TYPE, uint16_t{NEXTHOP_GRP_TYPE_RES})
              .put(NHA_GROUP, members)
              .bytes();
  ASSERT_EQ(decode_nexthop(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.object.members, (std::vector<NextHopObject::Member>{{5, 1}, {6, 266}}));
  EXPECT_FALSE(event.object.next_hop);

  MessageBuilder blackhole(RTM_DELNEXTHOP);
  bytes = blackhole.head(head).put(NHA_ID, 8U).raw(NHA_BLACKHOLE, nullptr, 0).bytes();
  ASSERT_EQ(decode_nexthop(message_of(bytes), event), Decoded::kEvent);
  EXPECT_TRUE(event.object.blackhole);
  EXPECT_TRUE(event.removed);
}

TEST(DecodeNextHop, RefusesGroupOfBrokenSizeAndMissingId) {
  NextHopEvent event;
  MessageBuilder broken(RTM_NEWNEXTHOP);
  auto bytes = broken.head(nhmsg{}).put(NHA_ID, 7U).raw(NHA_GROUP, "1234567", 7).bytes();
  EXPECT_EQ(decode_nexthop(message_of(bytes), event), Decoded::kMalformed);
  MessageBuilder nameless(RTM_NEWNEXTHOP);
  bytes = nameless.head(nhmsg{}).put(NHA_OIF, 3).bytes();
  EXPECT_EQ(decode_nexthop(message_of(bytes), event), Decoded::kMalformed);
}

}  // namespace
}  // namespace hecto::router
