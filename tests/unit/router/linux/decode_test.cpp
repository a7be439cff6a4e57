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

rtmsg route_head(int family, uint8_t length, uint8_t type = RTN_UNICAST,
                 uint8_t table = RT_TABLE_MAIN) {
  rtmsg head{};
  head.rtm_family = static_cast<uint8_t>(family);
  head.rtm_dst_len = length;
  head.rtm_table = table;
  head.rtm_protocol = RTPROT_STATIC;
  head.rtm_type = type;
  return head;
}

RouteEvent decode_or_die(MessageBuilder& builder) {
  const auto bytes = builder.bytes();
  RouteEvent event;
  EXPECT_EQ(decode_route(message_of(bytes), event), Decoded::kEvent);
  return event;
}

Decoded verdict(MessageBuilder& builder) {
  const auto bytes = builder.bytes();
  RouteEvent event;
  return decode_route(message_of(bytes), event);
}

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

TEST(DecodeLink, ReadsVlanIdAndParentOf8021q) {
  for (const uint16_t protocol : {0x8100, 0x88a8}) {
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
    EXPECT_EQ(event.link.parent, protocol == 0x8100 ? 7 : 0);
    EXPECT_EQ(event.link.vlan, protocol == 0x8100 ? 100 : 0);
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

TEST(DecodeLink, IgnoresBridgePortMessages) {
  ifinfomsg head{};
  head.ifi_family = AF_BRIDGE;
  head.ifi_index = 7;
  MessageBuilder builder(RTM_DELLINK);
  const auto bytes = builder.head(head).text(IFLA_IFNAME, "wan0").bytes();
  LinkEvent event;
  EXPECT_EQ(decode_link(message_of(bytes), event), Decoded::kIgnored);
  EXPECT_EQ(kind_of(message_of(bytes)), MessageKind::kOther);
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

TEST(DecodeRoute, ReadsGatewayMetricAndReplace) {
  MessageBuilder builder(RTM_NEWROUTE, NLM_F_REPLACE);
  builder.head(route_head(AF_INET, 24)).address(RTA_DST, "203.0.113.255");
  builder.put(RTA_PRIORITY, 20U).address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
  const RouteEvent event = decode_or_die(builder);
  EXPECT_EQ(event.route.prefix.to_string(), "203.0.113.0/24");  // host bits cleared
  EXPECT_EQ(event.route.metric, 20U);
  EXPECT_EQ(event.route.protocol, RTPROT_STATIC);
  ASSERT_EQ(event.route.next_hops.size(), 1U);
  EXPECT_EQ(event.route.next_hops[0], (NextHop{IpAddress::parse("192.0.2.1"), 4}));
  EXPECT_TRUE(event.replace);
  EXPECT_FALSE(event.removed);
}

TEST(DecodeRoute, ReadsMultipathWithWeightsViaAndDeadLegs) {
  MessageBuilder builder(RTM_NEWROUTE);
  builder.head(route_head(AF_INET, 0));
  builder.nest(RTA_MULTIPATH, [](MessageBuilder& legs) {
    legs.leg({0, 0, 1, 4}, [](MessageBuilder& leg) { leg.address(RTA_GATEWAY, "192.0.2.1"); });
    legs.leg({0, RTNH_F_LINKDOWN, 0, 5}, [](MessageBuilder& leg) {
      std::array<uint8_t, 18> via{AF_INET6, 0, 0xfe, 0x80};
      via[17] = 1;
      leg.put(RTA_VIA, via);
    });
  });
  const RouteEvent event = decode_or_die(builder);
  ASSERT_EQ(event.route.next_hops.size(), 2U);
  EXPECT_EQ(event.route.next_hops[0].weight, 2);
  EXPECT_FALSE(event.route.next_hops[0].dead);
  EXPECT_EQ(event.route.next_hops[1].gateway, IpAddress::parse("fe80::1"));
  EXPECT_TRUE(event.route.next_hops[1].dead);
}

TEST(DecodeRoute, NextHopObjectHidesTheCompatibilityAttributes) {
  MessageBuilder builder(RTM_NEWROUTE);
  builder.head(route_head(AF_INET, 8)).address(RTA_DST, "10.0.0.0").put(RTA_NH_ID, 17U);
  builder.address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
  const RouteEvent event = decode_or_die(builder);
  EXPECT_EQ(event.route.nexthop_object, 17U);
  EXPECT_TRUE(event.route.next_hops.empty());
}

TEST(DecodeRoute, MapsTypes) {
  const std::pair<uint8_t, RouteType> kTypes[] = {
      {RTN_LOCAL, RouteType::kLocal},         {RTN_ANYCAST, RouteType::kLocal},
      {RTN_BROADCAST, RouteType::kBroadcast}, {RTN_MULTICAST, RouteType::kMulticast},
      {RTN_BLACKHOLE, RouteType::kBlackhole}, {RTN_UNREACHABLE, RouteType::kUnreachable},
      {RTN_PROHIBIT, RouteType::kProhibit}};
  for (const auto& [kernel, ours] : kTypes) {
    MessageBuilder builder(RTM_NEWROUTE);
    builder.head(route_head(AF_INET6, 128, kernel, RT_TABLE_LOCAL));
    builder.address(RTA_DST, "2001:db8::1").put(RTA_OIF, 1);
    EXPECT_EQ(decode_or_die(builder).route.type, ours);
  }
  MessageBuilder other(RTM_NEWROUTE);
  other.head(route_head(AF_INET, 0, RTN_THROW));
  EXPECT_EQ(verdict(other), Decoded::kIgnored);
}

TEST(DecodeRoute, IgnoresOtherTablesClonesAndSourceRoutes) {
  MessageBuilder table(RTM_NEWROUTE);
  table.head(route_head(AF_INET, 0, RTN_UNICAST, RT_TABLE_UNSPEC)).put(RTA_TABLE, 1000U);
  EXPECT_EQ(verdict(table.put(RTA_OIF, 1)), Decoded::kIgnored);
  rtmsg head = route_head(AF_INET, 0);
  head.rtm_flags = RTM_F_CLONED;
  MessageBuilder clone(RTM_NEWROUTE);
  EXPECT_EQ(verdict(clone.head(head).put(RTA_OIF, 1)), Decoded::kIgnored);
  head = route_head(AF_INET6, 0);
  head.rtm_src_len = 64;
  MessageBuilder source(RTM_NEWROUTE);
  EXPECT_EQ(verdict(source.head(head).put(RTA_OIF, 1)), Decoded::kIgnored);
  MessageBuilder null_entry(RTM_NEWROUTE);
  null_entry.head(route_head(AF_INET6, 0, RTN_UNREACHABLE, RT_TABLE_UNSPEC));
  EXPECT_EQ(verdict(null_entry), Decoded::kIgnored);
}

TEST(DecodeRoute, UnspecifiedTableIsMainInIpv4) {
  MessageBuilder builder(RTM_NEWROUTE);
  builder.head(route_head(AF_INET, 0, RTN_UNICAST, RT_TABLE_UNSPEC)).put(RTA_OIF, 1);
  EXPECT_EQ(decode_or_die(builder).route.table, 254U);
}

TEST(DecodeRoute, EncapsulatedRouteGoesToLinux) {
  MessageBuilder builder(RTM_NEWROUTE);
  builder.head(route_head(AF_INET, 0)).address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 1);
  builder.put(RTA_ENCAP_TYPE, uint16_t{1});  // MPLS
  EXPECT_EQ(decode_or_die(builder).route.type, RouteType::kLocal);
}

TEST(DecodeRoute, ReadsTheMtu) {
  const auto mtu_of = [](uint32_t mtu) {
    MessageBuilder builder(RTM_NEWROUTE);
    builder.head(route_head(AF_INET, 0)).address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 1);
    builder.nest(RTA_METRICS, [&](MessageBuilder& metrics) {
      metrics.put(RTAX_LOCK, 1U << RTAX_MTU).put(RTAX_MTU, mtu).put(RTAX_WINDOW, 7000U);
    });
    return decode_or_die(builder).route.mtu;
  };
  EXPECT_EQ(mtu_of(1300), 1300);
  EXPECT_EQ(mtu_of(100'000), 65535);
  MessageBuilder none(RTM_NEWROUTE);
  none.head(route_head(AF_INET, 0)).address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 1);
  RouteEvent event;
  event.route.mtu = 1300;  // of the message before
  const auto bytes = none.bytes();
  ASSERT_EQ(decode_route(message_of(bytes), event), Decoded::kEvent);
  EXPECT_EQ(event.route.mtu, 0);
  MessageBuilder broken(RTM_NEWROUTE);
  broken.head(route_head(AF_INET, 0)).put(RTA_OIF, 1).raw(RTA_METRICS, "\xff\xff\1\0", 4);
  EXPECT_EQ(verdict(broken), Decoded::kMalformed);
}

TEST(DecodeRoute, ComesFirstWhereAnIpv4NotificationSaysSo) {
  const auto first = [](int family, uint16_t type, uint16_t flags) {
    MessageBuilder builder(type, flags);
    builder.head(route_head(family, 0)).put(RTA_OIF, 1);
    return decode_or_die(builder).route.first;
  };
  EXPECT_TRUE(first(AF_INET, RTM_NEWROUTE, NLM_F_CREATE));
  EXPECT_FALSE(first(AF_INET, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_APPEND));
  EXPECT_FALSE(first(AF_INET, RTM_NEWROUTE, NLM_F_REPLACE));
  EXPECT_FALSE(first(AF_INET, RTM_NEWROUTE, NLM_F_MULTI));
  EXPECT_FALSE(first(AF_INET, RTM_DELROUTE, 0));
  EXPECT_FALSE(first(AF_INET6, RTM_NEWROUTE, NLM_F_CREATE));
}

TEST(DecodeRoute, ReplacesOnlyWhereANotificationSaysSo) {
  const auto build = [](uint16_t type, uint16_t flags) {
    MessageBuilder builder(type, flags);
    builder.head(route_head(AF_INET6, 0)).address(RTA_GATEWAY, "fe80::1").put(RTA_OIF, 1);
    return decode_or_die(builder).replace;
  };
  EXPECT_TRUE(build(RTM_NEWROUTE, NLM_F_REPLACE));
  EXPECT_FALSE(build(RTM_NEWROUTE, NLM_F_APPEND));
  EXPECT_FALSE(build(RTM_NEWROUTE, NLM_F_REPLACE | NLM_F_MULTI));
  EXPECT_FALSE(build(RTM_DELROUTE, NLM_F_REPLACE));
}

TEST(DecodeRoute, RefusesWrongSizesAndMissingDestination) {
  MessageBuilder missing(RTM_NEWROUTE);
  EXPECT_EQ(verdict(missing.head(route_head(AF_INET, 8)).put(RTA_OIF, 1)), Decoded::kMalformed);
  MessageBuilder long_prefix(RTM_NEWROUTE);
  long_prefix.head(route_head(AF_INET, 33)).address(RTA_DST, "10.0.0.0").put(RTA_OIF, 1);
  EXPECT_EQ(verdict(long_prefix), Decoded::kMalformed);
  MessageBuilder wrong_family(RTM_NEWROUTE);
  wrong_family.head(route_head(AF_INET, 8)).address(RTA_DST, "2001:db8::").put(RTA_OIF, 1);
  EXPECT_EQ(verdict(wrong_family), Decoded::kMalformed);
  MessageBuilder nowhere(RTM_NEWROUTE);
  EXPECT_EQ(verdict(nowhere.head(route_head(AF_INET, 0))), Decoded::kMalformed);
  MessageBuilder leg(RTM_NEWROUTE);
  const rtnexthop lying{4096, 0, 0, 1};
  EXPECT_EQ(verdict(leg.head(route_head(AF_INET, 0)).put(RTA_MULTIPATH, lying)),
            Decoded::kMalformed);
}

}  // namespace
}  // namespace hecto::router
