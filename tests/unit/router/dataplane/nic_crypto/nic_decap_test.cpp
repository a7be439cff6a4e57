// What the router believes of what a NIC has opened.
#include "tests/unit/router/dataplane/nic_crypto/nic_gateways.hpp"

namespace hecto::router::test {
namespace {

TEST_F(NicGateways, WhatTheNicOpenedIsChecked) {
  right_.plug(nic_.port());
  tunnels();
  const Frame sent = from_host_of_left();
  rte_mbuf* one = opened(sent);
  rte_mbuf* replayed = packet(bytes_of(one));
  replayed->ol_flags |= kOpened;
  right_.run({one}, 1);
  EXPECT_TRUE(right_.refused().empty());
  auto arrived = right_.sent(0);
  ASSERT_EQ(arrived.size(), 1u);
  EXPECT_TRUE(carries(bytes_of(arrived[0]), sent));
  EXPECT_EQ(right_.sa(2).replay.top(), 1u);
  EXPECT_EQ(nic_packets(right_, 2), 1u);
  free_all(arrived);
  right_.run({replayed}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspReplay});
}

TEST_F(NicGateways, AWrongIcvLeavesTheWindowAlone) {
  right_.plug(nic_.port());
  tunnels();
  rte_mbuf* forged = sealed(from_host_of_left());
  rte_mbuf* right = packet(bytes_of(forged));
  rte_pktmbuf_mtod(forged, uint8_t*)[forged->data_len - 1] ^= 1;
  ASSERT_TRUE(nic_.open(forged));
  ASSERT_EQ(forged->ol_flags & kFailed, kFailed);
  right_.run({forged}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspBadIcv});
  EXPECT_EQ(right_.sa(2).replay.top(), 0u);
  ASSERT_TRUE(nic_.open(right));
  right_.run({right}, 1);
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 1u);
  free_all(arrived);
}

TEST_F(NicGateways, AFlagOfAPortWithoutOurContextSaysNothing) {
  tunnels();
  // Sealed: the CPU opens it, whatever the flag says.
  rte_mbuf* one = sealed(from_host_of_left());
  one->ol_flags |= kFailed;
  right_.run({one}, 1);
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 1u);
  free_all(arrived);
  // In the clear within ESP: that is a wrong ICV.
  ScriptedNic elsewhere{1};
  Gateway third(2);
  third.plug(elsewhere.port());
  third.tunnel();
  rte_mbuf* clear = sealed(from_host_of_left());
  ASSERT_TRUE(elsewhere.open(clear));
  right_.run({clear}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspBadIcv});
  third.unplug(1);
  // And not in ESP at all: no SA brought it, whatever lies where the mark has its SA.
  FrameOptions bare = from_left();
  bare.to = own_mac(1);
  rte_mbuf* plain = packet(ipv4_frame(bare));
  plain->ol_flags |= kOpened;
  *RTE_MBUF_DYNFIELD(plain, register_sa_mark()->field, uint64_t*) = 0xdeadbeef;
  right_.run({plain}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kPolicyMismatch});
}

TEST_F(NicGateways, WhatNoSaOfTheNicAnswersForIsDroppedByName) {
  right_.plug(nic_.port());
  tunnels();
  const Frame sent = from_host_of_left();
  // Not ESP at all.
  FrameOptions bare = from_left();
  bare.to = own_mac(1);
  rte_mbuf* plain = packet(ipv4_frame(bare));
  plain->ol_flags |= kOpened;
  *RTE_MBUF_DYNFIELD(plain, register_sa_mark()->field, uint64_t*) = 0xdeadbeef;
  // A part of a packet.
  rte_mbuf* part = opened(sent);
  Frame cut = bytes_of(part);
  cut[kEthernetBytes + 6] = 0x20;
  fix_checksum(cut);
  rte_mbuf* fragment = packet(cut);
  fragment->ol_flags |= kOpened;
  // What classify would hand to Linux.
  Frame with_options = cut;
  with_options[kEthernetBytes] = 0x46;
  with_options[kEthernetBytes + 6] = 0;
  uint16_t sum = 0;
  std::memcpy(&with_options[kEthernetBytes + 10], &sum, 2);
  sum = full_checksum(with_options.data() + kEthernetBytes, 24);
  std::memcpy(&with_options[kEthernetBytes + 10], &sum, 2);
  rte_mbuf* optional = packet(with_options);
  optional->ol_flags |= kOpened;
  right_.run({plain, fragment, optional}, 1);
  EXPECT_EQ(right_.refused(), (std::vector(3, Reason::kEspMalformed)));
  // An SA that is gone.
  rte_pktmbuf_free(part);
  rte_mbuf* late = opened(sent);
  ASSERT_TRUE(
      right_.ipsec().remove_sa({*IpAddress::parse("192.0.2.2"), kSpi * 2}, RouteOrigin::kFile));
  right_.ipsec().commit();
  right_.run({late}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspUnknownSpi});
  EXPECT_TRUE(right_.sent(0).empty());
  EXPECT_TRUE(right_.sent(1).empty());
}

TEST_F(NicGateways, AnSaDoesNotAnswerForWhatTheOneBeforeItOpened) {
  right_.plug(nic_.port());
  tunnels();
  rte_mbuf* late = opened(from_host_of_left());
  // The same SPI with other keys: its session has to wait.
  const IpAddress here = *IpAddress::parse("192.0.2.2");
  ASSERT_TRUE(right_.ipsec().remove_sa({here, kSpi * 2}, RouteOrigin::kFile));
  SaState state;
  state.id = {here, kSpi * 2};
  state.source = *IpAddress::parse("192.0.2.1");
  state.origin = RouteOrigin::kFile;
  state.reqid = 7;
  state.transform = *esp::transform_by_name("aes-128-gcm", "");
  state.keys.cipher_bytes = 20;
  state.keys.cipher.fill(0x33);
  state.replay_window = 64;
  ASSERT_TRUE(right_.ipsec().add_sa(state));
  right_.ipsec().commit();
  right_.run({late}, 1);
  EXPECT_EQ(right_.refused(), std::vector{Reason::kEspBadIcv});
  EXPECT_EQ(right_.sa(2).replay.top(), 0u);
  const auto view = right_.ipsec().find(state.id);
  EXPECT_EQ(view->drops[static_cast<size_t>(Reason::kEspBadIcv) -
                        static_cast<size_t>(esp::kFirstSaReason)],
            1u);
}

TEST_F(NicGateways, OpenedAndSealedPacketsOfOneChunk) {
  right_.plug(nic_.port());
  tunnels();
  std::vector<rte_mbuf*> mixed;
  for (unsigned i = 0; i < 12; ++i) {
    rte_mbuf* one = sealed(from_host_of_left());
    if (i % 3 != 0) {
      ASSERT_TRUE(nic_.open(one));
    }
    mixed.push_back(one);
  }
  right_.run(mixed, 1);
  EXPECT_TRUE(right_.refused().empty());
  const auto arrived = right_.sent(0);
  EXPECT_EQ(arrived.size(), 12u);
  EXPECT_EQ(nic_packets(right_, 2), 8u);
  EXPECT_EQ(right_.sa(2).packets.load(), 12u);
  const uint64_t marks = register_sa_mark()->flag | kFailed;
  for (const rte_mbuf* each : arrived) EXPECT_EQ(each->ol_flags & marks, 0u);
  free_all(arrived);
}

}  // namespace
}  // namespace hecto::router::test
