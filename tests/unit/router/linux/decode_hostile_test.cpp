// Truncated and mutated messages: no read past the end (run under ASan), and what is still called
// an event keeps the promises of its type.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/mpls_iptunnel.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>

#include <cstdio>
#include <memory>
#include <random>

#include "router/linux/decode_bridge.hpp"
#include "router/linux/decode_labels.hpp"
#include "tests/beds/growth.hpp"
#include "tests/beds/seed.hpp"
#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

std::vector<std::vector<uint8_t>> samples() {
  std::vector<std::vector<uint8_t>> all;
  ifinfomsg link{};
  link.ifi_index = 9;
  all.push_back(MessageBuilder(RTM_NEWLINK)
                    .head(link)
                    .text(IFLA_IFNAME, "wan0.100")
                    .put(IFLA_ADDRESS, MacAddress{2, 0, 0, 0, 0, 1})
                    .put(IFLA_MTU, 1500U)
                    .put(IFLA_LINK, 7)
                    .nest(IFLA_LINKINFO,
                          [](MessageBuilder& info) {
                            info.text(IFLA_INFO_KIND, "vlan");
                            info.nest(IFLA_INFO_DATA, [](MessageBuilder& data) {
                              data.put(IFLA_VLAN_ID, uint16_t{100});
                            });
                          })
                    .bytes());
  ifaddrmsg address{};
  address.ifa_family = AF_INET6;
  address.ifa_prefixlen = 64;
  all.push_back(
      MessageBuilder(RTM_NEWADDR).head(address).address(IFA_ADDRESS, "2001:db8::1").bytes());
  ndmsg neighbor{};
  neighbor.ndm_family = AF_INET;
  neighbor.ndm_state = NUD_REACHABLE;
  all.push_back(MessageBuilder(RTM_NEWNEIGH)
                    .head(neighbor)
                    .address(NDA_DST, "192.0.2.1")
                    .put(NDA_LLADDR, MacAddress{2, 0, 0, 0, 0, 9})
                    .bytes());
  link.ifi_family = AF_BRIDGE;
  all.push_back(MessageBuilder(RTM_NEWLINK)
                    .head(link)
                    .nest(IFLA_PROTINFO,
                          [](MessageBuilder& port) { port.put(IFLA_BRPORT_STATE, uint8_t{3}); })
                    .bytes());
  br_vlan_msg vlan{};
  vlan.ifindex = 9;
  all.push_back(MessageBuilder(RTM_NEWVLAN)
                    .head(vlan)
                    .nest(BRIDGE_VLANDB_ENTRY,
                          [](MessageBuilder& entry) {
                            entry.put(BRIDGE_VLANDB_ENTRY_INFO, bridge_vlan_info{2, 1});
                            entry.put(BRIDGE_VLANDB_ENTRY_RANGE, uint16_t{9});
                          })
                    .bytes());
  neighbor.ndm_family = AF_BRIDGE;
  neighbor.ndm_ifindex = 9;
  all.push_back(MessageBuilder(RTM_NEWNEIGH)
                    .head(neighbor)
                    .put(NDA_LLADDR, MacAddress{2, 0, 0, 0, 0, 9})
                    .put(NDA_MASTER, 4)
                    .put(NDA_VLAN, uint16_t{7})
                    .bytes());
  const nexthop_grp members[3] = {{5, 0, 0, 0}, {6, 9, 1, 0}, {7, 255, 255, 0}};
  all.push_back(
      MessageBuilder(RTM_NEWNEXTHOP).head(nhmsg{}).put(NHA_ID, 7U).put(NHA_GROUP, members).bytes());
  all.push_back(MessageBuilder(RTM_NEWNEXTHOP)
                    .head(nhmsg{})
                    .put(NHA_ID, 8U)
                    .put(NHA_OIF, 2)
                    .address(NHA_GATEWAY, "fe80::1")
                    .bytes());
  rtmsg route{};
  route.rtm_family = AF_INET;
  route.rtm_dst_len = 23;
  route.rtm_type = RTN_UNICAST;
  route.rtm_table = RT_TABLE_MAIN;
  all.push_back(MessageBuilder(RTM_NEWROUTE)
                    .head(route)
                    .address(RTA_DST, "203.0.112.0")
                    .put(RTA_TABLE, 254U)
                    .put(RTA_PRIORITY, 20U)
                    .address(RTA_GATEWAY, "192.0.2.1")
                    .put(RTA_OIF, 4)
                    .bytes());
  route.rtm_family = AF_INET6;
  route.rtm_dst_len = 33;
  all.push_back(MessageBuilder(RTM_DELROUTE)
                    .head(route)
                    .address(RTA_DST, "2001:db8:8000::")
                    .nest(RTA_MULTIPATH,
                          [](MessageBuilder& legs) {
                            for (int i = 1; i < 5; ++i) {
                              legs.leg({0, 0, 0, i}, [](MessageBuilder& leg) {
                                leg.address(RTA_GATEWAY, "fe80::1");
                              });
                            }
                          })
                    .bytes());
  const auto encap = [](MessageBuilder& inside) {
    inside.put(MPLS_IPTUNNEL_DST,
               std::array<uint32_t, 2>{htonl(100u << 12), htonl(200u << 12 | 0x100)});
    inside.put(MPLS_IPTUNNEL_TTL, uint8_t{64});
  };
  route.rtm_family = AF_INET;
  route.rtm_dst_len = 24;
  all.push_back(MessageBuilder(RTM_NEWROUTE)
                    .head(route)
                    .address(RTA_DST, "203.0.112.0")
                    .put(RTA_ENCAP_TYPE, uint16_t{1})
                    .nest(RTA_ENCAP, encap)
                    .address(RTA_GATEWAY, "192.0.2.1")
                    .put(RTA_OIF, 4)
                    .bytes());
  all.push_back(MessageBuilder(RTM_NEWNEXTHOP)
                    .head(nhmsg{})
                    .put(NHA_ID, 9U)
                    .put(NHA_OIF, 2)
                    .address(NHA_GATEWAY, "192.0.2.1")
                    .put(NHA_ENCAP_TYPE, uint16_t{1})
                    .nest(NHA_ENCAP, encap)
                    .bytes());
  route.rtm_family = AF_MPLS;
  route.rtm_dst_len = 20;
  all.push_back(MessageBuilder(RTM_NEWROUTE)
                    .head(route)
                    .put(RTA_DST, htonl(300u << 12 | 0x100))
                    .put(RTA_TTL_PROPAGATE, uint8_t{0})
                    .nest(RTA_MULTIPATH,
                          [](MessageBuilder& legs) {
                            for (int i = 1; i < 4; ++i) {
                              legs.leg({0, 0, 0, i}, [](MessageBuilder& leg) {
                                leg.put(RTA_NEWDST, htonl(400u << 12 | 0x100));
                                leg.put(RTA_VIA, std::array<uint8_t, 6>{AF_INET, 0, 192, 0, 2, 1});
                              });
                            }
                          })
                    .bytes());
  return all;
}

