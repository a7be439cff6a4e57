// Policers beside token buckets of real numbers: never more than rate and burst allow.
#include "router/dataplane/filter/policer.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

#include "tests/beds/packets.hpp"
#include "tests/beds/seed.hpp"

namespace hecto::router::test {
namespace {

using config::PolicerConfig;

constexpr uint64_t kHz = 2'400'000'000;

// RFC 2697, 2698 and 4115 with fractions of bytes.
class NaivePolicer {
 public:
  explicit NaivePolicer(const PolicerConfig& config)
      : config_(config),
        committed_(static_cast<double>(config.burst_bytes)),
        other_(static_cast<double>(config.meter() == config::Meter::kTwoRate
                                       ? config.peak_burst_bytes
                                       : config.excess_bytes)) {}
  Colour meter(double seconds, double bytes) {
    const auto rate = [&](uint64_t bits) { return static_cast<double>(bits) / 8 * seconds; };
    const auto burst = static_cast<double>(config_.burst_bytes);
    committed_ += rate(config_.rate_bps);
    switch (config_.meter()) {
      case config::Meter::kSingleRate:
        other_ += std::max(committed_ - burst, 0.0);
        other_ = std::min(other_, static_cast<double>(config_.excess_bytes));
        break;
      case config::Meter::kTwoRate:
        other_ = std::min(other_ + rate(config_.peak_bps),
                          static_cast<double>(config_.peak_burst_bytes));
        break;
      case config::Meter::kDifferentiated:
        other_ =
            std::min(other_ + rate(config_.excess_bps), static_cast<double>(config_.excess_bytes));
        break;
    }
    committed_ = std::min(committed_, burst);
    if (config_.meter() == config::Meter::kTwoRate) {
      if (other_ < bytes) return Colour::kRed;
      other_ -= bytes;
      if (committed_ < bytes) return Colour::kYellow;
      committed_ -= bytes;
      return Colour::kGreen;
    }
    if (committed_ >= bytes) {
      committed_ -= bytes;
      return Colour::kGreen;
    }
    if (other_ < bytes) return Colour::kRed;
    other_ -= bytes;
    return Colour::kYellow;
  }

