#include "router/linux/backoff.hpp"

#include <gtest/gtest.h>

namespace hecto::router {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const Backoff::Clock::time_point kStart = Backoff::Clock::time_point(seconds(1000));

TEST(Backoff, DoublesUpToItsBound) {
  Backoff backoff(milliseconds(100), seconds(1));
  auto now = kStart;
  for (const int expected : {100, 200, 400, 800, 1000, 1000}) {
    const auto pause = backoff.pause(now);
    EXPECT_EQ(pause, milliseconds(expected));
    now += pause;
  }
}

TEST(Backoff, BeginsAnewAfterQuiet) {
  Backoff backoff(milliseconds(100), seconds(10));
  auto now = kStart;
  for (int i = 0; i < 6; ++i) now += backoff.pause(now);  // the next would be 6.4 s
  EXPECT_EQ(backoff.pause(now + seconds(6)), milliseconds(6400));
  EXPECT_EQ(backoff.pause(now + seconds(6) + seconds(21)), milliseconds(100));
}

TEST(Backoff, AStormThatGoesOnIsNotQuiet) {
  Backoff backoff(milliseconds(150), seconds(5));
  auto now = kStart;
  int resyncs = 0;
  for (; now < kStart + seconds(60); ++resyncs) now += backoff.pause(now) + milliseconds(500);
  EXPECT_LT(resyncs, 20);
}

TEST(Backoff, ResetBeginsAnew) {
  Backoff backoff(milliseconds(100), seconds(1));
  (void)backoff.pause(kStart);
  (void)backoff.pause(kStart);
  backoff.reset();
  EXPECT_EQ(backoff.pause(kStart), milliseconds(100));
}

TEST(DumpWatchdog, ExpiresAfterSilenceAlone) {
  DumpWatchdog watchdog(seconds(5));
  watchdog.heard(kStart);
  EXPECT_FALSE(watchdog.expired(kStart + milliseconds(4999)));
  watchdog.heard(kStart + milliseconds(4999));
  EXPECT_FALSE(watchdog.expired(kStart + seconds(9)));
  EXPECT_TRUE(watchdog.expired(kStart + seconds(10)));
  EXPECT_EQ(watchdog.deadline(), kStart + milliseconds(9999));
}

}  // namespace
}  // namespace hecto::router
