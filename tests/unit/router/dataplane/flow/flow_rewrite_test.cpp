// Rewritten headers against checksums that are reckoned anew.
#include "router/dataplane/flow/flow_rewrite.hpp"

#include <gtest/gtest.h>

#include <random>

#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

constexpr uint8_t kTcp = 6, kUdp = 17, kIcmp6 = 58, kUdpLite = 136;

unsigned checksum_at(uint8_t protocol) {
  return protocol == kTcp ? 16 : protocol == kIcmp6 ? 2 : 6;
}

// Over the pseudo header; 0 where the checksum is right.
uint16_t sum_over(const uint8_t* transport, uint32_t bytes, const uint8_t* addresses,
                  uint32_t address_bytes, uint8_t protocol) {
  uint64_t sum = uint64_t{protocol} + bytes + sum_words(addresses, address_bytes) +
                 sum_words(transport, bytes & ~1u);
  if (bytes % 2 == 1) sum += uint64_t{transport[bytes - 1]} << 8;
  return static_cast<uint16_t>(~fold_sum(sum));
}

struct Made {
  Frame frame;
  bool ipv4;
  uint8_t protocol;
  unsigned transport() const { return kIp + (ipv4 ? 20 : 40); }
  uint32_t bytes() const { return static_cast<uint32_t>(frame.size()) - transport(); }
  uint16_t sum() const {
    return sum_over(frame.data() + transport(), bytes(), frame.data() + kIp + (ipv4 ? 12 : 8),
                    ipv4 ? 8 : 32, protocol);
  }
};

Made make(std::mt19937& random, bool ipv4, uint8_t protocol) {
  const FrameOptions like{.payload_bytes = static_cast<uint16_t>(20 + random() % 100),
                          .protocol = protocol};
  Made made{ipv4 ? ipv4_frame(like) : ipv6_frame(like), ipv4, protocol};
  uint8_t* const ip = made.frame.data() + kIp;
  for (unsigned i = made.transport(); i < made.frame.size(); ++i)
    made.frame[i] = static_cast<uint8_t>(random() % 3 == 0 ? 0xff : random());
  ip[1] = static_cast<uint8_t>(random() & (ipv4 ? 0xff : 0xf0));
  if (ipv4) fix_checksum(made.frame);
  uint8_t* const checksum = made.frame.data() + made.transport() + checksum_at(protocol);
  store16_be(checksum, 0);
  uint16_t sum = made.sum();
  if (protocol == kUdp && sum == 0) sum = 0xffff;
  store16_be(checksum, sum);
  return made;
}

FlowAction random_action(std::mt19937& random, bool ports) {
  FlowAction action;
  for (uint16_t bit : {FlowAction::kDscp, FlowAction::kFrom, FlowAction::kTo, FlowAction::kSport,
                       FlowAction::kDport})
    if (random() % 2 == 0 && (ports || (bit != FlowAction::kSport && bit != FlowAction::kDport)))
      action.does |= bit;
  const auto fill = [&](uint8_t* at, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i)
      at[i] = static_cast<uint8_t>(random() % 4 == 0 ? 0xff : random() % 4 == 0 ? 0 : random());
  };
  fill(action.from, 16);
  fill(action.to, 16);
  fill(action.sport, 2);
  fill(action.dport, 2);
  action.dscp = static_cast<uint8_t>(random() % 64);
  return action;
}

void expect_written(const Made& before, const Made& after, const FlowAction& action) {
  const uint8_t* const ip = after.frame.data() + kIp;
  const uint8_t* const old = before.frame.data() + kIp;
  const unsigned size = after.ipv4 ? 4 : 16, from = after.ipv4 ? 12 : 8;
  const auto does = [&](uint16_t bit) { return (action.does & bit) != 0; };
  EXPECT_EQ(std::memcmp(ip + from, does(FlowAction::kFrom) ? action.from : old + from, size), 0);
  EXPECT_EQ(
      std::memcmp(ip + from + size, does(FlowAction::kTo) ? action.to : old + from + size, size),
      0);
  const uint8_t* const ports = after.frame.data() + after.transport();
  const uint8_t* const old_ports = before.frame.data() + before.transport();
  EXPECT_EQ(std::memcmp(ports, does(FlowAction::kSport) ? action.sport : old_ports, 2), 0);
  if (after.protocol != kIcmp6) {
    EXPECT_EQ(std::memcmp(ports + 2, does(FlowAction::kDport) ? action.dport : old_ports + 2, 2),
              0);
  }
  const auto dscp_of = [&](const uint8_t* at) {
    return after.ipv4 ? at[1] >> 2 : (load16_be(at) >> 6 & 0x3f);
  };
  const auto ecn_of = [&](const uint8_t* at) { return after.ipv4 ? at[1] & 3 : at[1] >> 4 & 3; };
  EXPECT_EQ(dscp_of(ip), does(FlowAction::kDscp) ? action.dscp : dscp_of(old));
  EXPECT_EQ(ecn_of(ip), ecn_of(old));
  EXPECT_EQ(ip[0] >> 4, after.ipv4 ? 4 : 6);
}

