// Senders of what does not fit the egress MTU are told by the fast path, or left to Linux.
#include "router/dataplane/stages/icmp_answers.hpp"

#include <gtest/gtest.h>

#include "tests/unit/router/dataplane/stages/two_gateways.hpp"

namespace hecto::router::test {
namespace {

constexpr uint16_t kMtu = 1400;
constexpr size_t kIpAt = kEthernetBytes;

class TooBigAnswersTest : public testing::Test {
 protected:
  TooBigAnswersTest() { gateway_.snapshot().features = 0; }
  ~TooBigAnswersTest() override { EXPECT_EQ(mbufs_in_use(), 0u); }

  static Frame big(Family family, const char* source = nullptr) {
    if (family == Family::kIpv6)
      return ipv6_frame(from_host(source ? source : "fd00:1::1", "fd00:2::1", kMtu - 40 + 1));
    Frame frame = ipv4_frame(from_host(source ? source : "10.1.0.1", "10.2.0.1", kMtu - 20 + 1));
    frame[kIpAt + 6] = 0x40;  // DF
    fix_checksum(frame);
    return frame;
  }
  // What comes back to the host; nothing may leave by the small port.
  std::vector<Frame> answers(const Frame& frame) {
    gateway_.run({packet(frame)}, 0);
    EXPECT_TRUE(gateway_.sent(1).empty());
    std::vector<Frame> frames;
    for (rte_mbuf* each : gateway_.sent(0)) {
      frames.push_back(bytes_of(each));
      rte_pktmbuf_free(each);
    }
    return frames;
  }
  void expect_left_to_linux(const Frame& frame) {
    EXPECT_TRUE(answers(frame).empty());
    EXPECT_EQ(gateway_.refused(), std::vector<Reason>{Reason::kTooBig});
  }
  Gateway gateway_{1, kMtu};
};

TEST_F(TooBigAnswersTest, NameTheMtu) {
  const auto four = answers(big(Family::kIpv4));
  ASSERT_EQ(four.size(), 1u);
  EXPECT_TRUE(gateway_.refused().empty());
  const uint8_t* ip = &four[0][kIpAt];
  EXPECT_EQ(ip[9], 1);
  EXPECT_EQ(load32_be(ip + 12), 0x0a0100feu) << "from our own address there";
  EXPECT_EQ(load32_be(ip + 16), 0x0a010001u);
  EXPECT_EQ(full_checksum(ip, kIpv4Bytes), 0);
  EXPECT_EQ(load32_be(ip + 20) >> 16, 0x0304u);
  EXPECT_EQ(load16_be(ip + 26), kMtu);
  EXPECT_EQ(load32_be(ip + 28 + 16), 0x0a020001u) << "the packet that it is about";

  const auto six = answers(big(Family::kIpv6));
  ASSERT_EQ(six.size(), 1u);
  ip = &six[0][kIpAt];
  EXPECT_EQ(ip[6], 58);
  EXPECT_EQ(ip[40], 2);
  EXPECT_EQ(load32_be(ip + 44), kMtu);
  EXPECT_EQ(ip[48 + 7], 64) << "as it came";
  EXPECT_EQ(ip[24], 0xfd);
  EXPECT_EQ(ip[39], 1);
}

TEST_F(TooBigAnswersTest, OfAFloodSoManyAndTheRestIsLinuxs) {
  unsigned told = 0;
  for (int i = 0; i < 200; ++i) {
    told += answers(big(Family::kIpv4)).size();
    gateway_.refused();
  }
  EXPECT_GE(told, 10u) << "a burst";
  EXPECT_LT(told, 100u) << "the interface's share";
}

TEST_F(TooBigAnswersTest, InOneChunkStandBesideWhatFits) {
  gateway_.run({packet(big(Family::kIpv4)), packet(ipv4_frame(from_left())),
                packet(big(Family::kIpv6)), packet(ipv6_frame(from_left6()))},
               0);
  const auto back = gateway_.sent(0), on = gateway_.sent(1);
  EXPECT_EQ(back.size(), 2u);
  EXPECT_EQ(on.size(), 2u);
  for (const auto& sent : {back, on})
    for (rte_mbuf* each : sent) rte_pktmbuf_free(each);
}

// What is not known here, or must not be answered by anybody: Linux decides.
TEST_F(TooBigAnswersTest, LeaveToLinuxWhatTheyCannotSend) {
  expect_left_to_linux(big(Family::kIpv4, "10.1.0.77"));  // on-link, no neighbor entry yet
  expect_left_to_linux(big(Family::kIpv4, "192.0.2.2"));  // the way back is by another interface
  Frame error = big(Family::kIpv4);
  error[kIpAt + 9] = 1;
  error[kIpAt + kIpv4Bytes] = 3;  // an ICMP error itself
  fix_checksum(error);
  expect_left_to_linux(error);
  gateway_.snapshot().interfaces[0].address4 = 0;
  expect_left_to_linux(big(Family::kIpv4));
}

// With IPsec a policy may hold for the answer.
TEST_F(TooBigAnswersTest, WithIpsecAreLinuxs) {
  gateway_.snapshot().features = kFeatureIpsec;
  expect_left_to_linux(big(Family::kIpv4));
}

}  // namespace
}  // namespace hecto::router::test
