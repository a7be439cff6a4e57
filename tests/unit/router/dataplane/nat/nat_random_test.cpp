// NAT beside a naive twin: flows of any kind, both ways, by any worker, and time that passes. The
// twin knows who talks as whom, and until when.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "tests/beds/nat_bed.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

struct Inside {
  unsigned host;
  uint16_t port;
  uint8_t protocol;
  auto operator<=>(const Inside&) const = default;
};
struct Outside {
  std::string address;
  uint16_t port;
  uint8_t protocol;
  auto operator<=>(const Outside&) const = default;
};

class Twin {
 public:
  struct Mapping {
    Outside outside;
    uint32_t last_s;
  };
  // What must hold of a packet that left.
  void sent(const Inside& inside, const Outside& outside, uint32_t now_s) {
    const auto known = by_inside_.find(inside);
    if (known != by_inside_.end()) {
      ASSERT_EQ(known->second.outside, outside) << "a mapping moved";
      known->second.last_s = now_s;
      return;
    }
    ASSERT_TRUE(by_outside_.emplace(outside, inside).second) << "two have one outside port";
    by_inside_[inside] = {outside, now_s};
    for (const auto& [other, mapping] : by_inside_)
      if (other.host == inside.host) {
        ASSERT_EQ(mapping.outside.address, outside.address) << "not paired";
      }
  }
  const Inside* whose(const Outside& outside) const {
    const auto found = by_outside_.find(outside);
    return found == by_outside_.end() ? nullptr : &found->second;
  }
  void expire(uint32_t now_s) {
    std::erase_if(by_inside_, [&](const auto& each) {
      const uint8_t protocol = each.first.protocol;
      const uint32_t limit = protocol == 1 ? 60 : protocol == 17 ? 300 : 240;
      if (now_s - each.second.last_s <= limit) return false;
      by_outside_.erase(each.second.outside);
      return true;
    });
  }
  const std::map<Inside, Mapping>& all() const { return by_inside_; }

 private:
  std::map<Inside, Mapping> by_inside_;
  std::map<Outside, Inside> by_outside_;
};

class NatRandom : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Workers, NatRandom, testing::Values(1U, 2U, 5U));

TEST_P(NatRandom, DoesAsTheTwinSays) {
  std::mt19937_64 random(test_seed() + GetParam());
  NatBed bed(GetParam(), NatBed::usual());
  Twin twin;
  const unsigned before = mbufs_in_use();
  uint32_t now_s = 1000;
  constexpr uint8_t kProtocols[] = {1, 6, 17};
  for (unsigned step = 0; step < 6000; ++step) {
    const auto worker = static_cast<unsigned>(random() % GetParam());
    if (random() % 50 == 0) {
      now_s += static_cast<uint32_t>(random() % 90);
      bed.set_time(now_s);
      bed.expire();
      twin.expire(now_s);
      ASSERT_EQ(bed.sessions(), twin.all().size());
    }
    const uint8_t protocol = kProtocols[random() % 3];
    const auto payload = static_cast<uint16_t>(random() % 70);
    if (random() % 2 == 0) {
      const Inside inside{static_cast<unsigned>(1 + random() % 40),
                          static_cast<uint16_t>(1 + random() % 12), protocol};
      const std::string source = fmt::format("10.0.0.{}", inside.host);
      const std::string peer = fmt::format("8.8.8.{}", 1 + random() % 9);
      // SYNs only: established connections have their own test.
      const Frame sent = bed.through(worker, 0,
                                     nat_frame({.protocol = protocol,
                                                .source = source.c_str(),
                                                .destination = peer.c_str(),
                                                .source_port = inside.port,
                                                .flags = 2,
                                                .payload = payload}));
      const Ends seen = ends_of(sent);
      ASSERT_EQ(seen.destination, peer);
      twin.sent(inside, {seen.source, seen.source_port, protocol}, now_s);
      ASSERT_FALSE(HasFatalFailure());
      continue;
    }
    Outside outside{fmt::format("198.51.100.{}", random() % 2), static_cast<uint16_t>(random()),
                    protocol};
    if (random() % 4 != 0 && !twin.all().empty()) {
      auto any = twin.all().begin();
      std::advance(any, static_cast<long>(random() % twin.all().size()));
      outside = any->second.outside;
    }
    const Frame frame =
        nat_frame({.protocol = outside.protocol,
                   .source = "7.7.7.7",
                   .destination = outside.address.c_str(),
                   .source_port = outside.protocol == 1 ? outside.port : uint16_t{99},
                   .destination_port = outside.port,
                   .flags = 2,
                   .icmp_type = 0,
                   .payload = payload});
    const Inside* const whose = twin.whose(outside);
    if (whose == nullptr) {
      const NatOutcome outcome = bed.receive(worker, 1, frame);
      ASSERT_EQ(outcome.refused, std::vector{Reason::kNatNoSession});
      continue;
    }
    const Ends seen = ends_of(bed.through(worker, 1, frame));
    ASSERT_EQ(seen.destination, fmt::format("10.0.0.{}", whose->host));
    ASSERT_EQ(seen.destination_port, whose->port);
    ASSERT_EQ(seen.source, "7.7.7.7");
  }
  EXPECT_EQ(mbufs_in_use(), before);
  if (GetParam() > 1) {
    EXPECT_GT(bed.handed(), 100U);
  }
}

