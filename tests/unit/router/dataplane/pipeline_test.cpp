// The named points of the pipeline: which stages are behind each, and what becomes of what they
// refuse.
#include "router/dataplane/pipeline.hpp"

#include <gtest/gtest.h>

#include "router/dataplane/stages/link_local.hpp"
#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

class PipelineTest : public TwoGateways {
 protected:
  // As classify leaves it.
  Chunk& one(rte_mbuf* packet, uint32_t destination) {
    chunk_->v4.count = 1;
    chunk_->v4.packets[0] = packet;
    chunk_->v4.destinations[0] = destination;
    chunk_->v4.ingress[0] = {0, kEthernetBytes};
    return *chunk_;
  }
  void look_up() {
    lookup_batch(left_.tables().fib4, chunk_->v4.destinations, chunk_->v4.groups, 1);
  }
  // Interfaces of that port ask for it.
  void ask(uint16_t port, unsigned features) {
    left_.snapshot().ports[port].features |= features;
    left_.snapshot().features |= features;
  }
  // The protocol of the only packet that left by that port; 0: there was not one.
  int protocol_sent(PortId port) {
    const auto sent = left_.sent(port);
    const int protocol = sent.size() == 1 ? bytes_of(sent[0])[kEthernetBytes + 9] : 0;
    for (rte_mbuf* each : sent) rte_pktmbuf_free(each);
    return protocol;
  }
  static constexpr uint32_t kRightHost = 0x0a020001;  // 10.2.0.1
  static constexpr int kUdp = 17, kEsp = 50;
  std::unique_ptr<Chunk> chunk_ = std::make_unique<Chunk>();
};

TEST_F(PipelineTest, BehindDecapComeLookUpPoliciesAndRewrite) {
  left_.tunnel();
  left_.pipeline().after_decap(one(packet(ipv4_frame(from_left())), kRightHost));
  EXPECT_EQ(protocol_sent(1), kEsp);
  EXPECT_TRUE(left_.refused().empty());
}

TEST_F(PipelineTest, BehindLookUpComePoliciesAndRewrite) {
  left_.tunnel();
  one(packet(ipv4_frame(from_left())), kRightHost);
  look_up();
  left_.pipeline().after_lookup(*chunk_);
  EXPECT_EQ(protocol_sent(1), kEsp);
}

TEST_F(PipelineTest, BehindEncapComesRewriteAlone) {
  left_.tunnel();
  one(packet(ipv4_frame(from_left())), kRightHost);
  look_up();
  left_.pipeline().after_encap(*chunk_);
  EXPECT_EQ(protocol_sent(1), kUdp) << "no policy is asked any more";
}

TEST_F(PipelineTest, WhatNoPolicyHoldsForIsLeftToLinux) {
  rte_mbuf* own = packet(ipv4_frame(from_host("10.1.0.254", "10.2.0.1")));
  EXPECT_FALSE(left_.pipeline().from_linux(one(own, kRightHost)));
  EXPECT_EQ(chunk_->v4.count, 1u);
  left_.tunnel();
  const auto handed = left_.pipeline().from_linux(*chunk_);
  ASSERT_TRUE(handed);
  EXPECT_EQ(*handed, 1u);
  EXPECT_EQ(protocol_sent(1), kEsp);
}

TEST_F(PipelineTest, WhatIsTransmittedGoesAsItIs) {
  const Frame frame = ipv4_frame(from_left());
  left_.pipeline().transmit(1, packet(frame));
  const auto sent = left_.sent(1);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(bytes_of(sent[0]), frame);
  rte_pktmbuf_free(sent[0]);
}

TEST_F(PipelineTest, WhatIsRefusedGoesToTheSinkAndLeavesTheChunkEmpty) {
  FrameOptions last = from_left();
  last.ttl = 1;
  left_.pipeline().after_decap(one(packet(ipv4_frame(last)), kRightHost));
  EXPECT_EQ(left_.refused(), std::vector{Reason::kTtlExpired});
  EXPECT_EQ(chunk_->refused_count, 0u);
  EXPECT_EQ(protocol_sent(1), 0);
}

TEST_F(PipelineTest, WithoutIpsecInTheSnapshotNoPolicyIsAsked) {
  left_.tunnel();
  left_.snapshot().features = 0;
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  EXPECT_EQ(protocol_sent(1), kUdp);
}

TEST_F(PipelineTest, AnInterfaceThatDoesNotForwardIsForTheRouterAlone) {
  ask(0, kFeatureUrpf);
  left_.snapshot().interfaces[0].forwards4 = false;
  left_.run(
      {packet(ipv4_frame(from_left())), packet(ipv4_frame(from_host("10.1.0.1", "10.1.0.254"))),
       packet(ipv6_frame(from_left6()))},
      0);
  EXPECT_EQ(left_.refused(), (std::vector{Reason::kNotForwarding, Reason::kLocal}));
  auto sent = left_.sent(1);
  ASSERT_EQ(sent.size(), 1u) << "IPv6";
  rte_pktmbuf_free(sent[0]);
  left_.snapshot().interfaces[0].forwards4 = true;
  left_.snapshot().interfaces[0].forwards6 = false;
  left_.run({packet(ipv4_frame(from_left())), packet(ipv6_frame(from_left6()))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kNotForwarding});
  EXPECT_EQ(protocol_sent(1), kUdp);
}