TEST(FlowRewrite, ChecksumsAreThoseOfTheNewPacket) {
  std::mt19937 random(static_cast<uint32_t>(test_seed()));
  for (unsigned round = 0; round < 100'000; ++round) {
    const bool ipv4 = round % 2 == 0;
    const uint8_t protocols[] = {kTcp, kUdp, kUdpLite, ipv4 ? kUdp : kIcmp6};
    const uint8_t protocol = protocols[random() % 4];
    const Made before = make(random, ipv4, protocol);
    ASSERT_EQ(before.sum() == 0 || before.sum() == 0xffff, true);
    Made after = before;
    const FlowAction action = random_action(random, protocol != kIcmp6);
    uint8_t* const ip = after.frame.data() + kIp;
    const auto there = static_cast<uint32_t>(after.frame.size() - kIp);
    ipv4 ? rewrite_ipv4(ip, there, action) : rewrite_ipv6(ip, there, action);
    if (ipv4) {
      ASSERT_EQ(full_checksum(ip, 20), 0) << "round " << round;
    }
    ASSERT_EQ(after.sum(), 0) << "round " << round << " protocol " << unsigned{protocol};
    expect_written(before, after, action);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(FlowRewrite, UdpWithoutAChecksumHasNoneAfterwards) {
  std::mt19937 random(1);
  Made made = make(random, true, kUdp);
  uint8_t* const checksum = made.frame.data() + made.transport() + 6;
  store16_be(checksum, 0);
  FlowAction action;
  action.does = FlowAction::kFrom | FlowAction::kSport;
  action.from[0] = 9;
  rewrite_ipv4(made.frame.data() + kIp, static_cast<uint32_t>(made.frame.size() - kIp), action);
  EXPECT_EQ(load16_be(checksum), 0);
}

// Ports and the transport checksum are in the first fragment alone.
TEST(FlowRewrite, ALaterFragmentHasItsAddressesChangedAndNoByteBehindThem) {
  std::mt19937 random(2);
  Made made = make(random, true, kUdp);
  made.frame[kIp + 7] = 100;
  fix_checksum(made.frame);
  const Frame before = made.frame;
  const FlowAction action = [&] {
    FlowAction all = random_action(random, true);
    all.does = FlowAction::kHeader;
    return all;
  }();
  rewrite_ipv4(made.frame.data() + kIp, static_cast<uint32_t>(made.frame.size() - kIp), action);
  EXPECT_EQ(full_checksum(made.frame.data() + kIp, 20), 0);
  EXPECT_TRUE(std::equal(before.begin() + kIp + 20, before.end(), made.frame.begin() + kIp + 20));
  EXPECT_EQ(std::memcmp(made.frame.data() + kIp + 12, action.from, 4), 0);
}

TEST(FlowRewrite, WritesNothingBeyondWhatIsThere) {
  std::mt19937 random(3);
  for (const bool ipv4 : {true, false})
    for (const uint8_t protocol : {kTcp, kUdp}) {
      const Made whole = make(random, ipv4, protocol);
      FlowAction action = random_action(random, true);
      action.does = FlowAction::kHeader;
      for (uint32_t there = ipv4 ? 20 : 40; there < (ipv4 ? 20u : 40u) + 20; ++there) {
        Made made = whole;
        uint8_t* const ip = made.frame.data() + kIp;
        ipv4 ? rewrite_ipv4(ip, there, action) : rewrite_ipv6(ip, there, action);
        EXPECT_TRUE(std::equal(whole.frame.begin() + kIp + there, whole.frame.end(),
                               made.frame.begin() + kIp + there))
            << there;
      }
    }
}

}  // namespace
}  // namespace hecto::router::test
