// MPLS: labels that routes put on, and what becomes of frames that come in with some.
#include "router/dataplane/stages/labels.hpp"

#include "tests/unit/router/dataplane/stages/labels_bed.hpp"

namespace hecto::router::test {
namespace {

using Stack = std::vector<Entry>;

class LabelsTest : public LabelsBed {};

// ---- Push ----

TEST_F(LabelsTest, ARoutePutsItsLabelsOn) {
  push("10.77.0.0/24", by_right({100, 200}));
  push("fd00:77::/64", by_right({100}));
  const Frame four = from_host4("10.77.0.1");
  const Frame out = through(four);
  ASSERT_EQ(out.size(), four.size() + 8);
  EXPECT_EQ(std::memcmp(out.data(), own_mac(1).data(), 6), 0) << "to the next hop";
  EXPECT_EQ(std::memcmp(out.data() + 6, own_mac(1).data(), 6), 0);
  EXPECT_EQ(stack_of(out), (Stack{{100, 63, false}, {200, 63, true}}));
  EXPECT_EQ(out[kIp + 8 + 8], 63);
  EXPECT_EQ(full_checksum(&out[kIp + 8], 20), 0);
  EXPECT_EQ(std::memcmp(&out[kIp + 8 + 12], &four[kIp + 12], four.size() - kIp - 12), 0);
  EXPECT_EQ(counters(1).tx_packets.get(), 1u);
  EXPECT_EQ(counters(1).tx_bytes.get(), four.size() - kIp + 8);

  const Frame six = from_host6("fd00:77::1");
  const Frame out6 = through(six);
  ASSERT_EQ(out6.size(), six.size() + 4);
  EXPECT_EQ(stack_of(out6), (Stack{{100, 63, true}}));
  EXPECT_EQ(out6[kIp + 4 + 7], 63);
}

TEST_F(LabelsTest, ItsTtlIsThePacketsOrTheRoutes) {
  push("10.77.0.0/24", by_right({100}, 7));
  push("10.78.0.0/24", by_right({100}, 0));
  EXPECT_EQ(stack_of(through(from_host4("10.77.0.1"))), (Stack{{100, 7, true}}));
  EXPECT_EQ(stack_of(through(from_host4("10.78.0.1", 2))), (Stack{{100, 1, true}}));
  const Frame expired = from_host4("10.77.0.1", 1);
  EXPECT_EQ(refused(expired), std::vector{Reason::kTtlExpired});
  EXPECT_EQ(left_.refused_frames().at(0).second, expired) << "as it came in";
}

TEST_F(LabelsTest, WhatIsTooLongForItsLabelsIsAnsweredOrCut) {
  push("10.77.0.0/24", by_right({100, 200}));
  FrameOptions options = from_host("10.1.0.1", "10.77.0.1", 1492 - 20);
  options.flags_and_offset = kDontFragment;
  EXPECT_EQ(stack_of(through(ipv4_frame(options))).size(), 2u) << "1492 fit";
  ++options.payload_bytes;
  left_.run({packet(ipv4_frame(options))}, 0);
  EXPECT_TRUE(frames(1).empty());
  const auto answers = frames(0);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0][kIp + 20], 3) << "unreachable";
  EXPECT_EQ(answers[0][kIp + 21], 4) << "fragmentation needed";
  EXPECT_EQ(load16_be(&answers[0][kIp + 26]), 1492);
  options.flags_and_offset = 0;
  left_.run({packet(ipv4_frame(options))}, 0);
  const auto cut = frames(1);
  ASSERT_EQ(cut.size(), 2u);
  for (const Frame& each : cut) {
    EXPECT_EQ(stack_of(each), (Stack{{100, 63, false}, {200, 63, true}}));
    EXPECT_EQ(full_checksum(&each[kIp + 8], 20), 0);
    EXPECT_LE(each.size(), kIp + 1500u);
  }
}

TEST_F(LabelsTest, LabelledAndPlainPacketsOfOneChunkEachGoTheirWay) {
  push("10.77.0.0/24", by_right({100}));
  for (const bool labelled_first : {true, false}) {
    std::vector<rte_mbuf*> packets;
    for (unsigned i = 0; i < 64; ++i)
      packets.push_back(
          packet(from_host4((i % 2 == 0) == labelled_first ? "10.77.0.1" : "10.2.0.1")));
    left_.run(packets, 0);
    unsigned labels = 0;
    const std::vector<Frame> out = frames(1);
    ASSERT_EQ(out.size(), 64u);
    for (const Frame& frame : out) {
      const bool with = !stack_of(frame).empty();
      labels += with;
      if (with) {
        EXPECT_EQ(stack_of(frame), (Stack{{100, 63, true}}));
      }
      EXPECT_EQ(full_checksum(&frame[kIp + (with ? 4 : 0)], 20), 0);
    }
    EXPECT_EQ(labels, 32u);
  }
  EXPECT_EQ(counters(1).tx_packets.get(), 128u);
  EXPECT_EQ(counters(1).tx_bytes.get(), 128u * 120 + 64 * 4);
}

