#include "router/linux/decode_labels.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/mpls_iptunnel.h>
#include <linux/nexthop.h>

#include "router/linux/decode_route.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

constexpr uint16_t kMpls = 1, kSeg6 = 5;
constexpr uint32_t kBottom = 0x100;

uint32_t entry(uint32_t label, bool last = false) {
  return htonl(label << 12 | (last ? kBottom : 0));
}

LabelStack stack(std::initializer_list<uint32_t> labels, std::optional<uint8_t> ttl = {}) {
  LabelStack made;
  for (const uint32_t label : labels) made.labels[made.count++] = label;
  made.ttl = ttl;
  return made;
}

// Puts on labels as `ip route add … encap mpls` says it.
void encap(MessageBuilder& builder, const std::vector<uint32_t>& entries,
           std::optional<uint8_t> ttl = {}, uint16_t type = kMpls) {
  builder.nest(RTA_ENCAP, [&](MessageBuilder& inside) {
    inside.raw(MPLS_IPTUNNEL_DST, entries.data(), entries.size() * 4);
    if (ttl) inside.put(MPLS_IPTUNNEL_TTL, *ttl);
  });
  builder.put(RTA_ENCAP_TYPE, type);
}

MessageBuilder ip_route() {
  rtmsg head{};
  head.rtm_family = AF_INET;
  head.rtm_dst_len = 24;
  head.rtm_table = RT_TABLE_MAIN;
  head.rtm_type = RTN_UNICAST;
  MessageBuilder builder(RTM_NEWROUTE);
  builder.head(head).address(RTA_DST, "10.2.0.0");
  return builder;
}

std::pair<Decoded, Route> decoded(MessageBuilder& builder) {
  const auto bytes = builder.bytes();
  RouteEvent event;
  const Decoded result = decode_route(message_of(bytes), event);
  return {result, event.route};
}

std::pair<Decoded, LabelRoute> decoded_label(MessageBuilder& builder) {
  const auto bytes = builder.bytes();
  LabelRouteEvent event;
  event.route.beyond = "of the message before";
  event.route.next_hops.resize(3);
  const Decoded result = decode_label_route(message_of(bytes), event);
  return {result, event.route};
}

MessageBuilder label_route(uint32_t label, uint16_t type = RTM_NEWROUTE) {
  rtmsg head{};
  head.rtm_family = AF_MPLS;
  head.rtm_dst_len = 20;
  head.rtm_protocol = 186;
  head.rtm_type = RTN_UNICAST;
  MessageBuilder builder(type);
  builder.head(head).put(RTA_DST, entry(label, true));
  return builder;
}

const std::array<uint8_t, 6> kVia4{AF_INET, 0, 192, 0, 2, 1};

TEST(DecodeLabels, ReadsWhatARoutePutsOn) {
  MessageBuilder builder = ip_route();
  encap(builder, {entry(100), entry(200, true)}, 64);
  builder.address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
  const auto [result, route] = decoded(builder);
  ASSERT_EQ(result, Decoded::kEvent);
  EXPECT_EQ(route.type, RouteType::kUnicast);
  ASSERT_EQ(route.next_hops.size(), 1u);
  EXPECT_EQ(route.next_hops[0].labels, stack({100, 200}, 64));
  EXPECT_EQ(route.next_hops[0].gateway, IpAddress::parse("192.0.2.1"));
}

TEST(DecodeLabels, ReadsThemOnEachLeg) {
  MessageBuilder builder = ip_route();
  builder.nest(RTA_MULTIPATH, [](MessageBuilder& legs) {
    legs.leg({0, 0, 0, 4}, [](MessageBuilder& leg) {
      leg.address(RTA_GATEWAY, "192.0.2.1");
      encap(leg, {entry(100, true)});
    });
    legs.leg({0, 0, 0, 5}, [](MessageBuilder& leg) { leg.address(RTA_GATEWAY, "192.0.2.9"); });
  });
  const auto [result, route] = decoded(builder);
  ASSERT_EQ(result, Decoded::kEvent);
  ASSERT_EQ(route.next_hops.size(), 2u);
  EXPECT_EQ(route.next_hops[0].labels, stack({100}));
  EXPECT_EQ(route.next_hops[1].labels.count, 0);
}

TEST(DecodeLabels, WhatOnlyLinuxCanDoIsLinuxs) {
  MessageBuilder five = ip_route();
  encap(five, {entry(1), entry(2), entry(4), entry(5), entry(6, true)});
  five.address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
  EXPECT_EQ(decoded(five).second.type, RouteType::kLocal);
  MessageBuilder seg6 = ip_route();
  encap(seg6, {entry(1, true)}, {}, kSeg6);
  seg6.address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
  EXPECT_EQ(decoded(seg6).second.type, RouteType::kLocal);
}

TEST(DecodeLabels, DamagedStacksAreMalformed) {
  const std::vector<std::vector<uint32_t>> wrong = {
      {}, {entry(100)}, {entry(100, true), entry(200, true)}, {entry(100, true), entry(200)}};
  for (const auto& entries : wrong) {
    MessageBuilder builder = ip_route();
    encap(builder, entries);
    builder.address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
    EXPECT_EQ(decoded(builder).first, Decoded::kMalformed) << entries.size();
  }
  MessageBuilder none = ip_route();
  none.put(RTA_ENCAP_TYPE, kMpls).address(RTA_GATEWAY, "192.0.2.1").put(RTA_OIF, 4);
  EXPECT_EQ(decoded(none).first, Decoded::kMalformed);
  const uint32_t whole = entry(100, true);
  for (size_t bytes = 1; bytes < 4; ++bytes) {
    MessageBuilder cut = label_route(300);
    cut.raw(RTA_NEWDST, &whole, bytes).put(RTA_VIA, kVia4).put(RTA_OIF, 4);
    EXPECT_EQ(decoded_label(cut).first, Decoded::kMalformed) << bytes;
  }
}