void expect_sound(const IpPrefix& prefix) {
  ASSERT_LE(prefix.length, prefix.address.size() * 8);
  if (prefix.address.family == Family::kIpv4) {
    for (size_t i = 4; i < 16; ++i) ASSERT_EQ(prefix.address.bytes[i], 0);
  }
}

void expect_sound(const LabelStack& stack) {
  ASSERT_LE(stack.count, LabelStack::kMost);
  for (unsigned i = 0; i < stack.count; ++i) ASSERT_LT(stack.labels[i], kMostLabels);
}

// From a heap block of exactly the message's size, so that ASan sees one byte too many.
void decode_every_way(const std::vector<uint8_t>& bytes) {
  const auto exact = std::make_unique<uint8_t[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), exact.get());
  MessageWalker walker({exact.get(), bytes.size()});
  Message message;
  while (walker.next(message)) {
    static_cast<void>(kind_of(message));
    LinkEvent link;
    AddressEvent address;
    NeighborEvent neighbor;
    NextHopEvent object;
    RouteEvent route;
    if (decode_link(message, link) == Decoded::kEvent) {
      ASSERT_LT(link.link.name.size(), 16U);
      ASSERT_LE(link.link.vlan, 4095);
    }
    if (decode_address(message, address) == Decoded::kEvent) expect_sound(address.address.address);
    if (decode_neighbor(message, neighbor) == Decoded::kEvent) {
      ASSERT_FALSE(neighbor.neighbor.usable && neighbor.neighbor.state == NUD_FAILED);
    }
    BridgePortEvent port;
    BridgeVlansEvent vlans;
    FdbEvent fdb;
    static_cast<void>(decode_bridge_port(message, port));
    if (decode_bridge_vlans(message, vlans) == Decoded::kEvent) {
      for (const LinuxBridgeVlans& each : vlans.vlans) ASSERT_LE(each.first, each.last);
    }
    if (decode_fdb_entry(message, fdb) == Decoded::kEvent) {
      ASSERT_LT(fdb.entry.vlan, 4095);
    }
    if (decode_nexthop(message, object) == Decoded::kEvent) {
      ASSERT_NE(object.object.id, 0U);
      for (const auto& member : object.object.members) ASSERT_GE(member.weight, 1);
    }
    if (decode_route(message, route) == Decoded::kEvent) {
      expect_sound(route.route.prefix);
      ASSERT_EQ(route.route.prefix, route.route.prefix.network());
      ASSERT_TRUE(route.route.table != 0);
      for (const NextHop& hop : route.route.next_hops) ASSERT_GE(hop.weight, 1);
      for (const NextHop& hop : route.route.next_hops) expect_sound(hop.labels);
    }
    LabelRouteEvent label;
    if (decode_label_route(message, label) == Decoded::kEvent) {
      ASSERT_LT(label.route.label, kMostLabels);
      ASSERT_EQ(label.route.next_hops.empty(), !label.route.beyond.empty());
      for (const NextHop& hop : label.route.next_hops) expect_sound(hop.labels);
    }
  }
}