// Checksums that carry are written another way.
TEST_F(LabelsTest, EveryChecksumIsMended) {
  push("10.77.0.0/24", by_right({100, 200}));
  for (unsigned number = 0; number < 0x10000;) {
    std::vector<rte_mbuf*> packets;
    for (; packets.size() < 256 && number < 0x10000; ++number) {
      Frame frame = from_host4("10.77.0.1");
      store16_be(&frame[kIp + 4], number);
      fix_checksum(frame);
      packets.push_back(packet(frame));
    }
    left_.run(packets, 0);
    const std::vector<Frame> out = frames(1);
    ASSERT_EQ(out.size(), packets.size());
    for (const Frame& frame : out) {
      ASSERT_EQ(stack_of(frame), (Stack{{100, 63, false}, {200, 63, true}}));
      ASSERT_EQ(full_checksum(&frame[kIp + 8], 20), 0);
    }
  }
}

TEST_F(LabelsTest, WhatGoesBackByItsInterfaceIsTold) {
  NextHop back;
  back.gateway = IpAddress::parse("10.1.0.1");
  back.interface = 0;
  back.labels.labels[0] = 100;
  back.labels.count = 1;
  push("10.77.0.0/24", back);
  left_.snapshot().interfaces[0].redirects4 = true;
  left_.snapshot().punt_pps[static_cast<size_t>(Reason::kRedirect)] = 100;
  EXPECT_EQ(refused(from_host4("10.77.0.1")), std::vector{Reason::kRedirect});
}

// ---- Swap, pop ----

TEST_F(LabelsTest, ALabelIsSwapped) {
  label(300, {by_right({400})});
  label(301, {by_right({401, 402})});
  const Frame ip = from_host4("203.0.113.1");
  const Frame in = labelled(ip, {{300, 64, true}});
  const Frame out = through(in);
  ASSERT_EQ(out.size(), in.size());
  EXPECT_EQ(stack_of(out), (Stack{{400, 63, true}}));
  EXPECT_EQ(std::memcmp(&out[kIp + 4], &ip[kIp], ip.size() - kIp), 0) << "what is inside stays";
  EXPECT_EQ(stack_of(through(labelled(ip, {{301, 9, true}}))),
            (Stack{{401, 8, false}, {402, 8, true}}));
  EXPECT_EQ(stack_of(through(labelled(ip, {{300, 9, false}, {17, 5, false}, {18, 6, true}}))),
            (Stack{{400, 8, false}, {17, 5, false}, {18, 6, true}}));
  EXPECT_EQ(counters(0).rx_packets.get(), 3u);
  EXPECT_EQ(counters(1).tx_packets.get(), 3u);
  EXPECT_EQ(counters(0).rx_bytes.get(), counters(1).tx_bytes.get() - 4);
  EXPECT_EQ(left_.pipeline().counters().ports[0].rx_packets.get(), 0u) << "counted by receive()";
}

TEST_F(LabelsTest, TheLastLabelIsPoppedToIp) {
  label(300, {by_right({})});
  const Frame four = from_host4("203.0.113.1", 200), six = from_host6("2001:db8:9::1", 200);
  const Frame out4 = through(labelled(four, {{300, 64, true}}));
  ASSERT_EQ(out4.size(), four.size());
  EXPECT_EQ(load16_native(&out4[12]), kEtherIpv4);
  EXPECT_EQ(out4[kIp + 8], 63) << "the label's (RFC 3443)";
  EXPECT_EQ(full_checksum(&out4[kIp], 20), 0);
  const Frame out6 = through(labelled(six, {{300, 64, true}}));
  ASSERT_EQ(out6.size(), six.size());
  EXPECT_EQ(load16_native(&out6[12]), kEtherIpv6);
  EXPECT_EQ(out6[kIp + 7], 63);
  const Frame inner = through(labelled(four, {{300, 64, false}, {17, 5, true}}));
  EXPECT_EQ(stack_of(inner), (Stack{{17, 5, true}})) << "with its own TTL, as Linux does";
}