TEST(DecodeLabels, ReadsThoseOfNextHopObjects) {
  MessageBuilder builder(RTM_NEWNEXTHOP);
  builder.head(nhmsg{}).put(NHA_ID, 7U).put(NHA_OIF, 4).address(NHA_GATEWAY, "192.0.2.1");
  builder.put(NHA_ENCAP_TYPE, kMpls).nest(NHA_ENCAP, [](MessageBuilder& inside) {
    inside.put(MPLS_IPTUNNEL_DST, entry(100, true));
  });
  const auto bytes = builder.bytes();
  NextHopEvent event;
  ASSERT_EQ(decode_nexthop(message_of(bytes), event), Decoded::kEvent);
  ASSERT_TRUE(event.object.next_hop);
  EXPECT_EQ(event.object.next_hop->labels, stack({100}));
}

TEST(DecodeLabels, ReadsASwapAPopAndAWayIntoAVrf) {
  MessageBuilder swap = label_route(300);
  swap.put(RTA_NEWDST, std::array<uint32_t, 2>{entry(400), entry(500, true)});
  swap.put(RTA_VIA, kVia4).put(RTA_OIF, 4).put(RTA_TTL_PROPAGATE, uint8_t{0});
  const auto [result, route] = decoded_label(swap);
  ASSERT_EQ(result, Decoded::kEvent);
  EXPECT_EQ(route.label, 300u);
  EXPECT_EQ(route.protocol, 186);
  EXPECT_TRUE(route.beyond.empty());
  ASSERT_EQ(route.next_hops.size(), 1u);
  EXPECT_EQ(route.next_hops[0].labels, stack({400, 500}, 255)) << "and the TTL inside is its own";
  EXPECT_EQ(route.next_hops[0].gateway, IpAddress::parse("192.0.2.1"));
  EXPECT_EQ(route.next_hops[0].ifindex, 4);

  MessageBuilder pop = label_route(301);
  pop.put(RTA_VIA, kVia4).put(RTA_OIF, 4).put(RTA_TTL_PROPAGATE, uint8_t{1});
  EXPECT_EQ(decoded_label(pop).second.next_hops.at(0).labels, stack({}, 0));
  MessageBuilder vrf = label_route(302);
  vrf.put(RTA_OIF, 50);
  EXPECT_EQ(decoded_label(vrf).second.next_hops.at(0), (NextHop{{}, 50}));
}

TEST(DecodeLabels, ReadsSeveralWaysAndDeadOnes) {
  MessageBuilder builder = label_route(300);
  builder.nest(RTA_MULTIPATH, [](MessageBuilder& legs) {
    legs.leg({0, 0, 0, 4}, [](MessageBuilder& leg) {
      leg.put(RTA_NEWDST, entry(400, true)).put(RTA_VIA, kVia4);
    });
    legs.leg({0, RTNH_F_DEAD, 0, 5}, [](MessageBuilder& leg) { leg.put(RTA_VIA, kVia4); });
  });
  const auto [result, route] = decoded_label(builder);
  ASSERT_EQ(result, Decoded::kEvent);
  ASSERT_EQ(route.next_hops.size(), 2u);
  EXPECT_EQ(route.next_hops[0].labels, stack({400}));
  EXPECT_FALSE(route.next_hops[0].dead);
  EXPECT_TRUE(route.next_hops[1].dead);
  EXPECT_EQ(route.next_hops[1].weight, 1);
}

// Those of the kernel for labels 0 and 2 go to lo, by its address.
TEST(DecodeLabels, ALinkAddressIsLinuxsUnlessItIsLos) {
  MessageBuilder null = label_route(0);
  null.put(RTA_VIA, std::array<uint8_t, 8>{AF_PACKET}).put(RTA_OIF, 1);
  EXPECT_EQ(decoded_label(null).second.next_hops.at(0), (NextHop{{}, 1}));
  MessageBuilder other = label_route(300);
  other.put(RTA_VIA, std::array<uint8_t, 8>{AF_PACKET, 0, 2, 0, 0, 0, 0, 9}).put(RTA_OIF, 4);
  const LabelRoute route = decoded_label(other).second;
  EXPECT_EQ(route.beyond, "its next hop is a MAC address");
  EXPECT_TRUE(route.next_hops.empty());
}

TEST(DecodeLabels, WhatIsNoLabelIsNone) {
  MessageBuilder none(RTM_NEWROUTE);
  rtmsg head{};
  head.rtm_family = AF_MPLS;
  head.rtm_dst_len = 20;
  head.rtm_type = RTN_UNICAST;
  none.head(head).put(RTA_OIF, 4);
  EXPECT_EQ(decoded_label(none).first, Decoded::kMalformed);
  head.rtm_dst_len = 32;
  MessageBuilder longer(RTM_NEWROUTE);
  longer.head(head).put(RTA_DST, entry(300, true)).put(RTA_OIF, 4);
  EXPECT_EQ(decoded_label(longer).first, Decoded::kMalformed);
  MessageBuilder two = label_route(300);
  two.put(RTA_DST, std::array<uint32_t, 2>{entry(1), entry(2, true)});
  EXPECT_EQ(decoded_label(two).first, Decoded::kMalformed);
  const auto bytes = label_route(300).bytes();
  EXPECT_EQ(kind_of(message_of(bytes)), MessageKind::kLabelRoute);
  RouteEvent route;
  EXPECT_EQ(decode_route(message_of(bytes), route), Decoded::kIgnored);
}

}  // namespace
}  // namespace hecto::router
