#include "router/dataplane/ports/tsc_measuring.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <thread>

namespace hecto::router {
namespace {

constexpr timespec kDpdks{0, 100'000'000};

long shortened_ns(const timespec& asked, const timespec* left = nullptr) {
  return TscMeasuring::shortened(asked, left).tv_nsec;
}

TEST(TscMeasuring, OnlyDpdksSleepOfItsOwnThreadIsShorter) {
  EXPECT_EQ(shortened_ns(kDpdks), kDpdks.tv_nsec) << "nobody measures";
  const unsigned before = TscMeasuring::count();
  {
    const TscMeasuring measuring;
    timespec left{};
    EXPECT_EQ(shortened_ns(kDpdks, &left), kDpdks.tv_nsec) << "a driver's, by rte_delay_us_sleep()";
    EXPECT_EQ(shortened_ns({0, 99'999'999}), 99'999'999);
    EXPECT_EQ(shortened_ns({1, 100'000'000}), 100'000'000);
    std::thread([] { EXPECT_EQ(shortened_ns(kDpdks), kDpdks.tv_nsec); }).join();
    EXPECT_EQ(shortened_ns(kDpdks), 10'000'000);
    EXPECT_EQ(shortened_ns(kDpdks), kDpdks.tv_nsec) << "the TSC is measured once";
  }
  EXPECT_EQ(shortened_ns(kDpdks), kDpdks.tv_nsec) << "it is over";
  EXPECT_EQ(TscMeasuring::count(), before + 1);
}

TEST(TscMeasuring, TellsHowFarAFrequencyIsFromWhatHasPassed) {
  const TscMeasuring::Instant begin{1000, 500}, end{1000 + 26'000'000, 500 + 10'000'000};
  EXPECT_DOUBLE_EQ(TscMeasuring::error_of(2'600'000'000, begin, end), 0);
  EXPECT_NEAR(TscMeasuring::error_of(2'730'000'000, begin, end), 0.05, 1e-9);
  EXPECT_NEAR(TscMeasuring::error_of(1'300'000'000, begin, end), 0.5, 1e-9);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(TscMeasuring, TheProgramsSleepIsOurs) {
  const unsigned before = TscMeasuring::count();
  const TscMeasuring measuring;
  EXPECT_EQ(nanosleep(&kDpdks, nullptr), 0);
  EXPECT_EQ(TscMeasuring::count(), before + 1);
}
#endif

TEST(TscMeasuring, AWrongTimeIsRefusedAsLibcDoes) {
  const timespec wrong{0, -1};
  errno = 0;
  EXPECT_EQ(nanosleep(&wrong, nullptr), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace hecto::router