TEST_F(LabelsTest, APipeKeepsTheTtlInside) {
  label(300, {by_right({}, 255)});
  const Frame out = through(labelled(from_host4("203.0.113.1", 200), {{300, 64, true}}));
  ASSERT_FALSE(out.empty());
  EXPECT_EQ(out[kIp + 8], 199);
  EXPECT_EQ(full_checksum(&out[kIp], 20), 0);
  EXPECT_EQ(refused(labelled(from_host4("203.0.113.1", 1), {{300, 64, true}})),
            std::vector{Reason::kMplsTtl});
}

TEST_F(LabelsTest, ALabelsTtlEnds) {
  label(300, {by_right({400})});
  for (const uint8_t ttl : {0, 1})
    EXPECT_EQ(refused(labelled(from_host4("203.0.113.1"), {{300, ttl, true}})),
              std::vector{Reason::kMplsTtl});
  EXPECT_EQ(stack_of(through(labelled(from_host4("203.0.113.1"), {{300, 2, true}}))),
            (Stack{{400, 1, true}}));
}

TEST_F(LabelsTest, UnknownLabelsAreDroppedAndReservedOnesLinuxs) {
  label(300, {by_right({400})});
  const Frame ip = from_host4("203.0.113.1");
  EXPECT_EQ(refused(labelled(ip, {{301, 64, true}})), std::vector{Reason::kMplsLabel});
  EXPECT_EQ(refused(labelled(ip, {{0xfffff, 64, true}})), std::vector{Reason::kMplsLabel});
  for (const uint32_t reserved : {0, 1, 3, 13, 15})
    EXPECT_EQ(refused(labelled(ip, {{reserved, 64, true}})), std::vector{Reason::kOtherProtocol});
}

TEST_F(LabelsTest, WhatIsTooLongIsDropped) {
  label(300, {by_right({400})});
  label(301, {by_right({400, 401})});
  const Frame fits = from_host4("203.0.113.1", 64, 1496 - 20);
  EXPECT_EQ(through(labelled(fits, {{300, 64, true}})).size(), kIp + 1500u);
  EXPECT_EQ(refused(labelled(fits, {{301, 64, true}})), std::vector{Reason::kMplsTooBig});
}

TEST_F(LabelsTest, ADeadWayAndAnUnknownNeighbor) {
  NextHop unknown = by_right({400});
  unknown.gateway = IpAddress::parse("192.0.2.77");
  label(300, {unknown});
  const Frame in = labelled(from_host4("203.0.113.1"), {{300, 64, true}});
  EXPECT_EQ(refused(in), std::vector{Reason::kOtherProtocol}) << "Linux finds it";
  EXPECT_EQ(left_.refused_frames().at(0).second, in);
  NextHop dead = by_right({400});
  dead.dead = true;
  label(301, {dead});
  EXPECT_EQ(refused(labelled(from_host4("203.0.113.1"), {{301, 64, true}})),
            std::vector{Reason::kInterfaceDown});
}

TEST_F(LabelsTest, FlowsSpreadOverSeveralWays) {
  label(300, {by_right({400}), by_right({401})});
  std::set<uint32_t> labels;
  for (unsigned flow = 0; flow < 64; ++flow) {
    Frame ip = from_host4("203.0.113.1");
    store16_be(&ip[kIp + 20], 1000 + flow);
    std::set<uint32_t> of_flow;
    for (int again = 0; again < 2; ++again) {
      const Stack out = stack_of(through(labelled(ip, {{300, 64, false}, {17, 9, true}})));
      ASSERT_EQ(out.size(), 2u);
      of_flow.insert(out[0].label);
    }
    EXPECT_EQ(of_flow.size(), 1u) << "a flow takes one way";
    labels.merge(of_flow);
  }
  EXPECT_EQ(labels, (std::set<uint32_t>{400, 401}));
}

// ---- Who it is for, and by which interface ----

TEST_F(LabelsTest, OthersFramesAndInterfacesThatAreNotAskedStay) {
  label(300, {by_right({400})});
  const Frame good = labelled(from_host4("203.0.113.1"), {{300, 64, true}});
  Frame other = good;
  other[5] ^= 0x40;
  EXPECT_EQ(refused(other), std::vector{Reason::kNotForUs});
  Frame looped = good;
  std::memcpy(&looped[6], own_mac(0).data(), 6);
  EXPECT_EQ(refused(looped), std::vector{Reason::kLooped});
  left_.snapshot().interfaces[0].labels = false;
  EXPECT_EQ(refused(good), std::vector{Reason::kOtherProtocol}) << "net.mpls.conf";
  left_.snapshot().interfaces[0].labels = true;
  left_.snapshot().interfaces[0].up = false;
  EXPECT_EQ(refused(good), std::vector{Reason::kInterfaceDown});
  left_.snapshot().interfaces[0].up = true;
  left_.snapshot().label_flag = 0;
  EXPECT_EQ(refused(good), std::vector{Reason::kOtherProtocol});
}