TEST_F(PipelineTest, RpFilterChecksTheSourcesOfIpv4Alone) {
  ask(0, kFeatureUrpf);
  left_.snapshot().interfaces[0].rp_filter = UrpfMode::kStrict;
  left_.run({packet(ipv4_frame(from_host("192.0.2.9", "10.2.0.1"))),
             packet(ipv6_frame(from_host("2001:db8::9", "fd00:2::1")))},
            0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kUrpf});
  for (rte_mbuf* each : left_.sent(1)) rte_pktmbuf_free(each);
}

TEST_F(PipelineTest, AcceptLocalTakesOwnAddressesAsSources) {
  InterfaceView& in = left_.snapshot().interfaces[0];
  ask(0, kFeatureUrpf);
  const auto passes = [&](const char* source) {
    left_.run({packet(ipv4_frame(from_host(source, "10.2.0.1")))}, 0);
    for (rte_mbuf* each : left_.sent(1)) rte_pktmbuf_free(each);
    return left_.refused().empty();
  };
  for (const UrpfMode mode : {UrpfMode::kStrict, UrpfMode::kLoose}) {
    in.rp_filter = mode;
    in.accepts_own = false;
    EXPECT_FALSE(passes("10.1.0.254"));
    in.accepts_own = true;
    in.own4 = {0x0a0100fe};
    EXPECT_TRUE(passes("10.1.0.254"));
    EXPECT_EQ(passes("192.0.2.1"), mode == UrpfMode::kLoose) << "of the other interface";
    EXPECT_FALSE(passes("10.1.0.255")) << "broadcast";
  }
}

TEST_F(PipelineTest, Ipv4LinkLocalAddressesStayOnTheirLink) {
  const auto stays = [&](const char* source, const char* destination) {
    rte_mbuf* each = packet(ipv4_frame(from_host(source, destination)));
    const bool ends = ends_on_this_link(each, left_.tables());
    rte_pktmbuf_free(each);
    return ends;
  };
  EXPECT_TRUE(stays("169.254.7.7", "10.1.0.254")) << "the router's own";
  EXPECT_FALSE(stays("169.254.7.7", "10.2.0.1"));
  EXPECT_FALSE(stays("10.1.0.1", "169.254.7.7"));
  rte_mbuf* v6 = packet(ipv6_frame(from_host("fe80::7", "fd00:2::1")));
  EXPECT_TRUE(ends_on_this_link(v6, left_.tables())) << "Linux says so to its sender";
  rte_pktmbuf_free(v6);
}

TEST_F(PipelineTest, WhatOnePortAsksForNoOtherPortDoes) {
  left_.snapshot().features = 0;
  ask(1, kFeatureUrpf | kFeatureCounters);
  for (const unsigned port : {0, 1}) {
    left_.snapshot().interfaces[port].urpf = UrpfMode::kStrict;
    left_.snapshot().interfaces[port].counters = true;
  }
  const auto& interfaces = left_.pipeline().counters().interfaces;
  left_.run({packet(ipv4_frame(from_host("192.0.2.9", "10.2.0.1")))}, 0);
  EXPECT_EQ(protocol_sent(1), kUdp) << "its port has not been asked";
  EXPECT_EQ(interfaces[0].rx_packets.get(), 0u);
  FrameOptions back = from_host("10.1.0.9", "10.1.0.1");
  back.to = own_mac(1);
  left_.run({packet(ipv4_frame(back))}, 1);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kUrpf});
  EXPECT_EQ(interfaces[1].rx_packets.get(), 1u);
}

TEST_F(PipelineTest, WithIpsecSourcesAreCheckedWherePacketsCameIn) {
  ask(1, kFeatureUrpf);
  left_.snapshot().interfaces[0].urpf = UrpfMode::kStrict;
  left_.run({packet(ipv4_frame(from_host("192.0.2.9", "10.2.0.1")))}, 0);
  EXPECT_EQ(left_.refused(), std::vector{Reason::kUrpf});
}

TEST_F(PipelineTest, CountsByInterfaceOnlyWhereASnapshotAsksForIt) {
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  EXPECT_EQ(protocol_sent(1), kUdp);
  const auto& interfaces = left_.pipeline().counters().interfaces;
  EXPECT_EQ(interfaces[0].rx_packets.get() + interfaces[1].tx_packets.get(), 0u);
  ask(0, kFeatureCounters);
  left_.snapshot().interfaces[0].counters = left_.snapshot().interfaces[1].counters = true;
  left_.run({packet(ipv4_frame(from_left()))}, 0);
  EXPECT_EQ(interfaces[0].rx_packets.get(), 1u);
  for (rte_mbuf* each : left_.sent(1)) rte_pktmbuf_free(each);
  EXPECT_EQ(interfaces[1].tx_packets.get(), 1u);
}

