#include "router/linux/decode_route.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

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

TEST(DecodeRoute, AThrowIsARouteThatLeadsNowhere) {
  MessageBuilder builder(RTM_NEWROUTE);
  builder.head(route_head(AF_INET6, 32, RTN_THROW)).address(RTA_DST, "2001:db8::");
  builder.put(RTA_OIF, 1);  // lo, as Linux says of IPv6
  const RouteEvent event = decode_or_die(builder);
  EXPECT_EQ(event.route.type, RouteType::kUnicast);
  EXPECT_TRUE(event.route.next_hops.empty());
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
  other.head(route_head(AF_INET, 0, RTN_NAT));
  EXPECT_EQ(verdict(other), Decoded::kIgnored);
}

TEST(DecodeRoute, ReadsTablesAboveAByte) {
  MessageBuilder table(RTM_NEWROUTE);
  table.head(route_head(AF_INET, 0, RTN_UNICAST, RT_TABLE_COMPAT)).put(RTA_TABLE, 1000U);
  table.put(RTA_OIF, 1);
  EXPECT_EQ(decode_or_die(table).route.table, 1000U);
}

TEST(DecodeRoute, IgnoresClonesAndSourceRoutes) {
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
  builder.put(RTA_ENCAP_TYPE, uint16_t{5});  // SRv6
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