TEST_F(LabelsTest, TagsComeAndGo) {
  auto vlans = std::make_shared<std::array<InterfaceId, 4096>>();
  vlans->fill(kNoInterface);
  (*vlans)[100] = InterfaceId(5);
  left_.snapshot().ports[0].tagged.vlans = vlans;
  InterfaceView& view = left_.snapshot().interfaces[5];
  view.up = view.labels = view.counters = true;
  InterfaceState tagged;
  tagged.id = 6;
  tagged.name = "out.200";
  tagged.port = 1;
  tagged.tags = {200, 0, false};
  tagged.mac = own_mac(1);
  tagged.addresses = {*IpPrefix::parse_interface("192.0.3.1/24")};
  ASSERT_TRUE(left_.routing().add_interface(tagged));
  ASSERT_TRUE(left_.routing().add_neighbor(6, *IpAddress::parse("192.0.3.2"), own_mac(1)));
  NextHop by_tag = by_right({500});
  by_tag.gateway = IpAddress::parse("192.0.3.2");
  by_tag.interface = 6;
  label(300, {by_right({400})});
  label(301, {by_tag});
  NextHop bare = by_tag;
  bare.labels.count = 0;
  label(302, {bare});

  FrameOptions options = from_host("10.1.0.1", "203.0.113.1");
  options.vlan = 100;
  const Frame in = ipv4_frame(options);
  constexpr size_t kTagged = kEthernetBytes + 4;
  EXPECT_EQ(stack_of(through(labelled(in, {{300, 64, true}}, kTagged))), (Stack{{400, 63, true}}));
  EXPECT_EQ(counters(5).rx_packets.get(), 1u);
  for (const Frame& frame : {labelled(in, {{301, 64, true}}, kTagged),
                             labelled(from_host4("203.0.113.1"), {{301, 64, true}})}) {
    const Frame out = through(frame);
    ASSERT_GT(out.size(), kTagged);
    EXPECT_EQ(load16_be(&out[14]), 200);
    EXPECT_EQ(stack_of(out, kTagged), (Stack{{500, 63, true}}));
  }
  const Frame popped = through(labelled(in, {{302, 64, true}}, kTagged));
  ASSERT_GT(popped.size(), kTagged);
  EXPECT_EQ(load16_native(&popped[16]), kEtherIpv4);
  EXPECT_EQ(full_checksum(&popped[kTagged], 20), 0);
  options.vlan = 101;
  EXPECT_EQ(refused(labelled(ipv4_frame(options), {{300, 64, true}}, kTagged)),
            std::vector{Reason::kUnknownVlan});
}

