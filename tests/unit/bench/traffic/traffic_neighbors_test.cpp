// A generator's ARP and neighbor discovery, against itself: one port asks, another answers.
#include <gtest/gtest.h>

#include <random>

#include "bench/traffic/neighbors.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::bench {
namespace {

constexpr MacAddress kAsker = {2, 0, 0, 0, 0, 1}, kAnswerer = {2, 0, 0, 0, 0, 2};

lookup::IpAddress address(const char* text) {
  return *lookup::IpAddress::parse(text);
}

PortAddresses answerer() {
  return {kAnswerer, {address("10.1.0.254"), address("2001:db8::fe")}};
}

uint32_t icmp_sum(const std::vector<uint8_t>& frame, size_t l3) {
  uint32_t sum = 58 + static_cast<uint32_t>(frame[l3 + 4] << 8 | frame[l3 + 5]);
  for (size_t i = l3 + 8; i < l3 + 72; i += 2)
    sum += static_cast<uint32_t>(frame[i] << 8 | frame[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return sum;
}

TEST(Neighbors, AnswerWhatIsAsked) {
  for (const auto& [from, target] :
       {std::pair("10.1.0.1", "10.1.0.254"), std::pair("2001:db8::1", "2001:db8::fe")})
    for (const std::optional<uint16_t> vlan :
         {std::optional<uint16_t>{}, std::optional<uint16_t>{7}}) {
      auto frame = ask_neighbor(kAsker, address(from), address(target), vlan);
      const size_t l3 = vlan ? 18 : 14;
      if (address(from).family == lookup::Family::kIpv6) {
        EXPECT_EQ(icmp_sum(frame, l3), 0xffffu);
      }
      EXPECT_FALSE(told_mac(frame, address(target)));
      const size_t bytes = answer_neighbor(frame, answerer());
      ASSERT_GT(bytes, 0u) << target;
      frame.resize(bytes);
      EXPECT_TRUE(std::equal(kAsker.begin(), kAsker.end(), frame.begin()));
      EXPECT_TRUE(std::equal(kAnswerer.begin(), kAnswerer.end(), frame.begin() + 6));
      EXPECT_EQ(told_mac(frame, address(target)), kAnswerer);
      EXPECT_FALSE(told_mac(frame, address("10.1.0.9")));
      if (address(from).family == lookup::Family::kIpv6) {
        EXPECT_EQ(icmp_sum(frame, l3), 0xffffu);
      }
      EXPECT_EQ(answer_neighbor(frame, answerer()), 0u) << "an answer is not answered";
    }
}

TEST(Neighbors, LeaveOthersAlone) {
  for (const auto& [from, target] :
       {std::pair("10.1.0.1", "10.1.0.253"), std::pair("2001:db8::1", "2001:db8::fd"),
        std::pair("::", "2001:db8::fe")}) {
    auto frame = ask_neighbor(kAsker, address(from), address(target), {});
    const auto before = frame;
    EXPECT_EQ(answer_neighbor(frame, answerer()), 0u);
    EXPECT_EQ(frame, before);
  }
}

TEST(Neighbors, TakeAnyBytes) {
  std::mt19937_64 random(test_seed());
  for (unsigned i = 0; i < 50'000; ++i) {
    const bool v6 = random() % 2 == 0;
    const std::optional<uint16_t> vlan =
        random() % 2 == 0 ? std::optional<uint16_t>{} : std::optional<uint16_t>{7};
    auto frame = v6 ? ask_neighbor(kAsker, address("2001:db8::1"), address("2001:db8::fe"), vlan)
                    : ask_neighbor(kAsker, address("10.1.0.1"), address("10.1.0.254"), vlan);
    for (unsigned k = random() % 3; k > 0; --k)
      frame[random() % frame.size()] = static_cast<uint8_t>(random());
    frame.resize(random() % (frame.size() + 1));
    frame.shrink_to_fit();
    told_mac(frame, address("10.1.0.254"));
    told_mac(frame, address("2001:db8::fe"));
    EXPECT_LE(answer_neighbor(frame, answerer()), frame.size());
  }
}

}  // namespace
}  // namespace hecto::bench