// From two tags to two tags: out of the host's frame, into ESP and out of it again.
TEST_F(PipelineTest, EspComesAndGoesByInterfacesWithTwoTags) {
  left_.tunnel();
  right_.tunnel();
  const std::vector<TagTable::Entry> entries = {{{10, 100, true}, 5}};
  const auto stacked = std::make_shared<const TagTable>(entries);
  for (Gateway* gateway : {&left_, &right_}) {
    for (const unsigned port : {0, 1}) {
      gateway->snapshot().ports[port].tagged.stacked = stacked;
      gateway->snapshot().ports[port].features |= kFeatureVlan;
    }
    gateway->snapshot().interfaces[5].up = true;
    gateway->snapshot().features |= kFeatureVlan;
  }
  const auto with_tags = [](const Frame& frame) {
    constexpr uint8_t kTags[] = {0x88, 0xa8, 0, 100, 0x81, 0, 0, 10};
    Frame tagged = frame;
    tagged.insert(tagged.begin() + 12, std::begin(kTags), std::end(kTags));
    return tagged;
  };
  const Frame sent = ipv4_frame(from_left());
  left_.run({packet(with_tags(sent))}, 0);
  EXPECT_TRUE(left_.refused().empty());
  const auto outer = left_.sent(1);
  ASSERT_EQ(outer.size(), 1u);
  const Frame esp = bytes_of(carried(outer[0]));
  rte_pktmbuf_free(outer[0]);
  EXPECT_EQ(esp[kEthernetBytes + 9], 50);
  right_.run({packet(with_tags(esp))}, 1);
  EXPECT_TRUE(right_.refused().empty());
  const auto arrived = right_.sent(0);
  ASSERT_EQ(arrived.size(), 1u);
  const Frame got = bytes_of(arrived[0]);
  rte_pktmbuf_free(arrived[0]);
  ASSERT_EQ(got.size(), sent.size());
  EXPECT_TRUE(
      std::equal(got.begin() + kEthernetBytes + 12, got.end(), sent.begin() + kEthernetBytes + 12));
}

TEST(EspFrame, KeepsAFramesOwnHeaderButItsEtherType) {
  for (const VlanTags& tags :
       {VlanTags{}, VlanTags{100, 0, false}, VlanTags{100, 0, true}, VlanTags{10, 100, true}}) {
    const Frame frame =
        ipv4_frame({.vlan = tags.vlan, .outer_vlan = tags.outer_vlan, .service = tags.service});
    const unsigned length = kEthernetBytes + tags.count() * kVlanTagBytes;
    EspFrame kept{};
    kept.keep_l2(frame.data(), length);
    Frame put(length);
    kept.put_l2(put.data(), length);
    EXPECT_TRUE(std::equal(put.begin(), put.end() - 2, frame.begin())) << to_string(tags);
  }
}

TEST_F(PipelineTest, CountsBytesOfIpOfEachInterface) {
  auto vlans = std::make_shared<std::array<InterfaceId, 4096>>();
  vlans->fill(kNoInterface);
  (*vlans)[7] = 5;
  left_.snapshot().ports[0].tagged.vlans = vlans;
  ask(0, kFeatureCounters | kFeatureVlan);
  for (const unsigned id : {0, 1, 5}) left_.snapshot().interfaces[id].counters = true;
  FrameOptions tagged = from_left(50);
  tagged.vlan = 7;
  left_.run({packet(ipv4_frame(from_left(100))), packet(ipv4_frame(tagged)),
             packet(ipv4_frame(from_left(200)))},
            0);
  left_.run({packet(ipv4_frame(from_left(30))), packet(ipv4_frame(from_left(40)))}, 0);
  left_.pipeline().transmit(1, packet(ipv4_frame(from_left())));
  left_.pipeline().flush();
  for (rte_mbuf* each : left_.sent(1)) rte_pktmbuf_free(each);
  constexpr unsigned kHeaders = 20;
  const auto& interfaces = left_.pipeline().counters().interfaces;
  EXPECT_EQ(interfaces[0].rx_packets.get(), 4u);
  EXPECT_EQ(interfaces[0].rx_bytes.get(), 370 + 4 * kHeaders);
  EXPECT_EQ(interfaces[5].rx_packets.get(), 1u);
  EXPECT_EQ(interfaces[5].rx_bytes.get(), 50 + kHeaders);
  EXPECT_EQ(interfaces[1].tx_packets.get(), 5u) << "what is Linux's is not counted here";
  EXPECT_EQ(interfaces[1].tx_bytes.get(), 420 + 5 * kHeaders);
}

}  // namespace
}  // namespace hecto::router::test