// Anything at all, of any length: each packet is sent or refused, none is lost, and none breaks a
// mapping of others.
TEST_P(NatRandom, SurvivesHostilePackets) {
  std::mt19937_64 random(test_seed() + 7 * GetParam());
  NatBed bed(GetParam(), NatBed::usual());
  const Frame good = bed.through(0, 0, nat_frame({}));
  const Ends seen = ends_of(good);
  const unsigned before = mbufs_in_use();
  for (unsigned step = 0; step < 20'000; ++step) {
    const bool out = random() % 2 == 0;
    const char* const inside[] = {"10.0.0.1", "10.0.0.2", "10.1.0.9"};
    const char* const outside[] = {"198.51.100.0", "198.51.100.1", "203.0.113.9"};
    const char* const source = out ? inside[random() % 3] : "8.8.8.8";
    const char* const destination =
        out ? random() % 4 == 0 ? outside[random() % 3] : "8.8.4.4" : outside[random() % 3];
    const uint8_t protocols[] = {1, 6, 17, 33, 47, 132, 136};
    Frame frame = ipv4_frame(
        {.source = source,
         .destination = destination,
         .payload_bytes = static_cast<uint16_t>(random() % 90),
         .protocol = protocols[random() % 7],
         .flags_and_offset = static_cast<uint16_t>(random() % 4 == 0 ? random() & 0x3fff : 0)});
    for (size_t at = kIp + 20; at < frame.size(); ++at) frame[at] = static_cast<uint8_t>(random());
    if (frame.size() > kIp + 28 && random() % 2 == 0) {
      frame[kIp + 20] = static_cast<uint8_t>(random() % 15);  // ICMP's types
      if (frame.size() > kIp + 60) {
        std::memcpy(&frame[kIp + 28], &good[kIp], 28);
        if (random() % 2 == 0) frame[kIp + 28 + random() % 28] ^= static_cast<uint8_t>(random());
      }
    }
    const NatOutcome outcome = bed.receive(static_cast<unsigned>(random() % GetParam()),
                                           out ? PortId(0) : PortId(1), frame);
    ASSERT_GE(outcome.sent[0].size() + outcome.sent[1].size() + outcome.refused.size(), 1U);
  }
  EXPECT_EQ(mbufs_in_use(), before);
  EXPECT_EQ(ends_of(bed.through(0, 0, nat_frame({}))), seen);
}

}  // namespace
}  // namespace hecto::router::test
