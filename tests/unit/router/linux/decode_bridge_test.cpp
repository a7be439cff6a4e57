#include "router/linux/decode_bridge.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>

#include "tests/unit/router/linux/message_builder.hpp"

namespace hecto::router {
namespace {

constexpr MacAddress kStation{2, 0, 0, 0, 0, 7};

LinkEvent link(const std::function<void(MessageBuilder&)>& linkinfo) {
  ifinfomsg head{};
  head.ifi_index = 9;
  MessageBuilder builder(RTM_NEWLINK);
  const auto bytes = builder.head(head).put(IFLA_MASTER, 4).nest(IFLA_LINKINFO, linkinfo).bytes();
  LinkEvent event;
  EXPECT_EQ(decode_link(message_of(bytes), event), Decoded::kEvent);
  return event;
}

TEST(DecodeBridge, ReadsWhatABridgeIsLike) {
  const LinkEvent event = link([](MessageBuilder& info) {
    info.text(IFLA_INFO_KIND, "bridge").nest(IFLA_INFO_DATA, [](MessageBuilder& data) {
      data.put(IFLA_BR_AGEING_TIME, 1000U).put(IFLA_BR_VLAN_FILTERING, uint8_t{1});
      data.put(IFLA_BR_VLAN_PROTOCOL, htons(0x88a8));
    });
  });
  EXPECT_EQ(event.link.bridge, (LinuxBridge{true, true, 1000}));
  EXPECT_FALSE(event.link.bridge_port);
}

TEST(DecodeBridge, ReadsWhatAPortIsLikeWithItsLink) {
  const LinkEvent event = link([](MessageBuilder& info) {
    info.text(IFLA_INFO_KIND, "tun").text(IFLA_INFO_SLAVE_KIND, "bridge");
    info.nest(IFLA_INFO_SLAVE_DATA, [](MessageBuilder& data) {
      data.put(IFLA_BRPORT_STATE, uint8_t{4}).put(IFLA_BRPORT_LEARNING, uint8_t{1});
      data.put(IFLA_BRPORT_MODE, uint8_t{1}).put(IFLA_BRPORT_ISOLATED, uint8_t{1});
    });
  });
  EXPECT_EQ(event.link.bridge_port, (LinuxBridgePort{false, false, true, true, false}));
  EXPECT_EQ(event.link.master, 4);
  const LinkEvent of_a_bond = link([](MessageBuilder& info) {
    info.text(IFLA_INFO_SLAVE_KIND, "bond").nest(IFLA_INFO_SLAVE_DATA, [](MessageBuilder& data) {
      data.put(IFLA_BRPORT_STATE, uint8_t{4});
    });
  });
  EXPECT_FALSE(of_a_bond.link.bridge_port);
}

TEST(DecodeBridge, WhatIsNotCarriedIsSeen) {
  for (const uint16_t type :
       {IFLA_BRPORT_NEIGH_SUPPRESS, IFLA_BRPORT_VLAN_TUNNEL, IFLA_BRPORT_LOCKED})
    for (const uint8_t on : {0, 1}) {
      const LinkEvent event = link([&](MessageBuilder& info) {
        info.text(IFLA_INFO_SLAVE_KIND, "bridge");
        info.nest(IFLA_INFO_SLAVE_DATA, [&](MessageBuilder& data) { data.put(type, on); });
      });
      EXPECT_EQ(event.link.bridge_port->beyond, on == 1) << type;
      EXPECT_TRUE(event.link.bridge_port->forwards);
    }
}

TEST(DecodeBridge, ReadsAPortsStateWhenThatAloneChanges) {
  for (const uint8_t state : {0, 1, 2, 3, 4}) {
    ifinfomsg head{};
    head.ifi_family = AF_BRIDGE;
    head.ifi_index = 9;
    MessageBuilder builder(RTM_NEWLINK);
    builder.head(head).text(IFLA_IFNAME, "wan0");
    builder.nest(IFLA_PROTINFO, [&](MessageBuilder& port) { port.put(IFLA_BRPORT_STATE, state); });
    const auto bytes = builder.bytes();
    BridgePortEvent event;
    ASSERT_EQ(kind_of(message_of(bytes)), MessageKind::kLink);
    ASSERT_EQ(decode_bridge_port(message_of(bytes), event), Decoded::kEvent);
    EXPECT_EQ(event.ifindex, 9);
    EXPECT_EQ(event.port.forwards, state == 3) << int{state};
    EXPECT_EQ(event.port.learns, state == 2 || state == 3) << int{state};
    LinkEvent no_link;
    EXPECT_EQ(decode_link(message_of(bytes), no_link), Decoded::kIgnored);
  }
}

std::vector<uint8_t> vlan_message(uint16_t type, bridge_vlan_info info, uint16_t last) {
  br_vlan_msg head{};
  head.family = AF_BRIDGE;
  head.ifindex = 9;
  MessageBuilder builder(type);
  builder.head(head).nest(BRIDGE_VLANDB_ENTRY, [&](MessageBuilder& entry) {
    entry.put(BRIDGE_VLANDB_ENTRY_INFO, info);
    if (last != 0) entry.put(BRIDGE_VLANDB_ENTRY_RANGE, last);
  });
  return builder.bytes();
}

TEST(DecodeBridge, ReadsVlans) {
  BridgeVlansEvent event;
  auto bytes = vlan_message(RTM_NEWVLAN, {BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED, 1}, 0);
  ASSERT_EQ(kind_of(message_of(bytes)), MessageKind::kBridgeVlan);
  ASSERT_EQ(decode_bridge_vlans(message_of(bytes), event), Decoded::kEvent);
  ASSERT_EQ(event.vlans.size(), 1u);
  EXPECT_EQ(event.vlans[0].ifindex, 9);
  EXPECT_EQ(event.vlans[0].last, 1);
  EXPECT_TRUE(event.vlans[0].pvid && event.vlans[0].untagged && !event.removed);
  bytes = vlan_message(RTM_DELVLAN, {0, 10}, 20);
  ASSERT_EQ(decode_bridge_vlans(message_of(bytes), event), Decoded::kEvent);
  EXPECT_TRUE(event.removed && is_removal(message_of(bytes)));
  EXPECT_EQ(event.vlans[0].first, 10);
  EXPECT_EQ(event.vlans[0].last, 20);
  for (const auto& [first, last] : {std::pair{0, 0}, {4095, 0}, {1, 4095}}) {
    bytes =
        vlan_message(RTM_NEWVLAN, {0, static_cast<uint16_t>(first)}, static_cast<uint16_t>(last));
    EXPECT_EQ(decode_bridge_vlans(message_of(bytes), event), Decoded::kMalformed);
  }
}

Decoded fdb(FdbEvent& event, ndmsg head, const std::function<void(MessageBuilder&)>& more,
            uint16_t type = RTM_NEWNEIGH) {
  head.ndm_family = AF_BRIDGE;
  head.ndm_ifindex = 9;
  MessageBuilder builder(type);
  builder.head(head).put(NDA_LLADDR, kStation);
  more(builder);
  const auto bytes = builder.bytes();
  EXPECT_EQ(kind_of(message_of(bytes)), MessageKind::kFdb);
  NeighborEvent no_neighbor;
  EXPECT_EQ(decode_neighbor(message_of(bytes), no_neighbor), Decoded::kIgnored);
  return decode_fdb_entry(message_of(bytes), event);
}

TEST(DecodeBridge, ReadsEntriesOfTheForwardingDatabase) {
  FdbEvent event;
  const auto of_bridge = [](MessageBuilder& more) {
    more.put(NDA_MASTER, 4).put(NDA_VLAN, uint16_t{7});
  };
  ndmsg head{};
  head.ndm_state = NUD_REACHABLE;
  ASSERT_EQ(fdb(event, head, of_bridge), Decoded::kEvent);
  EXPECT_EQ(event.entry, (LinuxFdbEntry{4, 9, 7, kStation, false, false}));
  head.ndm_state = NUD_NOARP;
  ASSERT_EQ(fdb(event, head, of_bridge, RTM_DELNEIGH), Decoded::kEvent);
  EXPECT_EQ(event.entry, (LinuxFdbEntry{4, 9, 7, kStation, false, true}));
  EXPECT_TRUE(event.removed);
  head.ndm_state = NUD_PERMANENT;
  ASSERT_EQ(fdb(event, head, of_bridge), Decoded::kEvent);
  EXPECT_TRUE(event.entry.local);
  EXPECT_EQ(fdb(event, head, [](MessageBuilder&) {}), Decoded::kIgnored) << "of no bridge";
}

}  // namespace
}  // namespace hecto::router