TEST(DecodeHostile, SurvivesEveryTruncation) {
  for (const auto& sample : samples()) {
    for (size_t size = 0; size < sample.size(); ++size) {
      std::vector<uint8_t> shorter(sample.begin(), sample.begin() + static_cast<long>(size));
      decode_every_way(shorter);  // the header's length lies
      if (size < sizeof(nlmsghdr)) continue;
      const auto length = static_cast<uint32_t>(size);
      std::memcpy(shorter.data(), &length, sizeof length);
      decode_every_way(shorter);  // the attributes' lengths lie
    }
  }
}

TEST(DecodeHostile, SurvivesRandomMutations) {
  const auto seed = static_cast<unsigned>(test_seed());
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto originals = samples();
  for (int round = 0; round < 60000; ++round) {
    auto bytes = originals[random() % originals.size()];
    const size_t mutations = 1 + random() % 4;
    for (size_t i = 0; i < mutations; ++i) {
      bytes[random() % bytes.size()] = static_cast<uint8_t>(
          random() % 2 == 0 ? random() : (random() % 2 == 0 ? 0xff : random() % 24));
    }
    decode_every_way(bytes);
    if (HasFatalFailure()) return;
  }
}

TEST(DecodeHostile, WalkerStopsAtLyingAttributeLength) {
  const uint8_t zero_length[] = {0, 0, 1, 0};
  const uint8_t too_long[] = {9, 0, 1, 0, 1, 2, 3, 4};
  const uint8_t half_header[] = {4, 0, 1};
  for (const Bytes bytes : {Bytes(zero_length), Bytes(too_long), Bytes(half_header)}) {
    AttributeWalker walker(bytes);
    Attribute attribute;
    EXPECT_FALSE(walker.next(attribute));
    EXPECT_TRUE(walker.malformed());
  }
}

// Some 5 million routes a second; as many as there are, not more work for each that went before.
TEST(DecodeSpeed, TakesTimeInProportionToTheMessages) {
  rtmsg head{};
  head.rtm_family = AF_INET;
  head.rtm_dst_len = 24;
  head.rtm_type = RTN_UNICAST;
  head.rtm_table = RT_TABLE_MAIN;
  MessageBuilder builder(RTM_NEWROUTE);
  const auto bytes = builder.head(head)
                         .put(RTA_TABLE, 254U)
                         .address(RTA_DST, "203.0.113.0")
                         .put(RTA_PRIORITY, 20U)
                         .address(RTA_GATEWAY, "192.0.2.1")
                         .put(RTA_OIF, 4)
                         .bytes();
  std::vector<uint8_t> datagram;
  for (int i = 0; i < 10000; ++i) datagram.insert(datagram.end(), bytes.begin(), bytes.end());
  const auto decode = [&](size_t messages) {
    MessageWalker walker{Bytes(datagram).first(messages * bytes.size())};
    RouteEvent event;
    Message message;
    size_t decoded = 0;
    while (walker.next(message)) decoded += decode_route(message, event) == Decoded::kEvent;
    EXPECT_EQ(decoded, messages);
  };
  const Growth ten = growth(
      10, [&] { decode(1000); }, [&] { decode(10000); });
  const double rate = 10000 / (ten.large_ms / 1e3);
  RecordProperty("routes_per_second", std::to_string(rate));
  std::printf("decode: %.1f million routes/s\n", rate / 1e6);
  EXPECT_LT(ten.times(), kInProportionOfTen);
}

}  // namespace
}  // namespace hecto::router