TEST_F(LabelsTest, OthersInTheChunkGoTheirWayInOrder) {
  label(300, {by_right({400})});
  std::vector<rte_mbuf*> packets;
  for (unsigned i = 0; i < 60; ++i) {
    Frame ip = from_host4("10.2.0.1");
    store16_be(&ip[kIp + 20], i);
    packets.push_back(packet(i % 3 == 0 ? labelled(ip, {{300, 64, true}}) : ip));
  }
  left_.run(packets, 0);
  unsigned labels = 0;
  std::vector<unsigned> order;
  for (const Frame& frame : frames(1)) {
    labels += !stack_of(frame).empty();
    if (stack_of(frame).empty()) order.push_back(load16_be(&frame[kIp + 20]));
  }
  EXPECT_EQ(labels, 20u);
  ASSERT_EQ(order.size(), 40u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// ---- Into a VRF ----

TEST_F(LabelsTest, ALabelLeadsIntoAVrf) {
  make_red();
  route(kRedTable, "10.99.0.0/24");
  route(kRedTable, "fd00:99::/64");
  label(300, {into(50)});
  const Frame four = from_host4("10.99.0.1", 200), six = from_host6("fd00:99::1", 200);
  const Frame out = through(labelled(four, {{300, 64, true}}), 1, 0);
  EXPECT_TRUE(out.empty()) << "for another port's address";
  (void)left_.refused();
  const auto to_port1 = [](Frame frame) {
    std::memcpy(frame.data(), own_mac(1).data(), 6);
    return frame;
  };
  const Frame out4 = through(labelled(to_port1(four), {{300, 64, true}}), 1, 0);
  ASSERT_EQ(out4.size(), four.size()) << "by red's table, to left's host";
  EXPECT_EQ(out4[kIp + 8], 63);
  EXPECT_EQ(full_checksum(&out4[kIp], 20), 0);
  const Frame out6 = through(labelled(to_port1(six), {{300, 64, true}}), 1, 0);
  ASSERT_EQ(out6.size(), six.size());
  EXPECT_EQ(out6[kIp + 7], 63);
  EXPECT_EQ(counters(kRedId).rx_packets.get(), 2u);
  EXPECT_EQ(counters(kRedId).rx_bytes.get(), four.size() + six.size() - 2 * kIp);
  // Main has a route to the right; red says no.
  route(kRedTable, "0.0.0.0/0", RouteType::kUnreachable);
  const Frame nowhere = labelled(to_port1(from_host4("10.2.0.1", 200)), {{300, 64, true}});
  left_.run({packet(nowhere)}, 1);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kUnreachable});
  ASSERT_EQ(left_.refused_frames().size(), 1u);
  EXPECT_EQ(left_.refused_frames()[0].first, InterfaceId(1)) << "as the wire's";
  const Frame& whole = left_.refused_frames()[0].second;
  ASSERT_EQ(whole.size(), nowhere.size()) << "with its label, for Linux to open";
  EXPECT_EQ(stack_of(whole), (Stack{{300, 64, true}}));
}

TEST_F(LabelsTest, AVrfHasWhatIsForItselfByLinux) {
  make_red();
  route(kRedTable, "10.99.0.254/32", RouteType::kLocal);
  label(300, {into(50, 255)});
  Frame ip = from_host4("10.99.0.254");
  const Frame in = labelled(ip, {{300, 64, true}});
  EXPECT_EQ(refused(in), std::vector{Reason::kLocal});
  EXPECT_EQ(left_.refused_frames().at(0).second, in) << "a pipe: not a byte is changed";
}

TEST_F(LabelsTest, WhatAVrfCannotHaveIsNamedOrLinuxs) {
  make_red();
  route(kRedTable, "10.99.0.0/24");
  label(300, {into(50)});
  const Frame good = from_host4("10.99.0.1");
  Frame options = good;
  options[kIp] = 0x46;
  EXPECT_EQ(refused(labelled(options, {{300, 64, true}})), std::vector{Reason::kOtherProtocol});
  EXPECT_EQ(refused(labelled(good, {{300, 64, false}, {17, 64, true}})),
            std::vector{Reason::kOtherProtocol})
      << "a label that is not the last";
  Frame checksum = good;
  checksum[kIp + 10] ^= 1;
  EXPECT_EQ(refused(labelled(checksum, {{300, 64, true}})), std::vector{Reason::kMplsMalformed});
  Frame padded = labelled(good, {{300, 64, true}});
  padded.resize(padded.size() + 9);
  EXPECT_EQ(through(padded, 0, 0).size(), good.size()) << "the padding goes";
}

TEST_F(LabelsTest, ExplicitNullIsAsReceivedByTheWire) {
  LinuxLink lo;
  lo.ifindex = 1;
  lo.name = "lo";
  left_.routing().link(lo, false);
  label(0, {into(1)});
  label(2, {into(1)});
  const Frame four = from_host4("10.2.0.1", 200), six = from_host6("fd00:2::1", 200);
  const Frame out = through(labelled(four, {{0, 64, true}}));
  ASSERT_EQ(out.size(), four.size());
  EXPECT_EQ(out[kIp + 8], 63);
  EXPECT_EQ(full_checksum(&out[kIp], 20), 0);
  EXPECT_EQ(through(labelled(six, {{2, 64, true}})).size(), six.size());
  EXPECT_EQ(counters(0).rx_packets.get(), 2u) << "each once";
  // To one of ours: Linux has it without its label.
  EXPECT_EQ(refused(labelled(from_host4("10.1.0.254"), {{0, 64, true}})),
            std::vector{Reason::kLocal});
  EXPECT_TRUE(stack_of(left_.refused_frames().at(0).second).empty());
  vrf_members_ = {{InterfaceId(0), "red", kRedTable}};
  rules({of_members()});
  EXPECT_EQ(refused(labelled(four, {{0, 64, true}})), std::vector{Reason::kOtherProtocol})
      << "in a VRF: Linux's lo is in none";
}

}  // namespace
}  // namespace hecto::router::test
