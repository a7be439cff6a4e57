// What hecto-bench ipsec takes, works out and writes; the speeds themselves are no one's to assert.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/ipsec/cases.hpp"
#include "bench/ipsec/crypto_perf.hpp"
#include "bench/ipsec/open_esp.hpp"
#include "bench/ipsec/tunnels.hpp"

namespace hecto::bench::test {
namespace {

IpsecRow row(const std::string& direction, unsigned tunnels, double share) {
  IpsecRow row;
  row.algorithm = "aes-128-gcm";
  row.size = "1400";
  row.bytes = 1400;
  row.direction = direction;
  row.tunnels = tunnels;
  row.ns = 400 / share;
  row.raw_ns = 400;
  row.share_of_raw = share;
  row.streamed_ns = 500;
  row.share_of_streamed = share * 500 / 400;
  return row;
}

TEST(IpsecBench, KnowsAllOfItsAlgorithms) {
  for (const std::string& algorithm : ipsec_algorithms())
    EXPECT_TRUE(ipsec_transform(algorithm)) << algorithm;
}

TEST(IpsecBench, RefusesAnAlgorithmThatEspHasNot) {
  for (const char* algorithm : {"", "aes-129-gcm", "aes-128-cbc", "aes-128-gcm+hmac-sha1", "+"})
    EXPECT_FALSE(ipsec_transform(algorithm)) << algorithm;
}

TEST(IpsecBench, CountsSizesWithoutEthernet) {
  EXPECT_EQ(*inner_sizes("64"), std::vector<uint16_t>{64});
  EXPECT_EQ(*inner_sizes("9000"), std::vector<uint16_t>{9000});
  const auto imix = *inner_sizes("imix");
  EXPECT_EQ(imix.size(), 12u);
  EXPECT_EQ(*std::max_element(imix.begin(), imix.end()), 1500);
}

TEST(IpsecBench, RefusesSizesThatNoFrameHas) {
  for (const char* size : {"", "49", "9001", "64x", "-64", "IMIX"}) {
    const auto refused = inner_sizes(size);
    ASSERT_FALSE(refused) << size;
    EXPECT_EQ(refused.error().message, std::string("--size ") + size +
                                           ": use imix, or 50 to 9000 bytes of the packet inside");
  }
}

TEST(IpsecBench, WritesARowWithRatesOfTheInnerPacket) {
  IpsecReport report;
  report.rows = {row("encap", 1, 0.8)};
  report.not_measured = {"vpp: not found"};
  const auto json = to_json(report);
  const auto& first = json["rows"][0];
  EXPECT_EQ(first["algorithm"], "aes-128-gcm");
  EXPECT_EQ(first["bytes"], 1400);
  EXPECT_EQ(first["direction"], "encap");
  EXPECT_EQ(first["tunnels"], 1);
  EXPECT_EQ(first["workers"], 1);
  EXPECT_DOUBLE_EQ(first["mpps"], 2.0);
  EXPECT_DOUBLE_EQ(first["gbps"], 22.4);
  EXPECT_DOUBLE_EQ(first["share_of_raw"], 0.8);
  EXPECT_DOUBLE_EQ(first["streamed_ns"], 500);
  EXPECT_DOUBLE_EQ(first["share_of_streamed"], 1.0);
  EXPECT_FALSE(json.contains("control"));
  EXPECT_EQ(json["not_measured"][0], "vpp: not found");
}

TEST(IpsecBench, ComparesDecapWithEncapAndManyTunnelsWithOne) {
  IpsecReport report;
  report.rows = {row("encap", 1, 0.8), row("decap", 1, 0.6), row("encap", 1000, 0.4)};
  const std::string text = to_text(report);
  EXPECT_NE(text.find("75%"), std::string::npos) << text;  // decap of encap
  EXPECT_NE(text.find("50%"), std::string::npos) << text;  // 1,000 tunnels of one
}

TEST(IpsecBench, TellsWhatTunnelsCostTheOtherFamily) {
  IpsecReport report;
  report.rows = {row("encap", 1, 0.8)};
  EXPECT_FALSE(to_json(report).contains("beside"));
  report.beside = {{"64", 10000, 30.5, 32.25}};
  const auto beside = to_json(report)["beside"][0];
  EXPECT_EQ(beside["tunnels"], 10000);
  EXPECT_DOUBLE_EQ(beside["ipv6_without_ns"], 30.5);
  EXPECT_DOUBLE_EQ(beside["ipv6_ns"], 32.25);
  EXPECT_NE(to_text(report).find("32.2 ns a packet beside 10000 IPv4 tunnels, 30.5 without"),
            std::string::npos)
      << to_text(report);
}

TEST(IpsecBench, SaysWhereTheWorkerRanWhileSasWereReplaced) {
  IpsecReport report;
  report.control.emplace();
  EXPECT_EQ(to_json(report)["control"]["own_core"], false);
  EXPECT_NE(to_text(report).find("rekeys under load, worker and control in turn"),
            std::string::npos);
  report.control->own_core = true;
  EXPECT_NE(to_text(report).find("rekeys under load, the worker on a core of its own"),
            std::string::npos);
}

// Each of so many shapes, in turn, and what is replayed fits all of them.
TEST(IpsecBench, TunnelsShapesDifferByTheBitsAtOurEnd) {
  Tunnel tunnel{7, 0x10000, *router::IpAddress::parse("203.0.113.9"),
                *ipsec_transform("aes-128-gcm")};
  for (uint8_t bits = 0; bits < 8; ++bits) {
    tunnel.our_bits = bits;
    const auto out = tunnel.policy(PolicyDirection::kOut).selector;
    const auto in = tunnel.policy(PolicyDirection::kForward).selector;
    EXPECT_EQ(out.source.length, bits);
    EXPECT_TRUE(out.source.contains(*router::IpAddress::parse("198.18.0.1")));
    EXPECT_EQ(in.destination.length, bits);
    EXPECT_TRUE(in.destination.contains(*router::IpAddress::parse("172.16.0.7")));
  }
}

// A raw that took longer beside one of the two tells that the machine was slower then.
TEST(IpsecBench, ComparesWithTheMachinesDriftTakenOut) {
  IpsecReport report;
  report.rows = {row("encap", 1, 0.8), row("encap", 1000, 0.4)};
  report.rows[1].raw_ns *= 2;
  report.rows[1].ns *= 2;
  EXPECT_NE(to_text(report).find("50%"), std::string::npos) << to_text(report);
}

// What one far end sends, and how it is opened without a line of the router's.
class OpenEsp : public testing::TestWithParam<std::string> {
 protected:
  void seal(uint16_t bytes) {
    const Tunnel tunnel{7, 0x10000, *router::IpAddress::parse("203.0.113.9"),
                        *ipsec_transform(GetParam())};
    state_ = tunnel.inbound();
    auto sa = router::esp::Sa::create(state_);
    auto far_end = FarEnd::create();
    ASSERT_TRUE(sa && far_end);
    WholeFrames frames;
    (*far_end)->send(**sa, 7, bytes, frames);
    ip_.assign(frames.bytes.begin() + 14, frames.bytes.end());
  }
  router::SaState state_;
  std::vector<uint8_t> ip_;
};

TEST_P(OpenEsp, FindsWhatWasPutIn) {
  for (const uint16_t bytes : {50, 64, 65, 1400}) {
    seal(bytes);
    const auto inner = open_esp(state_, ip_);
    ASSERT_TRUE(inner) << inner.error().message;
    EXPECT_EQ(*inner, inner_packet(7, bytes));
  }
}

TEST_P(OpenEsp, TakesNothingThatWasTouched) {
  seal(100);
  for (size_t at = 20; at < ip_.size(); ++at) {
    auto touched = ip_;
    touched[at] ^= 1;
    EXPECT_FALSE(open_esp(state_, touched)) << at;
  }
}

INSTANTIATE_TEST_SUITE_P(All, OpenEsp, testing::ValuesIn(ipsec_algorithms()),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::erase_if(name, [](char c) { return c == '-' || c == '+'; });
                           return name;
                         });

TEST(OpenEspRefusals, NameWhatIsWrong) {
  router::SaState state;
  state.transform = *ipsec_transform("aes-128-gcm");
  EXPECT_EQ(open_esp(state, inner_packet(1, 100)).error().message, "is no ESP in plain IPv4");
  EXPECT_EQ(open_esp(state, std::vector<uint8_t>(3)).error().message, "is no ESP in plain IPv4");
}

TEST(IpsecBench, ReadsWhatCryptoPerfPrints) {
  const auto rows = parse_crypto_perf(
      "EAL: Detected CPU lcores: 2\n"
      "#lcore id,Buffer Size(B),Burst Size,Enqueued,Dequeued,Failed Enq,Failed Deq,Ops(Millions)\n"
      "\n1,64,64,500000,500000,0,0,2.500,1.157,995.862\n1,1400,64,500000,500000,0,0,0.400,4.5,2.0\n"
      "1,1400,64,500000\n1,64,64,500000,500000,0,0,0.0,0,0\n1,64,64,5x,5,0,0,1,1,1\n");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].bytes, 64U);
  EXPECT_DOUBLE_EQ(rows[0].ns, 400);
  EXPECT_EQ(rows[1].bytes, 1400U);
  EXPECT_DOUBLE_EQ(rows[1].ns, 2500);
}

}  // namespace
}  // namespace hecto::bench::test