 private:
  const PolicerConfig config_;
  double committed_, other_;
};

PolicerConfig made(uint64_t rate, uint64_t burst) {
  PolicerConfig config;
  config.name = "p";
  config.rate_bps = rate;
  config.burst_bytes = burst;
  return config;
}

TEST(Policer, PassesWhatATokenBucketPasses) {
  std::mt19937_64 random(test_seed());
  for (const uint64_t rate : {8ull, 9'999ull, 1'000'000ull, 123'456'789ull, 100'000'000'000ull})
    for (const int kind : {0, 1, 2, 3}) {
      const uint64_t burst = std::max<uint64_t>(rate / 8 / 100, 3000);
      PolicerConfig config = made(rate, burst);
      if (kind == 1) config.excess_bytes = burst / 2;
      if (kind == 2) {
        config.peak_bps = rate * 2;
        config.peak_burst_bytes = burst;
      }
      if (kind == 3) {
        config.excess_bps = rate / 2 + 1;
        config.excess_bytes = burst;
      }
      auto policer = Policer::create(config, kHz);
      ASSERT_TRUE(policer);
      NaivePolicer naive(config);
      double expected[3] = {}, found[3] = {};
      uint64_t now = random() >> 8, before = now;
      for (int i = 0; i < 20'000; ++i) {
        const auto bytes = static_cast<uint32_t>(64 + random() % 1437);
        // Twice what it lets through, in bursts.
        if (i % 16 == 0)
          now += static_cast<uint64_t>(16 * 782.0 * 8 / static_cast<double>(rate) / 2 * kHz);
        const double seconds = static_cast<double>(now - before) / kHz;
        before = now;
        expected[static_cast<int>(naive.meter(i == 0 ? 0 : seconds, bytes))] += bytes;
        found[static_cast<int>((*policer)->meter(now, bytes))] += bytes;
      }
      const double all = expected[0] + expected[1] + expected[2];
      for (int colour = 0; colour < 3; ++colour)
        EXPECT_NEAR(found[colour] / all, expected[colour] / all, 0.002)
            << "rate " << rate << ", kind " << kind << ", colour " << colour;
      EXPECT_LE(found[0], expected[0] * 1.0005 + 1500);
      EXPECT_GT(expected[0], 0);
    }
}

// A burst at once, where it fits, is what rte_meter says of its packets one by one.
TEST(Policer, ABurstAtOnceIsItsPacketsOneByOne) {
  std::mt19937_64 random(test_seed());
  for (const int kind : {0, 1, 2, 3}) {
    PolicerConfig config = made(80'000'000, 20'000);
    if (kind == 1) config.excess_bytes = 9000;
    if (kind == 2) {
      config.peak_bps = 120'000'000;
      config.peak_burst_bytes = 18'000;
    }
    if (kind == 3) {
      config.excess_bps = 40'000'000;
      config.excess_bytes = 12'000;
    }
    auto single = *Policer::create(config, kHz), at_once = *Policer::create(config, kHz);
    uint64_t now = random() >> 8;
    unsigned whole = 0, parted = 0;
    for (int burst = 0; burst < 20'000; ++burst) {
      // About its rate; at times the clock stands, or goes back (another socket's).
      const uint64_t step = random() % 8;
      now = step == 0 ? now - 1000 : now + step * kHz / 10'000;
      std::vector<uint32_t> bytes(1 + random() % 16);
      for (uint32_t& each : bytes) each = static_cast<uint32_t>(random() % 1500);
      std::vector<Colour> expected, found;
      Policer::Tally tally;
      for (const uint32_t each : bytes) {
        expected.push_back(single->meter(now, each));
        tally.add(expected.back(), each);
      }
      single->count(tally);
      const uint64_t sum = std::accumulate(bytes.begin(), bytes.end(), uint64_t{0});
      if (at_once->take_all(now, bytes.size(), sum)) {
        found.assign(bytes.size(), Colour::kGreen);
        ++whole;
      } else {
        Policer::Tally rest;
        for (const uint32_t each : bytes) {
          found.push_back(at_once->meter(now, each));
          rest.add(found.back(), each);
        }
        at_once->count(rest);
        ++parted;
      }
      ASSERT_EQ(found, expected) << "kind " << kind << ", burst " << burst;
    }
    EXPECT_GT(whole, 1000u);
    EXPECT_GT(parted, 1000u);
    const PolicerStatus a = single->status(), b = at_once->status();
    EXPECT_EQ(a.green, b.green);
    EXPECT_EQ(a.yellow, b.yellow);
    EXPECT_EQ(a.red, b.red);
  }
}

// As a worker finds it on another socket.
TEST(Policer, AClockThatIsBehindGivesNothing) {
  auto policer = *Policer::create(made(8'000'000, 1000), kHz);
  EXPECT_EQ(policer->meter(1'000'000'000, 1000), Colour::kGreen);
  EXPECT_EQ(policer->meter(999'999'000, 1000), Colour::kRed);
  EXPECT_EQ(policer->meter(1'000'000'100, 1000), Colour::kRed);
}

TEST(Policer, TheLongestPauseFillsItsBurstAndNoMore) {
  auto policer = *Policer::create(made(100'000'000'000, 5000), kHz);
  for (const uint64_t now : {uint64_t{1}, uint64_t{1} << 40, uint64_t{1} << 55}) {
    for (int i = 0; i < 5; ++i) EXPECT_EQ(policer->meter(now, 1000), Colour::kGreen) << now;
    EXPECT_EQ(policer->meter(now, 1000), Colour::kRed);
  }
}

TEST(Policer, ManyWorkersHaveOneRate) {
  auto policer = *Policer::create(made(8, 100'000), kHz);
  const auto work = [&] {
    for (int burst = 0; burst < 1000; ++burst) {
      policer->lock();
      Policer::Tally tally;
      for (int i = 0; i < 32; ++i) tally.add(policer->meter(1000, 100), 100);
      policer->count(tally);
      policer->unlock();
    }
  };
  std::thread others[] = {std::thread(work), std::thread(work), std::thread(work)};
  for (std::thread& each : others) each.join();
  const PolicerStatus status = policer->status();
  EXPECT_EQ(status.green.packets, 1000u);
  EXPECT_EQ(status.green.bytes, 100'000u);
  EXPECT_EQ(status.green.packets + status.red.packets, 96'000u);
}

}  // namespace
}  // namespace hecto::router::test
